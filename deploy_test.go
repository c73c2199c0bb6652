package rules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/enrichd/enrichd/config"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readFile(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestTheImageHasTheGoOfReleases keeps the image from being built with a
// standard library that nobody audited.
func TestTheImageHasTheGoOfReleases(t *testing.T) {
	release := regexp.MustCompile(`(?m)^RELEASE_GO \?= go(\S+)$`).FindStringSubmatch(readFile(t, "Makefile"))
	image := regexp.MustCompile(`(?m)^FROM golang:([0-9.]+)-`).FindStringSubmatch(readFile(t, "deploy/Dockerfile"))
	if release == nil || image == nil || release[1] != image[1] {
		t.Errorf("releases are built with %q, the image with %q", release, image)
	}
}

// TestContainersCanPutFilesAside finds a container in which no import can be
// read: an image from nothing has no /tmp, and a read-only one needs it mounted.
func TestContainersCanPutFilesAside(t *testing.T) {
	if !regexp.MustCompile(`(?m)^COPY .*/tmp$`).MatchString(readFile(t, "deploy/Dockerfile")) {
		t.Error("the image has no /tmp")
	}
	var compose struct {
		Services map[string]struct{ Tmpfs []string }
	}
	readYAML(t, "deploy/compose/compose.yaml", &compose)
	if !slices.ContainsFunc(compose.Services["enrichd"].Tmpfs, func(mount string) bool { return strings.HasPrefix(mount, "/tmp:") }) {
		t.Error("compose mounts no /tmp")
	}
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						VolumeMounts []struct {
							Name      string
							MountPath string `yaml:"mountPath"`
						} `yaml:"volumeMounts"`
					}
					Volumes []struct {
						Name     string
						EmptyDir map[string]string `yaml:"emptyDir"`
					}
				}
			}
		}
	}
	readYAML(t, "deploy/kubernetes/deployment.yaml", &deployment)
	pod := deployment.Spec.Template.Spec
	for _, mount := range pod.Containers[0].VolumeMounts {
		for _, volume := range pod.Volumes {
			if mount.MountPath == "/tmp" && volume.Name == mount.Name && volume.EmptyDir != nil {
				return
			}
		}
	}
	t.Error("Kubernetes mounts no /tmp that can be written")
}

// commentedOut are the settings that a shipped configuration offers in comments.
var commentedOut = regexp.MustCompile(`(?m)^# ([a-z]+: \{)`)

// TestDeployedReplicasShareWhatTheyMust reads the shipped configurations as they
// are, and with what they offer. Nothing is warned of: what one replica is told
// of a person, the others know.
func TestDeployedReplicasShareWhatTheyMust(t *testing.T) {
	for name, value := range map[string]string{
		"ENRICHD_PEPPER": "a pepper for tests only", "PDL_API_KEY": "key-1", "HUNTER_API_KEY": "key-2",
		"ENRICHD_POSTGRESQL": "postgres://enrichd@postgresql.example/enrichd", "CRM_SECRET": "whsec_" + strings.Repeat("QUJD", 8),
	} {
		t.Setenv(name, value)
	}
	for _, path := range []string{"deploy/compose/enrichd.yaml", "deploy/kubernetes/enrichd.yaml"} {
		text := readFile(t, path)
		with := commentedOut.ReplaceAllString(text, "$1")
		if with == text {
			t.Errorf("%s offers no store", path)
		}
		for _, text := range []string{text, with} {
			loaded, err := config.Parse(path, []byte(text))
			if err != nil {
				t.Error(err)
				continue
			}
			for _, warning := range loaded.Warnings() {
				t.Errorf("%s: %s", path, warning)
			}
			if !loaded.Quota.Redis.Enabled() || !loaded.Privacy.Redis.Enabled() || !loaded.Idempotency.Redis.Enabled() {
				t.Errorf("%s: replicas do not share quotas, erasures and repeated requests", path)
			}
		}
	}
}

// TestNobodyStartsWithTheShippedPepper finds a placeholder that would hold.
func TestNobodyStartsWithTheShippedPepper(t *testing.T) {
	var secret struct {
		StringData map[string]string `yaml:"stringData"`
	}
	readYAML(t, "deploy/kubernetes/secret.yaml", &secret)
	for name, value := range secret.StringData {
		t.Setenv(name, value)
	}
	_, err := config.Load("deploy/kubernetes/enrichd.yaml")
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, section := range []string{"cache.redis", "privacy", "idempotency"} {
		if want := section + ".pepper: needs at least"; !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}
