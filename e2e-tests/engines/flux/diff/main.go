// The comparisons of Flux: reads an object, and prints what differs in the cluster.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Connects to the cluster.
func connect(kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{})
}

// kustomize-controller: the live object and the dry run, if Flux would apply the object.
func kustomization(kubeconfig string, object *unstructured.Unstructured) (any, error) {
	client, err := connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	manager := ssa.NewResourceManager(client, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	entry, live, dryRun, err := manager.Diff(context.Background(), object, ssa.DefaultDiffOptions())
	if err != nil {
		return nil, err
	}
	return map[string]any{"action": entry.Action, "live": live, "dryRun": dryRun}, nil
}

// helm-controller: the differences, as a JSON patch.
func helmRelease(kubeconfig string, object *unstructured.Unstructured) (any, error) {
	connected, err := connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	diff, err := jsondiff.Unstructured(context.Background(), connected, object, jsondiff.FieldOwner("helm-controller"))
	if err != nil {
		return nil, err
	}
	return map[string]any{"action": diff.Type, "patch": diff.Patch}, nil
}

// The status with which `wait: true` and `helm --wait` wait, of the object as it was read.
func health(_ string, object *unstructured.Unstructured) (any, error) {
	return status.Compute(object)
}

func run() error {
	modes := map[string]func(string, *unstructured.Unstructured) (any, error){
		"kustomization": kustomization, "helm-release": helmRelease, "status": health,
	}
	if len(os.Args) != 3 || modes[os.Args[1]] == nil {
		return fmt.Errorf("usage: %s kustomization|helm-release|status KUBECONFIG <OBJECT", os.Args[0])
	}
	object := &unstructured.Unstructured{}
	if err := json.NewDecoder(os.Stdin).Decode(object); err != nil {
		return err
	}
	result, err := modes[os.Args[1]](os.Args[2], object)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
