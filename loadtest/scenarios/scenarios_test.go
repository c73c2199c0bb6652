package scenarios_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/scenarios"
)

// TestEveryScenarioDemandsTheLeast looks for the bounds without which a service
// that answers nobody, keeps questions, loses leads or parts of them, says what is
// not true, pays twice or runs into refusals would be called good.
func TestEveryScenarioDemandsTheLeast(t *testing.T) {
	for _, name := range scenarios.Names() {
		text, err := scenarios.Files.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Parse(name+".yaml", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var bounded []string
		for _, line := range s.SLO {
			if bound, err := scenario.ParseBound(line); err == nil && bound.AtMost {
				bounded = append(bounded, bound.Figure)
			}
		}
		for _, figure := range []string{"lost_share", "missing_share", "wrong_answers", "duplicates", "refused_per_10k"} {
			if !slices.Contains(bounded, figure) {
				t.Errorf("%s: no bound on %s", name, figure)
			}
		}
		for _, traffic := range s.Traffic {
			if len(traffic.Fields) < 2 {
				t.Errorf("%s: %s does not ask for several fields", name, traffic.Name)
			}
			isWait := func(figure string) bool { return strings.HasPrefix(figure, "wait."+traffic.Name+".") }
			if traffic.Rate > 0 && !slices.ContainsFunc(bounded, isWait) {
				t.Errorf("%s: no bound on the waits of %s", name, traffic.Name)
			}
			isLongest := func(figure string) bool {
				return figure == "overtaken."+traffic.Name || figure == "wait."+traffic.Name+".max"
			}
			if traffic.Rate == 0 && !slices.ContainsFunc(bounded, isLongest) {
				t.Errorf("%s: no bound on %s by which a question that hangs is told from one that waits", name, traffic.Name)
			}
			if !slices.Contains(bounded, "failed_share") && !slices.Contains(bounded, "failed_share."+traffic.Name) {
				t.Errorf("%s: no bound on failures, at least not on those of %s", name, traffic.Name)
			}
		}
	}
}
