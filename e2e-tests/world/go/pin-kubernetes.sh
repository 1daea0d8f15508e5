#!/usr/bin/env bash
# Pins one Kubernetes version as a Go module whose tools are the control plane:
#   ./pin-kubernetes.sh 1.37.1   writes kubernetes/1.37/go.mod and go.sum
# If ../../engines/kubernetes has a folder for the minor version, also the module of Kubernetes' own tests there.
# k8s.io/kubernetes requires its staging modules at v0.0.0 and replaces them by folders. Outside of its own tree, each
# of them must be replaced by the published version of the same release.
set -euo pipefail
version=${1:?usage: pin-kubernetes.sh MAJOR.MINOR.PATCH}
minor=${version%.*}
staging=v0.${version#*.}
here=$(cd "$(dirname "$0")" && pwd)
upstream=$(cd "$(mktemp -d)" && go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')

pin() { # pin FOLDER MODULE PACKAGE...
  mkdir -p "$1"
  {
    echo "// Written by pin-kubernetes.sh; run it again to move to another patch release."
    echo "module claim-rollout.io/e2e/$2"
    echo
    sed -n 's/^go \(.*\)/go \1/p' "$upstream"
    echo
    echo "tool ("
    printf '\t%s\n' "${@:3}"
    echo ")"
    echo
    echo "require k8s.io/kubernetes v$version"
    echo
    echo "replace ("
    sed -n 's#^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => ./staging/.*#\1#p' "$upstream" | while read -r module; do
      echo "	$module => $module $staging"
    done
    echo ")"
  } >"$1/go.mod"
  rm -f "$1/go.sum"
  (cd "$1" && go mod tidy)
}

pin "$here/kubernetes/$minor" kubernetes k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubectl}

tests=$here/../../engines/kubernetes
# The packages that its test imports, and the program that runs the test
mapfile -t packages < <(sed -n 's#.*"\(k8s.io/kubernetes/.*\)"$#\1#p' "$tests/e2e_test.go")
[ ! -d "$tests/$minor" ] || pin "$tests/$minor" kubernetes-tests github.com/onsi/ginkgo/v2/ginkgo "${packages[@]}"
