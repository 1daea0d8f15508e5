#!/usr/bin/env bash
# Called by ../build.sh: builds OpenTofu and two providers into a folder. Each has a module of its own, because they
# need different versions of the same libraries.
set -euo pipefail
for module in . kubernetes kubectl; do
  (cd "$module" && go build -trimpath -buildvcs=false -o "$1/" -ldflags "-s -w" tool)
done
