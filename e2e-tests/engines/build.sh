#!/usr/bin/env bash
# Builds the programs of one engine from its Go module and prints their folder:
#   ./build.sh argo-cd
#   ./build.sh kubernetes/1.37   one of several versions, which share the files beside their folders
# As the control plane (../world/go/build.sh), the build lies outside the tree, in a folder that is named after its
# inputs. Any number of callers may run this at once.
set -euo pipefail
engine=${1:?usage: build.sh ENGINE}
cd "$(dirname "$0")/$engine"
cache=${CLAIM_ROLLOUT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/claim-rollout}
make=./make.sh shared=()
case $engine in */*) make=../make.sh shared=(../*.sh ../*.go) ;; esac
inputs=$({ find . -type f ! -name '*_test.go' | LC_ALL=C sort; printf '%s\n' "${shared[@]}"; } | xargs cat | sha256sum | cut -c1-16)
engine=${engine//\//-}
bin=$cache/engine-$engine-$inputs
if [ ! -d "$bin" ]; then
  if ! command -v go >/dev/null; then
    echo "Go is missing: $engine is built from Go modules. Install Go 1.26 or newer (https://go.dev/dl) and put it on PATH." >&2
    exit 2
  fi
  mkdir -p "$cache"
  exec 9>"$cache/.engine-$engine.lock"
  flock 9
fi
# A folder gets its name only when it is complete, so checking for the name is enough.
if [ ! -d "$bin" ]; then
  echo "building $engine (the first time this takes minutes)" >&2
  # Under the lock, every unfinished folder is left over from an interrupted build.
  rm -rf "$cache/.engine-$engine"-*
  work=$(mktemp -d "$cache/.engine-$engine-XXXXXX")
  export GOWORK=off CGO_ENABLED=0
  if [ -x "$make" ]; then
    "$make" "$work" >&2
  else
    go build -trimpath -buildvcs=false -o "$work/" -ldflags "-s -w" ./... >&2
  fi
  chmod 755 "$work"
  mv "$work" "$bin"
fi
echo "$bin"
