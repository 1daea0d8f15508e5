#!/usr/bin/env bash
# Called by ../build.sh: builds kruise-manager into a folder, with what its own project installs beside it.
set -euo pipefail
module=github.com/openkruise/kruise
go build -trimpath -buildvcs=false -o "$1/" -ldflags "-s -w" tool
sources=$(go list -m -f '{{.Dir}}' "$module")
mkdir "$1/config"
cp -r "$sources"/config/{crd,rbac,manager,webhook} "$1/config/"
# The module cache is read-only.
chmod -R u+w "$1/config"
cp kustomization.yaml "$1/config/"
