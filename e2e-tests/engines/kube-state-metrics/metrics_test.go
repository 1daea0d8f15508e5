package ksm

import (
	"os"
	"sort"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-state-metrics/v2/pkg/customresourcestate"
	"k8s.io/kube-state-metrics/v2/pkg/metric"
	sigsyaml "sigs.k8s.io/yaml"
)

const file = "../../../examples/kube-state-metrics/config.yaml"

// The metrics of one object, as kube-state-metrics exposes them.
func exposed(t *testing.T, object string) []string {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var config struct {
		Kind                        string
		customresourcestate.Metrics `yaml:",inline"`
	}
	decoder := yaml.NewDecoder(text)
	decoder.KnownFields(true)
	if err := decoder.Decode(&config); err != nil {
		t.Fatal(err)
	}
	if config.Kind != "CustomResourceStateMetrics" {
		t.Fatal(config.Kind)
	}
	var content map[string]any
	if err := sigsyaml.Unmarshal([]byte(object), &content); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, resource := range config.Spec.Resources {
		for index := range resource.Metrics {
			kind := &resource.Metrics[index].Each.Type
			*kind = metric.Type(strings.ToLower(string(*kind)))
		}
		factory, err := customresourcestate.NewCustomResourceMetrics(resource)
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range factory.MetricFamilyGenerators() {
			text := string(family.Generate(&unstructured.Unstructured{Object: content}).ByteSlice())
			lines = append(lines, strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })...)
		}
	}
	sort.Strings(lines)
	return lines
}

const labels = `customresource_group="claim-rollout.io",customresource_kind="ClaimRollout",customresource_version="v1alpha1",namespace="shop",`

func compare(t *testing.T, object string, expected []string) {
	t.Helper()
	found := exposed(t, object)
	sort.Strings(expected)
	for index, line := range expected {
		expected[index] = strings.Replace(line, "{", "{"+labels, 1)
	}
	sort.Strings(expected)
	if strings.Join(found, "\n") != strings.Join(expected, "\n") {
		t.Errorf("expected\n%s\nbut found\n%s", strings.Join(expected, "\n"), strings.Join(found, "\n"))
	}
}

const head = `
apiVersion: claim-rollout.io/v1alpha1
kind: ClaimRollout
metadata: {name: web, namespace: shop, generation: 1}
spec: {revision: m6mrc6cwlq, updatePolicy: InPlace, setRef: {apiVersion: apps/v1, kind: StatefulSet, name: web, uid: u}}
`

func TestStalledRollout(t *testing.T) {
	compare(t, head+`
status:
  replicas: 3
  updatedReplicas: 1
  readyReplicas: 1
  conditions:
    - {type: Ready, status: "False", reason: ClaimRefused, message: quota}
    - {type: Reconciling, status: "False", reason: Stalled, message: ""}
    - {type: Stalled, status: "True", reason: ClaimRefused, message: quota}
  claims:
    - {name: data-web-1, ordinal: 1, state: Refused, reason: Forbidden, message: quota, since: "2026-11-21T12:00:00Z"}
`, []string{
		`kube_claimrollout_claim_since_seconds{persistentvolumeclaim="data-web-1",reason="Forbidden",state="Refused",statefulset="web"} 1.7952624e+09`,
		`kube_claimrollout_condition{reason="ClaimRefused",statefulset="web",type="Ready"} 0`,
		`kube_claimrollout_condition{reason="ClaimRefused",statefulset="web",type="Stalled"} 1`,
		`kube_claimrollout_condition{reason="Stalled",statefulset="web",type="Reconciling"} 0`,
		`kube_claimrollout_info{revision="m6mrc6cwlq",statefulset="web",update_policy="InPlace"} 1`,
		`kube_claimrollout_replicas_ready{statefulset="web"} 1`,
		`kube_claimrollout_replicas_updated{statefulset="web"} 1`,
		`kube_claimrollout_replicas{statefulset="web"} 3`,
	})
}

func TestNewRollout(t *testing.T) {
	compare(t, head, []string{
		`kube_claimrollout_info{revision="m6mrc6cwlq",statefulset="web",update_policy="InPlace"} 1`,
		`kube_claimrollout_replicas_ready{statefulset="web"} 0`,
		`kube_claimrollout_replicas_updated{statefulset="web"} 0`,
		`kube_claimrollout_replicas{statefulset="web"} 0`,
	})
}
