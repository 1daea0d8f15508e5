#!/usr/bin/env bash
# Builds the control plane of one Kubernetes minor from Go modules and prints the folder that holds the binaries:
#   ./build.sh 1.37
# Everything built lies outside the tree, in a folder named by what it was built from: a second checkout or another
# version never builds the same thing again and never overwrites another's. Any number of callers may run this at once.
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
version=$(sed -n 's#^.*k8s.io/kubernetes v\([^ ]*\).*#\1#p' "$kubernetes/go.mod" | head -1)

# Linked into Kubernetes' programs; without these they call themselves, and their clients, v0.0.0.
stamp=""
rest=${version#*.}
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  stamp+=" -X $package.gitVersion=v$version -X $package.gitMajor=${version%%.*} -X $package.gitMinor=${rest%%.*}"
done

# The groups are separate modules because their dependencies disagree. A group's folder is named by all it is built from.
groups=("$kubernetes" "$here"/parts/*)
name() { if [ "$1" = "$kubernetes" ]; then echo "kubernetes-$version"; else basename "$1"; fi; }
flags() { if [ "$1" = "$kubernetes" ]; then echo "-s -w$stamp"; else echo "-s -w"; fi; }
fingerprint() { sha256sum | cut -c1-16; }
folder() { echo "$cache/$(name "$1")-$({ flags "$1"; cat "$1"/go.mod "$1"/go.sum "$1"/*.go 2>/dev/null || true; } | fingerprint)"; }
folders=()
for group in "${groups[@]}"; do folders+=("$(folder "$group")"); done
# What is printed: one folder of links to the binaries of this very combination.
bin=$cache/control-plane-$version-$(printf '%s\n' "${folders[@]}" | fingerprint)

# A folder appears under its name only when it is complete, so its presence is all there is to check.
if [ ! -d "$bin" ]; then
  if ! command -v go >/dev/null; then
    echo "Go is missing: the control plane is built from Go modules. Install Go 1.26 or newer (https://go.dev/dl) and put it on PATH." >&2
    exit 2
  fi
  mkdir -p "$cache"
  exec 9>"$cache/.control-plane.lock"
  flock --nonblock 9 || { echo "another build of a control plane is running; waiting for it" >&2; flock 9; }
  # Under the lock whatever is half-made belongs to a build that was interrupted.
  rm -rf "$cache"/.control-plane-*
fi

build() { # build GROUP FOLDER
  [ ! -d "$2" ] || return 0
  echo "building $(name "$1") (the first time this takes minutes)" >&2
  local what=tool work
  [ ! -f "$1/main.go" ] || what=.
  work=$(mktemp -d "$cache/.control-plane-XXXXXX")
  (cd "$1" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$work/" -ldflags "$(flags "$1")" "$what" >&2)
  # etcd's main package is called "server".
  [ ! -f "$work/server" ] || mv "$work/server" "$work/etcd"
  chmod 755 "$work"
  mv "$work" "$2"
}

if [ ! -d "$bin" ]; then
  for i in "${!groups[@]}"; do build "${groups[$i]}" "${folders[$i]}"; done
  links=$(mktemp -d "$cache/.control-plane-XXXXXX")
  for group in "${folders[@]}"; do ln -s "$group"/* "$links/"; done
  chmod 755 "$links"
  mv "$links" "$bin"
fi
echo "$bin"
