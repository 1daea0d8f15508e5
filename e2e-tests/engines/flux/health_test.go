package flux

import (
	"context"
	"os"
	"testing"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const file = "../../../examples/flux/kustomization.yaml"

// The expressions of the example for a kind, compiled by Flux.
func evaluator(t *testing.T, kind string) *cel.StatusEvaluator {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Spec struct {
			Wait   bool                          `json:"wait"`
			Checks []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		t.Fatal(err)
	}
	if !kustomization.Spec.Wait {
		t.Fatal("expected wait: true")
	}
	for _, check := range kustomization.Spec.Checks {
		if check.Kind == kind {
			compiled, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
			if err != nil {
				t.Fatal(err)
			}
			return compiled
		}
	}
	t.Fatalf("%s has no expressions for %s", file, kind)
	return nil
}

func status(t *testing.T, of *cel.StatusEvaluator, object string) string {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(object), &content); err != nil {
		t.Fatalf("%v:\n%s", err, object)
	}
	unstructured := &unstructured.Unstructured{Object: integers(content).(map[string]any)}
	result, err := of.Evaluate(context.Background(), unstructured)
	if err != nil {
		t.Fatalf("%v:\n%s", err, object)
	}
	return string(result.Status)
}

// Numbers as the client of Flux reads them.
func integers(value any) any {
	switch value := value.(type) {
	case float64:
		return int64(value)
	case map[string]any:
		for key, item := range value {
			value[key] = integers(item)
		}
	case []any:
		for index, item := range value {
			value[index] = integers(item)
		}
	}
	return value
}

func TestStatefulSet(t *testing.T) {
	const (
		rolling  = "replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}"
		bare     = "replicas: 3, updateStrategy: {type: RollingUpdate}"
		canary   = "replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}"
		onDelete = "replicas: 3, updateStrategy: {type: OnDelete}"
		none     = "replicas: 0, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}"
		done     = "observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 3, currentRevision: a, updateRevision: a"
		halfway  = "observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 1, currentRevision: a, updateRevision: b"
		starting = "observedGeneration: 2, replicas: 3, readyReplicas: 2, updatedReplicas: 3, currentRevision: a, updateRevision: a"
		unready  = "observedGeneration: 2, replicas: 3, updatedReplicas: 3, currentRevision: a, updateRevision: a"
		unseen   = "observedGeneration: 1, replicas: 3, readyReplicas: 3, updatedReplicas: 3, currentRevision: a, updateRevision: a"
		empty    = "observedGeneration: 2, replicas: 0, currentRevision: a, updateRevision: a"
		updating = "annotations: {claim-rollout.io/phase: RollingOut}"
		staged   = "annotations: {claim-rollout.io/phase: Staged}"
		complete = "annotations: {claim-rollout.io/phase: Complete}"
		other    = "annotations: {example.com/team: a}"
	)
	of := evaluator(t, "StatefulSet")
	for _, row := range []struct{ metadata, spec, status, expected string }{
		{"", rolling, done, "Current"},
		{other, rolling, done, "Current"},
		{"", bare, done, "Current"},
		{"", bare, halfway, "InProgress"},
		{"", rolling, halfway, "InProgress"},
		{"", canary, halfway, "Current"},
		{"", onDelete, halfway, "Current"},
		{"", rolling, starting, "InProgress"},
		{"", rolling, unready, "InProgress"},
		{"", rolling, unseen, "InProgress"},
		{"", rolling, "", "InProgress"},
		{"", none, empty, "Current"},
		{updating, rolling, done, "InProgress"},
		{updating, canary, done, "InProgress"},
		{updating, onDelete, done, "InProgress"},
		{staged, rolling, done, "Current"},
		{complete, rolling, done, "Current"},
		{complete, rolling, halfway, "InProgress"},
	} {
		object := "metadata: {name: web, generation: 2, " + row.metadata + "}\nspec: {" + row.spec + "}\nstatus: {" + row.status + "}"
		if found := status(t, of, object); found != row.expected {
			t.Errorf("expected %s, but found %s:\n%s", row.expected, found, object)
		}
	}
}

func TestClaimRollout(t *testing.T) {
	conditions := func(ready, stalled string) string {
		return "conditions: [{type: Ready, status: '" + ready + "'}, {type: Stalled, status: '" + stalled + "'}]"
	}
	of := evaluator(t, "ClaimRollout")
	for _, row := range []struct{ status, expected string }{
		{"", "InProgress"},
		{"observedGeneration: 4", "InProgress"},
		{"observedGeneration: 3, " + conditions("True", "False"), "InProgress"},
		{"observedGeneration: 4, " + conditions("True", "False"), "Current"},
		{"observedGeneration: 4, " + conditions("False", "False"), "InProgress"},
		{"observedGeneration: 4, " + conditions("False", "True"), "Failed"},
	} {
		object := "metadata: {name: web, generation: 4}\nstatus: {" + row.status + "}"
		if found := status(t, of, object); found != row.expected {
			t.Errorf("expected %s, but found %s:\n%s", row.expected, found, object)
		}
	}
}
