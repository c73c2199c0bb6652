package rules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
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
