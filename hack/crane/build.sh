#!/usr/bin/env bash
# Prints the path of crane, a client for registries that is also a registry; builds it if it is missing. Releases are
# tried against it, and read by it: it shares no code with hack/oci.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${CLAIM_ROLLOUT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/claim-rollout}
home=$cache/crane-$(cat "$here"/go.* | sha256sum | cut -c1-16)
if [ ! -x "$home/crane" ]; then
  command -v go >/dev/null || { echo 'Go is missing: install Go 1.26 or newer (https://go.dev/dl)' >&2; exit 2; }
  echo 'building crane (once)' >&2
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/.crane-XXXXXX")
  (cd "$here" && GOWORK=off CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$work/" -ldflags '-s -w' tool >&2)
  mv -T "$work" "$home" 2>/dev/null || rm -rf "$work"
fi
echo "$home/crane"
