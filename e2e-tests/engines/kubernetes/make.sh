#!/usr/bin/env bash
# Builds the tests of Kubernetes of one version, whose folder is the current one, and the program that runs them.
set -euo pipefail
flags=(-trimpath -buildvcs=false -ldflags "-s -w")
go build "${flags[@]}" -o "$1/ginkgo" github.com/onsi/ginkgo/v2/ginkgo
go test -c -vet=off "${flags[@]}" -o "$1/e2e.test" ../e2e_test.go
