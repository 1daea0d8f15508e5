#!/usr/bin/env bash
# Builds the Prometheus operator from its Go module and prints the folder with the program `operator`, its
# CustomResourceDefinitions and its ClusterRole. The folder lies outside the tree and is named after its inputs.
set -euo pipefail
cd "$(dirname "$0")"
cache=${CLAIM_ROLLOUT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/claim-rollout}
home=$cache/prometheus-operator-$(cat go.mod go.sum build.sh | sha256sum | cut -c1-16)
module=github.com/prometheus-operator/prometheus-operator
version=$(sed -n "s#^\t*$module v\([^ ]*\).*#\1#p" go.mod)

# A folder gets its name only when it is complete, so checking for the name is enough.
if [ ! -d "$home" ]; then
  command -v go >/dev/null || { echo 'Go is missing: install Go 1.26 or newer (https://go.dev/dl)' >&2; exit 2; }
  mkdir -p "$cache"
  exec 9>"$cache/.prometheus-operator.lock"
  flock 9
fi
if [ ! -d "$home" ]; then
  echo 'building the Prometheus operator (the first time this takes minutes)' >&2
  # Under the lock, every unfinished folder is left over from an interrupted build.
  rm -rf "$cache"/.prometheus-operator-*
  work=$(mktemp -d "$cache/.prometheus-operator-XXXXXX")
  GOWORK=off CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$work/" \
    -ldflags "-s -w -X github.com/prometheus/common/version.Version=$version" tool >&2
  sources=$(GOWORK=off go list -m -f '{{.Dir}}' $module)
  mkdir "$work/crds"
  cp "$sources"/example/prometheus-operator-crd/*.yaml "$work/crds/"
  cp "$sources"/example/rbac/prometheus-operator/prometheus-operator-cluster-role.yaml "$work/cluster-role.yaml"
  chmod 755 "$work"
  mv "$work" "$home"
fi
echo "$home"
