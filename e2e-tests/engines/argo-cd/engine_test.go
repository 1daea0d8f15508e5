package argocd

import (
	"os"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const file = "../../../examples/argo-cd/argocd-cm.yaml"

// The entry of the ConfigMap that users apply.
func entry(t *testing.T, key string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	script, found := config.Data[key]
	if !found {
		t.Fatalf("%s has no %s", file, key)
	}
	return script
}

// An object as the client of Argo CD reads it.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(converted); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return object
}

// The health in one line: status and message. With the entry of this kind, or of Argo CD alone.
func healthOf(t *testing.T, kind string, object *unstructured.Unstructured) string {
	t.Helper()
	overrides := lua.ResourceHealthOverrides{}
	if kind != "" {
		script := entry(t, "resource.customizations.health."+kind)
		overrides[strings.Replace(kind, "_", "/", 1)] = v1alpha1.ResourceOverride{HealthLua: script}
	}
	found, err := health.GetResourceHealth(object, overrides)
	if err != nil {
		t.Fatal(err)
	}
	return string(found.Status) + ": " + found.Message
}
