#!/usr/bin/env bash
# Builds the control plane of one Kubernetes minor version from Go modules and prints the folder of the binaries:
#   ./build.sh 1.37
# The build lies outside the tree, in a folder that is named after its inputs. A second checkout or another version
# never builds the same thing again and never overwrites another build. Any number of callers may run this at once.
set -euo pipefail
minor=${1:?usage: build.sh MAJOR.MINOR}
here=$(cd "$(dirname "$0")" && pwd)
cache=${CLAIM_ROLLOUT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/claim-rollout}
kubernetes=$here/kubernetes/$minor
if [ ! -f "$kubernetes/go.mod" ]; then
  echo "Kubernetes $minor is not pinned here; pinned are: $(ls "$here/kubernetes" | tr '\n' ' ')" >&2
  echo "To add it: e2e-tests/world/go/pin-kubernetes.sh $minor.PATCH" >&2
  exit 2
fi
version=$(sed -n 's#^.*k8s.io/kubernetes v\([^ ]*\).*#\1#p' "$kubernetes/go.mod" | head -1)

# Linked into the programs of Kubernetes. Without these, the programs and their clients call themselves v0.0.0.
stamp=""
rest=${version#*.}
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  stamp+=" -X $package.gitVersion=v$version -X $package.gitMajor=${version%%.*} -X $package.gitMinor=${rest%%.*}"
done

# The groups are separate modules because their dependencies conflict. The folder of a group is named after all of its
# inputs.
groups=("$kubernetes" "$here"/parts/*)
# The parts that also compile with the dependencies of this Kubernetes version, one per line: shared packages then
# compile once. Kubernetes itself is built from the same versions either way.
beside=()
[ ! -f "$kubernetes/beside" ] || mapfile -t beside <"$kubernetes/beside"
name() { if [ "$1" = "$kubernetes" ]; then echo "kubernetes-$version"; else basename "$1"; fi; }
flags() { if [ "$1" = "$kubernetes" ]; then echo "-s -w$stamp"; else echo "-s -w"; fi; }
fingerprint() { sha256sum | cut -c1-16; }
is_beside() { [ ${#beside[@]} -gt 0 ] && { [ "$1" = "$kubernetes" ] || [[ " ${beside[*]} " = *" $(basename "$1") "* ]]; }; }
modules() { if is_beside "$1"; then cat "$kubernetes/go.mod" "$kubernetes/beside"; fi; }
folder() { echo "$cache/$(name "$1")-$({ flags "$1"; modules "$1"; cat "$1"/go.mod "$1"/go.sum "$1"/*.go 2>/dev/null || true; } | fingerprint)"; }
folders=()
for group in "${groups[@]}"; do folders+=("$(folder "$group")"); done
# The output: one folder of links to the binaries of this combination.
bin=$cache/control-plane-$version-$(printf '%s\n' "${folders[@]}" | fingerprint)

# A folder gets its name only when it is complete, so checking for the name is enough.
if [ ! -d "$bin" ]; then
  if ! command -v go >/dev/null; then
    echo "Go is missing: the control plane is built from Go modules. Install Go 1.26 or newer (https://go.dev/dl) and put it on PATH." >&2
    exit 2
  fi
  mkdir -p "$cache"
  exec 9>"$cache/.control-plane.lock"
  flock --nonblock 9 || { echo "another build of a control plane is running; waiting for it" >&2; flock 9; }
  # Under the lock, every unfinished folder is left over from an interrupted build.
  rm -rf "$cache"/.control-plane-*
fi

workspace=""
work_together() { # a Go workspace of Kubernetes and what is beside it, every dependency held at Kubernetes' own version
  workspace=$(mktemp -d "$cache/.control-plane-XXXXXX")
  {
    printf 'go 1.26.0\nuse (\n\t%s\n' "$kubernetes"
    printf '\t%s\n' "${beside[@]/#/$here/parts/}"
    printf ')\nreplace (\n'
    # The go.mod pins those that it replaces.
    awk '/^replace \(/ { replaces = 1 } /^\)/ { replaces = 0 } replaces && $2 == "=>" { print $1 }' \
      "$kubernetes/go.mod" >"$workspace/replaced"
    awk 'NR == FNR { replaced[$1]; next } /^require \(/ { requires = 1; next } /^\)/ { requires = 0 }
      requires && $1 != "k8s.io/kubernetes" && !($1 in replaced) { print "\t" $1 " => " $1 " " $2 }' \
      "$workspace/replaced" "$kubernetes/go.mod"
    echo ')'
  } >"$workspace/go.work"
}

build() { # build GROUP FOLDER
  [ ! -d "$2" ] || return 0
  echo "building $(name "$1") (the first time this takes minutes)" >&2
  local what=tool work together=off
  [ ! -f "$1/main.go" ] || what=.
  if is_beside "$1"; then
    [ -n "$workspace" ] || work_together
    together=$workspace/go.work
    # In a workspace, "tool" means the tools of all of its modules.
    [ "$what" = . ] || what=$(sed -n '/^tool (/,/^)/{s/^\t//p;}; s/^tool \([^(].*\)$/\1/p' "$1/go.mod")
  fi
  work=$(mktemp -d "$cache/.control-plane-XXXXXX")
  # shellcheck disable=SC2086  # a list of packages
  (cd "$1" && GOWORK=$together CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$work/" -ldflags "$(flags "$1")" $what >&2)
  # etcd's main package is called "server".
  [ ! -f "$work/server" ] || mv "$work/server" "$work/etcd"
  chmod 755 "$work"
  mv "$work" "$2"
}

if [ ! -d "$bin" ]; then
  for i in "${!groups[@]}"; do build "${groups[$i]}" "${folders[$i]}"; done
  [ -z "$workspace" ] || rm -rf "$workspace"
  links=$(mktemp -d "$cache/.control-plane-XXXXXX")
  for group in "${folders[@]}"; do ln -s "$group"/* "$links/"; done
  chmod 755 "$links"
  mv "$links" "$bin"
fi
echo "$bin"
