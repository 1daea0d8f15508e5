// The comparison of Argo CD: reads two objects, and prints them as Argo CD compares them.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	argodiff "github.com/argoproj/argo-cd/v3/util/argo/diff"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	kubeutil "github.com/argoproj/argo-cd/v3/util/kube"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

// What is compared, and the options of the Application.
type request struct {
	Live   *unstructured.Unstructured `json:"live"`
	Config *unstructured.Unstructured `json:"config"`
	// `ServerSideDiff=true`
	ServerSideDiff bool `json:"serverSideDiff"`
	// `IncludeMutationWebhook=true`
	Webhooks bool `json:"webhooks"`
	// `ignoreDifferences`, as expressions for jq.
	Ignored []string `json:"ignored"`
}

type response struct {
	Modified  bool            `json:"modified"`
	Live      json.RawMessage `json:"live"`
	Predicted json.RawMessage `json:"predicted"`
}

// As `CompareAppState` in controller/state.go, with the defaults of Argo CD.
func compare(kubeconfig string, request request) (*diff.DiffResult, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	none := func(string) (kube.CleanupFunc, error) { return func() {}, nil }
	applier, cleanup, err := kubeutil.ManageServerSideDiffDryRuns(config, none)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	_, parser, err := kubeutil.NewKubectl().LoadOpenAPISchema(config)
	if err != nil {
		return nil, err
	}
	ignored := []v1alpha1.ResourceIgnoreDifferences{
		{Group: "apps", Kind: "StatefulSet", JQPathExpressions: request.Ignored},
	}
	// `ignoreResourceStatusField: all`
	status := map[string]v1alpha1.ResourceOverride{
		"*/*": {IgnoreDifferences: v1alpha1.OverrideIgnoreDiff{JSONPointers: []string{"/status"}}},
	}
	options, err := argodiff.NewDiffConfigBuilder().
		WithDiffSettings(ignored, status, false, normalizers.IgnoreNormalizerOpts{}).
		WithTracking(common.LabelKeyAppInstance, string(v1alpha1.TrackingMethodAnnotation)).
		WithNoCache().
		WithIgnoreMutationWebhook(!request.Webhooks).
		WithGVKParser(parser).
		WithManager(common.ArgoCDSSAManager).
		WithServerSideDiff(request.ServerSideDiff).
		WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier)).
		Build()
	if err != nil {
		return nil, err
	}
	result, err := argodiff.StateDiff(request.Live, request.Config, options)
	return &result, err
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: %s KUBECONFIG <REQUEST", os.Args[0])
	}
	var request request
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		return err
	}
	logrus.SetOutput(os.Stderr)
	result, err := compare(os.Args[1], request)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(response{result.Modified, result.NormalizedLive, result.PredictedLive})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
