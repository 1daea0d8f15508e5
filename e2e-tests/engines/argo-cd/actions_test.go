package argocd

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func parsed(t *testing.T) actions {
	t.Helper()
	var parsed actions
	if err := yaml.Unmarshal([]byte(entry(t, "resource.customizations.actions.apps_StatefulSet")), &parsed); err != nil {
		t.Fatal(err)
	}
	if !parsed.Merge {
		t.Fatal("the actions of Argo CD itself, restart and scale, would disappear")
	}
	return parsed
}

// The actions that a user can start, by name.
func enabled(t *testing.T, set map[string]any) string {
	t.Helper()
	found, isTable := run(t, parsed(t).Discovery, set).(map[string]any)
	if !isTable {
		return ""
	}
	names := []string{}
	for name, action := range found {
		properties := action.(map[string]any)
		if properties["displayName"] == "" {
			t.Errorf("%s has no name for people", name)
		}
		if !properties["disabled"].(bool) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

func TestEnabledActions(t *testing.T) {
	for _, row := range []struct{ annotations, expected string }{
		{"", ""},
		{updating, "pause-pvcs"},
		{paused, "resume-pvcs"},
		{resumed, "pause-pvcs"},
		{staged, "update-pvcs"},
		{completed, ""},
		{"claim-rollout.io/paused: 'true'", "resume-pvcs"},
	} {
		if found := enabled(t, statefulSet(t, row.annotations, rolling, done)); found != row.expected {
			t.Errorf("%q: expected %q, but found %q", row.annotations, row.expected, found)
		}
	}
}

// An action changes one annotation, and nothing else of the object.
func TestActions(t *testing.T) {
	written := map[string][2]string{
		"pause-pvcs":  {"claim-rollout.io/paused", "true"},
		"resume-pvcs": {"claim-rollout.io/paused", "false"},
		"update-pvcs": {"claim-rollout.io/update-policy", "InPlace"},
	}
	for _, definition := range parsed(t).Definitions {
		change, known := written[definition.Name]
		if !known {
			t.Fatalf("%s is not tested", definition.Name)
		}
		delete(written, definition.Name)
		found := run(t, definition.Action, statefulSet(t, staged, rolling, done))
		expected := statefulSet(t, staged, rolling, done)
		expected["metadata"].(map[string]any)["annotations"].(map[string]any)[change[0]] = change[1]
		if fmt.Sprint(found) != fmt.Sprint(expected) {
			t.Errorf("%s:\nexpected %v\nbut found %v", definition.Name, expected, found)
		}
		if reflect.DeepEqual(expected, statefulSet(t, staged, rolling, done)) {
			t.Errorf("%s changes nothing", definition.Name)
		}
	}
	if len(written) > 0 {
		t.Errorf("no action for %v", written)
	}
}
