package telemetry

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// dashboard is what the tests look at of a Grafana dashboard.
type dashboard struct {
	Title  string
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// rules is a file of Prometheus rules.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert       string
			Expr        string
			Annotations map[string]string
		}
	}
}

func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	paths, err := filepath.Glob("../deploy/grafana/*.json")
	if err != nil || len(paths) != 2 {
		t.Fatalf("dashboards = %v, %v", paths, err)
	}
	all := map[string]dashboard{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var read dashboard
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = read
	}
	return all
}

func readAlerts(t *testing.T) rules {
	t.Helper()
	text, err := os.ReadFile("../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var read rules
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// queries of all dashboards and alerts, by where they stand.
func queries(t *testing.T) map[string]string {
	all := map[string]string{}
	for file, board := range readDashboards(t) {
		for _, panel := range board.Panels {
			for i, target := range panel.Targets {
				all[fmt.Sprintf("%s: %s, query %d", file, panel.Title, i+1)] = target.Expr
			}
		}
	}
	for _, group := range readAlerts(t).Groups {
		for _, rule := range group.Rules {
			all["alert "+rule.Alert] = rule.Expr
		}
	}
	return all
}

// series is a metric's name with its matchers in a query.
var series = regexp.MustCompile(`\b((?:enrichd|go|process)_[a-z_]+)(?:\{([^}]*)\})?`)

// TestDashboardsAndAlertsNameTheMetrics finds panels that would stay empty for
// ever, because the program has no such metric or label, and metrics that nobody
// would see.
func TestDashboardsAndAlertsNameTheMetrics(t *testing.T) {
	labels := map[string][]string{}
	m := quietMetrics()
	for _, described := range descriptions(t, m) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(described, "}"), "{")
		labels[name] = append(strings.Split(rest, ","), "le", "job", "instance")
	}
	labels["enrichd_build_info"] = []string{"version", "revision", "go"}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if _, known := labels[family.GetName()]; !known {
			labels[family.GetName()] = []string{"job", "instance"}
		}
	}
	label := regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	used := map[string]bool{}
	for place, query := range queries(t) {
		for _, found := range series.FindAllStringSubmatch(query, -1) {
			name := found[1]
			if _, whole := labels[name]; !whole {
				name = regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
			}
			has, known := labels[name]
			if !known {
				t.Errorf("%s: there is no metric %s", place, found[1])
				continue
			}
			used[name] = true
			for _, matched := range label.FindAllStringSubmatch(found[2], -1) {
				if !slices.Contains(has, matched[1]) {
					t.Errorf("%s: %s has no label %s", place, name, matched[1])
				}
			}
		}
	}
	for name := range labels {
		if strings.HasPrefix(name, "enrichd_") && !used[name] {
			t.Errorf("no panel and no alert shows %s", name)
		}
	}
}

func TestPanelsHaveTheirPlace(t *testing.T) {
	for file, board := range readDashboards(t) {
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, panel := range board.Panels {
			if ids[panel.ID] {
				t.Errorf("%s: two panels have the id %d", file, panel.ID)
			}
			ids[panel.ID] = true
			if panel.Type != "row" && len(panel.Targets) == 0 {
				t.Errorf("%s: %s asks nothing", file, panel.Title)
			}
			at := panel.GridPos
			if at.W < 1 || at.H < 1 || at.X+at.W > 24 {
				t.Errorf("%s: %s does not fit", file, panel.Title)
			}
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: %s lies over %s", file, panel.Title, other)
					}
					taken[[2]int{x, y}] = panel.Title
				}
			}
		}
	}
}

func TestEveryAlertSaysWhatToDo(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(page), -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors[strings.ReplaceAll(plain, " ", "-")] = true
	}
	for _, group := range readAlerts(t).Groups {
		for _, rule := range group.Rules {
			where, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "#")
			if !strings.HasSuffix(where, "/docs/operations.md") || !anchors[anchor] {
				t.Errorf("%s: its runbook %q is no heading of docs/operations.md", rule.Alert, anchor)
			}
			if rule.Annotations["summary"] == "" {
				t.Errorf("%s has no summary", rule.Alert)
			}
		}
	}
}

// TestPrometheusReadsEveryQuery has promtool check the alerts, try those that
// have a case of an outage, and, written as rules, check the queries of all
// panels.
func TestPrometheusReadsEveryQuery(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("promtool is not installed: make setup installs it")
	}
	if err != nil {
		t.Fatal(err)
	}
	type recorded struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var all []recorded
	plain := strings.NewReplacer("$__rate_interval", "5m", "$__range", "3h", "$provider", ".*", "$account", ".*")
	for _, query := range queries(t) {
		all = append(all, recorded{Record: fmt.Sprintf("query:%d", len(all)), Expr: plain.Replace(query)})
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": all}}})
	if err != nil {
		t.Fatal(err)
	}
	panels := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(panels, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(promtool, "test", "rules", "../deploy/prometheus/alerts.test.yml").CombinedOutput(); err != nil {
		t.Errorf("promtool: %v: %s", err, said)
	}
	for _, file := range []string{"../deploy/prometheus/alerts.yml", panels} {
		if said, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("promtool: %v: %s", err, said)
		}
	}
}
