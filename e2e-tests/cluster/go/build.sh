#!/usr/bin/env bash
# Builds the control plane of one Kubernetes minor from Go modules and prints the folder that holds the binaries:
#   ./build.sh 1.37
# The folder lies outside the tree and is named by what was built, so that a second checkout or a second version
# never builds the same thing again and never overwrites another's.
set -euo pipefail
minor=${1:?usage: build.sh MAJOR.MINOR}
here=$(cd "$(dirname "$0")" && pwd)
cache=${CLAIM_ROLLOUT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/claim-rollout}
kubernetes=$here/kubernetes/$minor
if [ ! -f "$kubernetes/go.mod" ]; then
  echo "Kubernetes $minor is not pinned here; pinned are: $(ls "$here/kubernetes" | tr '\n' ' ')" >&2
  echo "To add it: e2e-tests/cluster/go/pin-kubernetes.sh $minor.PATCH" >&2
  exit 2
fi
if ! command -v go >/dev/null; then
  echo "Go is missing: the control plane is built from Go modules. Install Go 1.26 or newer (https://go.dev/dl) and put it on PATH." >&2
  exit 2
fi

# The groups are separate modules because their dependencies disagree.
build() { # build DIR FOLDER LDFLAGS PACKAGE...
  local dir=$1 out=$2 ldflags=$3
  shift 3
  [ -f "$out/.complete" ] && return
  echo "building $(basename "$dir") (the first time this takes minutes)" >&2
  mkdir -p "$out"
  (cd "$dir" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$out/" -ldflags "-s -w $ldflags" "$@" >&2)
  touch "$out/.complete"
}
fingerprint() { cat "$@" | sha256sum | cut -c1-16; }

version=$(sed -n 's#^.*k8s.io/kubernetes v##p' "$kubernetes/go.mod" | head -1)
rest=${version#*.}
stamp="-X k8s.io/component-base/version.gitVersion=v$version -X k8s.io/component-base/version.gitMajor=${version%%.*} -X k8s.io/component-base/version.gitMinor=${rest%%.*}"
bin=$cache/kubernetes-$version-$(fingerprint "$kubernetes/go.mod" "$kubernetes/go.sum")
build "$kubernetes" "$bin" "$stamp" tool

parts=$here/parts
for part in "$parts"/*/; do
  part=${part%/}
  name=$(basename "$part")
  what=tool
  [ -f "$part/main.go" ] && what=.
  folder=$cache/$name-$(fingerprint "$part"/go.mod "$part"/go.sum $(ls "$part"/*.go 2>/dev/null))
  build "$part" "$folder" "" "$what"
  for binary in "$folder"/*; do ln -sf "$binary" "$bin/$(basename "$binary")"; done
done
echo "$bin"
