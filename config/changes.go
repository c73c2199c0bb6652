package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Change is a field that two configurations say different things of.
type Change struct {
	Path string
	// Restart tells that the field holds only after a restart.
	Restart bool
}

// afterRestart lists the fields, with all below them, that a running program
// keeps as they were when it started: what it listens on, the size of its
// memory, where shared state lies, and what the keys of remembered records are
// made of. Everything else is live.
var afterRestart = []string{
	"telemetry", "server", "privacy", "idempotency", "email", "cache",
	"store", "jobs", "intake", "sinks", "digest",
	"quota.state_file", "quota.replicas", "quota.redis", "quota.max_call",
}

func needsRestart(path string) bool {
	return slices.ContainsFunc(afterRestart, func(above string) bool {
		return path == above || strings.HasPrefix(path, above+".") || strings.HasPrefix(path, above+"[")
	})
}

// Changes lists the fields that differ, in the order of the file. It names them
// and never says what stands there. Lists of different lengths are one change,
// and the one map that has a key that the other lacks.
func Changes(before, after Config) (changes []Change) {
	compare(reflect.ValueOf(before), reflect.ValueOf(after), "", func(path string) {
		changes = append(changes, Change{Path: path, Restart: needsRestart(path)})
	})
	return changes
}

func compare(before, after reflect.Value, path string, differs func(path string)) {
	if reflect.DeepEqual(before.Interface(), after.Interface()) {
		return
	}
	if _, isText := asText(before); isText {
		differs(path)
		return
	}
	switch before.Kind() {
	case reflect.Struct:
		for _, field := range fieldsOf(before.Type()) {
			compare(before.FieldByIndex(field.Index), after.FieldByIndex(field.Index), within(path, field.Tag.Get("yaml")), differs)
		}
	case reflect.Map:
		compareEntries(before, after, path, differs)
	case reflect.Slice:
		if before.Len() != after.Len() {
			differs(path)
			return
		}
		for i := range before.Len() {
			compare(before.Index(i), after.Index(i), fmt.Sprintf("%s[%d]", path, i), differs)
		}
	default:
		differs(path)
	}
}

func compareEntries(before, after reflect.Value, path string, differs func(path string)) {
	names := map[string]reflect.Value{}
	for _, key := range append(before.MapKeys(), after.MapKeys()...) {
		names[key.String()] = key
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := before.MapIndex(names[name]), after.MapIndex(names[name])
		if !was.IsValid() || !is.IsValid() {
			differs(within(path, name))
			continue
		}
		compare(was, is, within(path, name), differs)
	}
}
