package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "enrichd.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestConfigCheckPrintsJSON(t *testing.T) {
	type report struct {
		File     string
		OK       bool
		Problems []struct {
			Line       int
			Path, Text string
		}
		Warnings []string
	}
	check := func(file string, wantCode int) (said report) {
		t.Helper()
		code, out, failed := command(t, "", "config", "check", "--json", file)
		if code != wantCode || failed != "" {
			t.Errorf("%s: code %d, %q", file, code, failed)
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return said
	}
	bad := check("../../config/testdata/listeners.yaml", 1)
	if bad.OK || len(bad.Problems) != 3 || bad.Problems[0].Line != 2 || bad.Problems[0].Path != "server.grpc" || !strings.HasPrefix(bad.Problems[0].Text, "the port") {
		t.Errorf("a bad file: %+v", bad)
	}
	if good := check(writeFile(t, "server: {drain_timeout: 5s}\nprivacy: {pepper: invented-for-a-test, suppression: {file: suppressed}}"), 0); !good.OK || len(good.Problems) != 0 || len(good.Warnings) != 2 {
		t.Errorf("a good file: %+v", good)
	}
	if device := check("/dev/zero", 1); len(device.Problems) != 1 || !strings.Contains(device.Problems[0].Text, "longer than") {
		t.Errorf("a device: %+v", device)
	}
}

func TestConfigPrintHidesSecrets(t *testing.T) {
	file := writeFile(t, "providers: {list: [{definition: hunter, credentials: {api_key: written-out}}]}")
	for _, form := range [][]string{nil, {"--json"}} {
		code, out, failed := command(t, "", append([]string{"config", "print", file}, form...)...)
		if code != 0 || strings.Contains(out+failed, "written-out") {
			t.Errorf("print %v: code %d, %s%s", form, code, out, failed)
		}
		if !strings.Contains(out, "hidden") || !strings.Contains(out, "retry_budget") {
			t.Errorf("print %v lacks defaults or hidden fields:\n%s", form, out)
		}
		if form != nil && !json.Valid([]byte(out)) {
			t.Errorf("not JSON: %s", out)
		}
	}
	if code, _, failed := command(t, "", "config", "print", "../../config/testdata/listeners.yaml"); code != 1 || !strings.Contains(failed, "the port") {
		t.Errorf("a bad file: code %d, %s", code, failed)
	}
}

func TestNormalizeReadsMarksAndRefusesTwoInputs(t *testing.T) {
	code, out, failed := command(t, "\xef\xbb\xbf"+`{"id":1,"input":"jane.doe@acme.example"}`+"\n"+`{"id":2,"input":"jane.doe@acme.example","input_b64":"amFuZQ=="}`+"\n", "normalize")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 2 || !strings.Contains(lines[0], `"address":"jane.doe@acme.example"`) || !strings.Contains(lines[1], `"error":"syntax"`) {
		t.Errorf("code %d: %s%s", code, out, failed)
	}
}
