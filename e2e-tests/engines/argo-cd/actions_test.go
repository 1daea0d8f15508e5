package argocd

import (
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"sigs.k8s.io/yaml"
)

func parsed(t *testing.T) v1alpha1.ResourceActions {
	t.Helper()
	var parsed v1alpha1.ResourceActions
	if err := yaml.Unmarshal([]byte(entry(t, "resource.customizations.actions.apps_StatefulSet")), &parsed); err != nil {
		t.Fatal(err)
	}
	if !parsed.MergeBuiltinActions {
		t.Fatal("the actions of Argo CD itself, restart and scale, would disappear")
	}
	return parsed
}

// The actions that a user can start, by name.
func enabled(t *testing.T, annotations string) string {
	t.Helper()
	scripts := []string{parsed(t).ActionDiscoveryLua}
	found, err := lua.VM{}.ExecuteResourceActionDiscovery(statefulSet(t, annotations, rolling, done), scripts)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, action := range found {
		if action.DisplayName == "" {
			t.Errorf("%s has no name for people", action.Name)
		}
		if !action.Disabled {
			names = append(names, action.Name)
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
		if found := enabled(t, row.annotations); found != row.expected {
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
		before := statefulSet(t, staged, rolling, done)
		found, err := lua.VM{}.ExecuteResourceAction(before, definition.ActionLua, nil)
		if err != nil {
			t.Fatal(err)
		}
		expected := statefulSet(t, staged, rolling, done)
		annotations := expected.GetAnnotations()
		annotations[change[0]] = change[1]
		expected.SetAnnotations(annotations)
		if len(found) != 1 || found[0].K8SOperation != lua.PatchOperation {
			t.Fatalf("%s: %v", definition.Name, found)
		}
		if !reflect.DeepEqual(found[0].UnstructuredObj, expected) {
			t.Errorf("%s:\nexpected %v\nbut found %v", definition.Name, expected, found[0].UnstructuredObj)
		}
	}
	if len(written) > 0 {
		t.Errorf("no action for %v", written)
	}
}
