# `make` lists what there is to do. Each target installs what it needs where it can; otherwise it says what is missing
# and how to get it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The parts of `test` share a build folder: side by side they would only wait for each other, and mix their output.
.NOTPARALLEL:

# The Kubernetes minor that the end-to-end tests run against
K8S ?= 1.37
# Tests and benchmarks load the module from here, so that they judge the one that ships.
CLAIM_ROLLOUT_POLICY := $(CURDIR)/policy.wasm
export K8S CLAIM_ROLLOUT_POLICY
# How many times as much the simulation tries as in `test`
TIMES ?= 1
# The schedule that is told
SEED ?= 1
# The schedule that it goes on with, after a run that ended there
FIRST ?=

# What is mutated
FILES ?= src/templates/** src/claims/compatible.rs src/admission/** src/rollout/**

# The largest module: each policy-server compiles and keeps it.
MOST_BYTES := 230000

CARGO ?= cargo
# Lints while it compiles: `cargo clippy` beside `cargo test` would look at every dependency twice, which takes minutes.
LINTED := CLIPPY_ARGS='-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__' RUSTC_WORKSPACE_WRAPPER=clippy-driver $(CARGO)
WASM := hack/cargo-wasm
# The module alone: beside an rlib it would be linked without what link-time optimisation takes out of it.
WASM_BUILD := $(WASM) rustc --lib --profile policy --crate-type cdylib
SDK_GUEST := benches/sdk-guest
# Packages with a lock file of their own: what they need gets into nothing that ships.
OTHER_PACKAGES := benches/Cargo.toml $(SDK_GUEST)/Cargo.toml fuzz/Cargo.toml hack/oci/Cargo.toml
# Where cargo builds: a setting of its user.
TARGET_FOLDER = $(shell $(CARGO) metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
PLATFORM ?= linux-amd64
OCI := $(CARGO) run --quiet --manifest-path hack/oci/Cargo.toml --

.PHONY: help
help: ## This list
	@echo 'make TARGET [K8S=$(K8S)]'
	@sed -nE 's/^([a-z0-9.-]+):.*## (.*)$$/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26

.PHONY: needs-cargo
needs-cargo:
	@command -v $(CARGO) >/dev/null || \
	  { echo 'Rust is missing: install rustup (https://rustup.rs), or rustc and cargo of the version in Cargo.toml or newer.' >&2; exit 2; }

# Whether the module is up to date is for cargo to say; the copy keeps its date if nothing changed.
.PHONY: FORCE
policy.wasm: needs-cargo FORCE ## The policy, with its metadata inside: ready for policy-server
	$(WASM_BUILD)
	@built="$$($(WASM) --target-dir)/wasm32-unknown-unknown/policy/claim_rollout.wasm"; \
	  if grep -qa __wbindgen "$$built"; then echo 'wasm-bindgen got into the policy: no host of waPC would load it.' >&2; exit 1; fi; \
	  hack/wasm-opt "$$built" "$$built.small"; \
	  cmp -s "$$built.small" $@ || cp "$$built.small" $@
	@size=$$(wc -c <$@); [ "$$size" -le $(MOST_BYTES) ] || \
	  { echo "policy.wasm has $$size bytes, expected at most $(MOST_BYTES): what has made it larger?" >&2; exit 1; }

annotated-policy.wasm: needs-cargo FORCE ## The policy, annotated by kwctl instead (policy.wasm already is)
	@command -v kwctl >/dev/null || { echo 'kwctl is missing: https://github.com/kubewarden/kwctl/releases.' \
	  'It is not needed: policy.wasm carries the same metadata.' >&2; exit 2; }
	CLAIM_ROLLOUT_METADATA=none $(WASM_BUILD)
	built="$$($(WASM) --target-dir)/wasm32-unknown-unknown/policy/claim_rollout.wasm"; hack/wasm-opt "$$built" "$$built.small"; \
	  kwctl annotate -m policy-metadata.yml $(if $(wildcard README.md),-u README.md) -o $@ "$$built.small"

.PHONY: check
check: lint ## The quick loop: format, lints, unit tests, the admission table
	$(LINTED) test --lib --bins
	$(LINTED) test -p e2e-tests --no-default-features --test offline

# The control plane is compiled beside the rest: together they take little longer than the slower of the two.
.PHONY: test
test: needs-cargo ## Everything, from a clean clone: what CI runs
	@log=$$(mktemp); $(MAKE) --no-print-directory control-plane >$$log 2>&1 & builder=$$!; \
	  trap 'kill $$builder 2>/dev/null || true; rm -f $$log' EXIT; \
	  $(MAKE) --no-print-directory check sim wasm-test policy.wasm fuzz; \
	  wait $$builder || { cat $$log >&2; exit 2; }; \
	  $(MAKE) --no-print-directory e2e oci-test

.PHONY: wasm-test
wasm-test: needs-cargo ## The tests of the guest's own code, in Node
	CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER="$$(hack/wasm-bindgen-runner)" NODE_PATH=$(CURDIR)/hack/node $(WASM) test --lib

.PHONY: sim
sim: needs-cargo ## Crashes, stale views and everything else that may go wrong, in a model of a cluster; TIMES=1
	$(CARGO) run --quiet --profile sim --no-default-features --features sim-run --bin sim -- $(TIMES) $(FIRST)

.PHONY: story
story: needs-cargo ## One schedule of the simulation, told line by line: SEED=1 WORKLOAD=grow PLANTED=ShrinksToTemplate
	@$(CARGO) run --quiet --profile sim --no-default-features --features sim-run --bin sim -- --seed $(SEED) \
	  $(if $(WORKLOAD),--workload $(WORKLOAD)) $(if $(PLANTED),--planted $(PLANTED))

.PHONY: deep
deep: ## The same fifty times as long, with pairs of faults; FIRST=SEED goes on with that schedule
	@$(MAKE) --no-print-directory sim TIMES=50

# The dependencies that the tests have built already serve here as well, whatever copy of the tree is compiled.
.PHONY: mutants
mutants: needs-cargo ## Change the decisions in small ways and see a test fail each time: hours, or minutes with FILES=src/rollout/plan.rs
	@$(CARGO) mutants --version >/dev/null 2>&1 || { echo 'cargo-mutants is missing: cargo install --locked cargo-mutants' >&2; exit 2; }
	CARGO_TARGET_DIR=$(CURDIR)/target CARGO_PROFILE_DEV_DEBUG=none PROPTEST_CASES=32 \
	  $(CARGO) mutants --output target $(foreach file,$(FILES),--file '$(file)')

.PHONY: e2e
e2e: policy.wasm control-plane ## The end-to-end tests against a real control plane, K8S=1.33 or newer
	$(LINTED) build --bin claim-rollout
	$(LINTED) test -p e2e-tests --test e2e

.PHONY: scale
scale: policy.wasm control-plane ## 1,000 sets rolled at once beside the bare writes, 10,000 idle, 1,000 namespaces: a quarter of an hour, on a quiet machine
	$(CARGO) build --profile bench --bin claim-rollout
	$(CARGO) test -p e2e-tests --profile bench --test e2e -- --ignored --nocapture --test-threads=1 scale::

.PHONY: fuzz
fuzz: needs-cargo ## Inputs that nobody thought of, FUZZ_SECONDS=60 for each target
	@hack/fuzz

.PHONY: control-plane
control-plane: ## Build that control plane (minutes the first time, then cached)
	e2e-tests/cluster/go/build.sh $(K8S)

.PHONY: push
push: policy.wasm ## Push the policy as Kubewarden pulls it, REF=registry.example.com/claim-rollout/policy:v0.1.0
	@[ -n "$(REF)" ] || { echo 'expected REF=, such as REF=registry.example.com/claim-rollout/policy:v0.1.0' >&2; exit 2; }
	@$(OCI) policy policy.wasm --metadata policy-metadata.yml $(REF)

.PHONY: push-image
push-image: needs-cargo ## Push the image of the controller, made without a container engine, REF=registry.example.com/claim-rollout/claim-rollout:0.1.0
	@[ -n "$(REF)" ] || { echo 'expected REF=, such as REF=registry.example.com/claim-rollout/claim-rollout:0.1.0' >&2; exit 2; }
	$(CARGO) build --locked --release --bin claim-rollout
	@$(OCI) image "$(TARGET_FOLDER)/release/claim-rollout" $(REF)

.PHONY: oci-test
oci-test: policy.wasm ## Push both to a registry on this machine, and pull them again
	$(LINTED) build --quiet --bin claim-rollout
	hack/oci/test policy.wasm "$(TARGET_FOLDER)/debug/claim-rollout"

.PHONY: dist
dist: needs-cargo ## The plugin of kubectl as an archive in dist/, PLATFORM=linux-amd64
	$(CARGO) build --locked --release --bin claim-rollout
	hack/dist "$(TARGET_FOLDER)/release/claim-rollout" $(PLATFORM)

.PHONY: krew
krew: ## The manifest for krew of the archives in dist/, VERSION=v0.1.0
	hack/krew $(VERSION)

.PHONY: sbom
sbom: needs-cargo ## What is in the binary, as CycloneDX in dist/
	@$(CARGO) cyclonedx --version >/dev/null 2>&1 || { echo 'cargo-cyclonedx is missing: cargo install --locked cargo-cyclonedx' >&2; exit 2; }
	$(CARGO) cyclonedx --format json --describe binaries
	mkdir -p dist && mv claim-rollout_bin.cdx.json dist/claim-rollout.cdx.json && rm -f sim_bin.cdx.json claim_rollout_*.cdx.json

.PHONY: playground
playground: policy.wasm control-plane
	@$(CARGO) build --bin claim-rollout
	@$(CARGO) build -p e2e-tests --bin playground

.PHONY: cluster
cluster: playground ## A control plane with claim-rollout in it, to play with
	@$(CARGO) run --quiet -p e2e-tests --bin playground -- up

.PHONY: demo
demo: playground ## See a StatefulSet grow its claims; KEEP=1 leaves the cluster running
	@$(CARGO) run --quiet -p e2e-tests --bin playground -- demo $(if $(KEEP),--keep)

.PHONY: bench
bench: policy.wasm ## The policy beside one made with the SDK, and beside other engines: answers, speed, size
	cd $(SDK_GUEST) && ../../$(WASM) build --release
	guest=$$(cd $(SDK_GUEST) && ../../$(WASM) --target-dir); [ "$${guest#/}" != "$$guest" ] || guest=$(CURDIR)/$(SDK_GUEST)/$$guest; \
	  CLAIM_ROLLOUT_SDK_GUEST=$$guest/wasm32-unknown-unknown/release/sdk_guest.wasm \
	  $(CARGO) run --quiet --release --manifest-path benches/Cargo.toml --bin bench
	CLAIM_ROLLOUT_POLICY=$(CURDIR)/policy.wasm $(CARGO) run --quiet --release --manifest-path benches/Cargo.toml --bin linear

.PHONY: crd
crd: needs-cargo ## Write deploy/crd.yaml anew, after a change of ClaimRollout
	$(CARGO) run --quiet -- crd > deploy/crd.yaml.new
	mv deploy/crd.yaml.new deploy/crd.yaml
	cp deploy/crd.yaml charts/claim-rollout/files/crd.yaml

.PHONY: artifacthub
artifacthub: needs-cargo ## Write artifacthub-pkg.yml anew, after a change of policy-metadata.yml or questions-ui.yml
	$(CARGO) run --quiet -- artifacthub > artifacthub-pkg.yml.new
	mv artifacthub-pkg.yml.new artifacthub-pkg.yml

.PHONY: fmt
fmt: needs-cargo ## Format the code
	$(CARGO) fmt --all
	for manifest in $(OTHER_PACKAGES); do $(CARGO) fmt --manifest-path $$manifest || exit; done

.PHONY: lint
lint: needs-cargo ## Format and lints, native and wasm32
	$(CARGO) fmt --all --check
	for manifest in $(OTHER_PACKAGES); do $(CARGO) fmt --check --manifest-path $$manifest || exit; done
	hack/words
	@command -v clippy-driver >/dev/null || { echo 'clippy is missing: rustup component add clippy' >&2; exit 2; }
	$(LINTED) build --all-targets
	$(WASM) clippy --lib -- -D warnings

# Each feature alone must compile, and the documentation must have no dead link.
.PHONY: features
features: needs-cargo ## Each feature by itself, and the documentation without a warning
	for features in "" controller webhook sim sim-run cli; do \
	  $(LINTED) check --quiet --lib --no-default-features --features "$$features" || exit; \
	done
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --quiet --no-deps --lib

.PHONY: deny
deny: needs-cargo ## Licences, advisories and sources of all dependencies
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo 'cargo-deny is missing: cargo install --locked cargo-deny' >&2; exit 2; }
	for manifest in Cargo.toml $(OTHER_PACKAGES); do $(CARGO) deny --manifest-path $$manifest check --config deny.toml || exit; done

.PHONY: clean
clean: ## Remove what was built here; the control plane's cache outside the tree stays
	rm -rf target hack/oci/target benches/target $(SDK_GUEST)/target fuzz/target fuzz/corpus policy.wasm annotated-policy.wasm
