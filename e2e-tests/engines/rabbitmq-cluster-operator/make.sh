#!/usr/bin/env bash
# Called by ../build.sh: builds the operator into a folder, with its CustomResourceDefinition and its roles.
set -euo pipefail
go build -trimpath -buildvcs=false -o "$1/" -ldflags "-s -w" tool
sources=$(go list -m -f '{{.Dir}}' github.com/rabbitmq/cluster-operator/v2)
mkdir "$1/crds"
cp "$sources"/config/crd/bases/*.yaml "$1/crds/"
cp "$sources"/config/rbac/role.yaml "$1/cluster-role.yaml"
cp "$sources"/config/rbac/leader_election_role.yaml "$1/role.yaml"
