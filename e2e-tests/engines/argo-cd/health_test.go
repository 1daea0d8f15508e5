package argocd

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A StatefulSet with three replicas at generation 2, whose Pods are ready and updated.
func statefulSet(t *testing.T, annotations, spec, status string) *unstructured.Unstructured {
	t.Helper()
	return object(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, generation: 2, annotations: {%s}}
spec: {replicas: 3, %s}
status: {%s}`, annotations, spec, status))
}

const (
	rolling = "updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}"
	// A StatefulSet that was created without the field.
	bare      = "updateStrategy: {type: RollingUpdate}"
	canary    = "updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}"
	onDelete  = "updateStrategy: {type: OnDelete}"
	done      = "observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 3, currentReplicas: 3, currentRevision: a, updateRevision: a"
	halfway   = "observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 1, currentReplicas: 2, currentRevision: a, updateRevision: b"
	starting  = "observedGeneration: 2, replicas: 3, readyReplicas: 2, updatedReplicas: 3, currentReplicas: 3, currentRevision: a, updateRevision: a"
	unseen    = "observedGeneration: 1, replicas: 3, readyReplicas: 3, updatedReplicas: 3, currentReplicas: 3, currentRevision: a, updateRevision: a"
	updating  = "claim-rollout.io/phase: RollingOut"
	paused    = updating + ", claim-rollout.io/paused: 'true'"
	resumed   = updating + ", claim-rollout.io/paused: 'false'"
	staged    = "claim-rollout.io/phase: Staged"
	completed = "claim-rollout.io/phase: Complete"
)

// Without annotations of ours, the answers are those of Argo CD itself.
func TestHealthOfStatefulSet(t *testing.T) {
	for _, row := range []struct{ annotations, spec, status, expected string }{
		{"", rolling, done, "Healthy: partitioned roll out complete: 3 new pods have been updated..."},
		{"", bare, done, "Healthy: statefulset rolling update complete 3 pods at revision a..."},
		{"", bare, halfway, "Progressing: waiting for statefulset rolling update to complete 1 pods at revision b..."},
		{"", rolling, halfway, "Progressing: Waiting for partitioned roll out to finish: 1 out of 3 new pods have been updated..."},
		{"", canary, halfway, "Healthy: partitioned roll out complete: 1 new pods have been updated..."},
		{"", onDelete, halfway, "Healthy: statefulset has 3 ready pods"},
		{"", rolling, starting, "Progressing: Waiting for 1 pods to be ready..."},
		{"", rolling, unseen, "Progressing: Waiting for statefulset spec update to be observed..."},
		{"", rolling, "", "Progressing: Waiting for statefulset spec update to be observed..."},
		{updating, rolling, done, "Progressing: claim-rollout: PVCs are being updated, see the ClaimRollout"},
		{updating, bare, done, "Progressing: claim-rollout: PVCs are being updated, see the ClaimRollout"},
		{updating, onDelete, done, "Progressing: claim-rollout: PVCs are being updated, see the ClaimRollout"},
		{updating, canary, done, "Suspended: claim-rollout: PVCs below partition 2 are not updated"},
		{updating, rolling, starting, "Progressing: Waiting for 1 pods to be ready..."},
		{updating, rolling, unseen, "Progressing: Waiting for statefulset spec update to be observed..."},
		{paused, rolling, done, "Suspended: claim-rollout: the update of PVCs is paused"},
		{paused, rolling, starting, "Progressing: Waiting for 1 pods to be ready..."},
		{resumed, rolling, done, "Progressing: claim-rollout: PVCs are being updated, see the ClaimRollout"},
		{staged, rolling, done, "Healthy: partitioned roll out complete: 3 new pods have been updated..."},
		{completed, rolling, done, "Healthy: partitioned roll out complete: 3 new pods have been updated..."},
		{completed, rolling, halfway, "Progressing: Waiting for partitioned roll out to finish: 1 out of 3 new pods have been updated..."},
	} {
		set := statefulSet(t, row.annotations, row.spec, row.status)
		found := healthOf(t, "apps_StatefulSet", set)
		if found != row.expected {
			t.Errorf("%s; %s; %s:\nexpected %s\nbut found %s", row.annotations, row.spec, row.status, row.expected, found)
		}
		if built := healthOf(t, "", set); row.annotations == "" && found != built {
			t.Errorf("%s; %s:\nexpected %s as of Argo CD, but found %s", row.spec, row.status, built, found)
		}
	}
}

func condition(kind, status, reason string) string {
	return fmt.Sprintf("{type: %s, status: '%s', reason: %s, message: why}", kind, status, reason)
}

func TestHealthOfClaimRollout(t *testing.T) {
	const waiting = "Progressing: The controller has not reported yet"
	reported := func(ready, reason, stalled string) string {
		return "observedGeneration: 4, conditions: [" + condition("Ready", ready, reason) + ", " +
			condition("Reconciling", "False", reason) + ", " + condition("Stalled", stalled, reason) + "]"
	}
	for _, row := range []struct{ status, expected string }{
		{"", waiting},
		{"observedGeneration: 4", waiting},
		{"observedGeneration: 4, conditions: []", waiting},
		{"observedGeneration: 3, conditions: [" + condition("Ready", "True", "Complete") + "]", waiting},
		{reported("True", "Complete", "False"), "Healthy: Complete: why"},
		{reported("True", "OnClaimDelete", "False"), "Healthy: OnClaimDelete: why"},
		{reported("False", "RollingOut", "False"), "Progressing: RollingOut: why"},
		{reported("False", "WaitsForBudget", "False"), "Progressing: WaitsForBudget: why"},
		{reported("False", "Paused", "False"), "Suspended: Paused: why"},
		{reported("False", "Partitioned", "False"), "Suspended: Partitioned: why"},
		{reported("False", "OnDelete", "False"), "Suspended: OnDelete: why"},
		{reported("False", "ClaimRefused", "True"), "Degraded: ClaimRefused: why"},
	} {
		rollout := object(t, "apiVersion: claim-rollout.io/v1alpha1\nkind: ClaimRollout\nmetadata: {name: web, generation: 4}\nstatus: {"+row.status+"}")
		if found := healthOf(t, "claim-rollout.io_ClaimRollout", rollout); found != row.expected {
			t.Errorf("%s:\nexpected %s\nbut found %s", row.status, row.expected, found)
		}
	}
}
