#!/usr/bin/env bash
# Called by ../build.sh: builds the operator into a folder, with its CustomResourceDefinitions and its ClusterRole.
set -euo pipefail
module=github.com/prometheus-operator/prometheus-operator
version=$(go list -m -f '{{.Version}}' "$module")
go build -trimpath -buildvcs=false -o "$1/" -ldflags "-s -w -X github.com/prometheus/common/version.Version=${version#v}" tool
sources=$(go list -m -f '{{.Dir}}' "$module")
mkdir "$1/crds"
cp "$sources"/example/prometheus-operator-crd/*.yaml "$1/crds/"
cp "$sources"/example/rbac/prometheus-operator/prometheus-operator-cluster-role.yaml "$1/cluster-role.yaml"
