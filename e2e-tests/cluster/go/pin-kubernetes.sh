#!/usr/bin/env bash
# Pins one Kubernetes version as a Go module whose tools are the control plane:
#   ./pin-kubernetes.sh 1.37.1   writes kubernetes/1.37/go.mod and go.sum
# k8s.io/kubernetes requires its staging modules at v0.0.0 and replaces them by folders. Outside of its own tree, each
# of them must be replaced by the published version of the same release.
set -euo pipefail
version=${1:?usage: pin-kubernetes.sh MAJOR.MINOR.PATCH}
minor=${version%.*}
staging=v0.${version#*.}
here=$(cd "$(dirname "$0")" && pwd)
dir=$here/kubernetes/$minor
mkdir -p "$dir"
upstream=$(cd "$(mktemp -d)" && go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
  echo "// Written by pin-kubernetes.sh; run it again to move to another patch release."
  echo "module claim-rollout.io/e2e/kubernetes"
  echo
  sed -n 's/^go \(.*\)/go \1/p' "$upstream"
  echo
  echo "tool ("
  for command in kube-apiserver kube-controller-manager kube-scheduler kubectl; do echo "	k8s.io/kubernetes/cmd/$command"; done
  echo ")"
  echo
  echo "require k8s.io/kubernetes v$version"
  echo
  echo "replace ("
  sed -n 's#^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => ./staging/.*#\1#p' "$upstream" | while read -r module; do
    echo "	$module => $module $staging"
  done
  echo ")"
} >"$dir/go.mod"
rm -f "$dir/go.sum"
(cd "$dir" && go mod tidy)
