# `make` lists all targets. Each target installs its tools where possible; otherwise it reports what is missing and how
# to install it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The parts of `test` share a build folder. In parallel they would wait for each other and mix their output.
.NOTPARALLEL:

# The Kubernetes minor version of the end-to-end tests
K8S ?= 1.37
# All of them: a folder pins each
MINORS ?= $(notdir $(sort $(wildcard e2e-tests/world/go/kubernetes/*)))
# The minor version before an upgrade to K8S
FROM ?= 1.36
# What the nightly ring consists of. The folders of e2e-tests/nightly are parts of every-minor, or have a target.
NIGHTLY := every-minor upgrade upstream engines wapc release deep fuzz scale mutants page
PARTS ?= $(NIGHTLY)
ALL_PARTS = $(sort $(NIGHTLY) $(filter-out mod,$(basename $(notdir $(wildcard e2e-tests/nightly/*)))))
# Tests and benchmarks load this module, so that they test the one that is released.
CLAIM_ROLLOUT_POLICY := $(CURDIR)/policy.wasm
export K8S CLAIM_ROLLOUT_POLICY
# A multiplier for the number of schedules of the simulation
TIMES ?= 1
# The schedule of `story`
SEED ?= 1
# The first schedule of `sim` and `deep`, to continue a run that stopped there
FIRST ?=

# The files for mutation tests
FILES ?= src/templates/** src/claims/** src/admission/** src/gate/** src/rollout/** src/replace/**

# The size limit of what wasm-opt returns: each policy-server compiles the module and keeps it in memory.
MOST_BYTES := 283000

CARGO ?= cargo
# Where cargo is too old, a toolchain of rustup beside it.
ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
RUST := $(shell CARGO='$(CARGO)' hack/rust)
RUST_STATUS := $(.SHELLSTATUS)
ifneq ($(RUST),)
export RUSTUP_TOOLCHAIN := $(RUST)
endif
endif
# Lints during the build: a separate `cargo clippy` would check every dependency again, which takes minutes.
LINTED := CLIPPY_ARGS='-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__' RUSTC_WORKSPACE_WRAPPER=clippy-driver $(CARGO)
# One selection for all steps of the quick loop, so that each file is compiled once.
QUICK := -p claim-rollout -p e2e-tests --no-default-features --features claim-rollout/default
WASM := hack/cargo-wasm
# Only the cdylib: with an rlib, link-time optimisation removes less code.
WASM_BUILD := $(WASM) rustc --lib --profile policy --crate-type cdylib
SDK_GUEST := benches/sdk-guest
# Packages with a lock file of their own: what they need gets into nothing that ships.
OTHER_PACKAGES := benches/Cargo.toml $(SDK_GUEST)/Cargo.toml fuzz/Cargo.toml hack/oci/Cargo.toml
# The target folder of cargo, which is a setting of the user
TARGET_FOLDER = $(shell $(CARGO) metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
# The platforms of a release. Those of Linux are also those of the image, and are built here; hack/binary builds the rest.
PLATFORMS ?= linux-amd64,linux-arm64
LINUX = $(filter linux-%,$(subst $(comma), ,$(PLATFORMS)))
comma := ,
# Files that are made from the code
PACKAGER := run --quiet --features packager --bin packager --
# The plugin that runs here writes its completion.
HERE := linux-$(if $(filter aarch64 arm64,$(shell uname -m)),arm64,amd64)
OCI := $(CARGO) run --quiet --manifest-path hack/oci/Cargo.toml --

.PHONY: help
help: ## This list
	@echo 'make TARGET [K8S=$(K8S)]'
	@sed -nE 's/^([a-z0-9.-]+):.*## (.*)$$/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26

.PHONY: needs-cargo
needs-cargo:
	@exit $(RUST_STATUS)

# Always run cargo, which knows whether the module is up to date; the copy keeps its date if nothing changed.
.PHONY: FORCE
policy.wasm: needs-cargo FORCE ## The policy with its metadata, ready for policy-server
	$(WASM_BUILD)
	@built="$$($(WASM) --target-dir)/wasm32-unknown-unknown/policy/claim_rollout.wasm"; \
	  if grep -qa __wbindgen "$$built"; then echo 'wasm-bindgen got into the policy: no host of waPC would load it.' >&2; exit 1; fi; \
	  hack/wasm-opt "$$built" "$$built.small" $(MOST_BYTES); \
	  cmp -s "$$built.small" $@ || cp "$$built.small" $@

annotated-policy.wasm: needs-cargo FORCE ## The policy with metadata from kwctl (policy.wasm has its own)
	@command -v kwctl >/dev/null || { echo 'kwctl is missing: https://github.com/kubewarden/kwctl/releases.' \
	  'It is not needed: policy.wasm carries the same metadata.' >&2; exit 2; }
	CLAIM_ROLLOUT_METADATA=none $(WASM_BUILD)
	built="$$($(WASM) --target-dir)/wasm32-unknown-unknown/policy/claim_rollout.wasm"; hack/wasm-opt "$$built" "$$built.small"; \
	  kwctl annotate -m policy-metadata.yml -u policy-readme.md -o $@ "$$built.small"

.PHONY: check
check: lint ## The quick ring: format, lints, unit tests, the admission table, the documents; a minute
	$(LINTED) test $(QUICK) --lib --bins --test offline

# The control plane is built in parallel. Together, both parts take little longer than the slower one.
.PHONY: test
test: needs-cargo ## The push ring, from a clean clone; CI runs this for each push. About 12 minutes once everything is built
	@log=$$(mktemp); $(MAKE) --no-print-directory control-plane >$$log 2>&1 & builder=$$!; \
	  trap 'kill $$builder 2>/dev/null || true; rm -f $$log' EXIT; \
	  FUZZ_SECONDS=$${FUZZ_SECONDS:-10} $(MAKE) --no-print-directory check sim wasm-test policy.wasm fuzz; \
	  wait $$builder || { cat $$log >&2; exit 2; }; \
	  $(MAKE) --no-print-directory e2e oci-test

# Makes a target for each of these words, then prints how each ended. One that fails does not stop the others.
define each
@failed='' times=''; \
  for one in $(1); do \
    begin=$$SECONDS result=passed; \
    $(MAKE) --no-print-directory $(2) || { result=FAILED; failed+=" $$one"; }; \
    times+="$$one: $$result in $$(( (SECONDS - begin + 59) / 60 )) minutes"$$'\n'; \
  done; \
  printf '%s' "$$times"; \
  [ -z "$$failed" ] || { echo "failed:$$failed. Again: make $@ $(3)='$${failed# }'" >&2; exit 1; }
endef

.PHONY: nightly
nightly: ## The nightly ring, or PARTS="owners scale" of it: hours. The parts are in CONTRIBUTING.md
	$(call each,$(PARTS),nightly-$$one,PARTS)

# A module of e2e-tests/nightly
nightly-%: policy.wasm control-plane engine-programs
	@[ -e e2e-tests/nightly/$* ] || [ -e e2e-tests/nightly/$*.rs ] || { echo 'expected one of the parts $(ALL_PARTS), but found $*' >&2; exit 2; }
	$(LINTED) build --bin claim-rollout
	$(LINTED) test -p e2e-tests --test e2e -- nightly::$*::

.PHONY: nightly-every-minor nightly-deep nightly-engines nightly-fuzz nightly-kubewarden nightly-mutants nightly-page nightly-release nightly-scale nightly-upgrade nightly-upstream nightly-wapc
# The end-to-end tests of both rings
nightly-every-minor:
	$(call each,$(MINORS),e2e-all K8S=$$one,MINORS)
nightly-deep: deep
nightly-engines: engines
nightly-fuzz: export FUZZ_SECONDS ?= 600
nightly-fuzz: fuzz
nightly-kubewarden: kubewarden
nightly-mutants: mutants
nightly-page: page-test
nightly-release: export PROFILE ?= dev
nightly-release: release-dry-run
nightly-scale: scale
nightly-upgrade: upgrade
nightly-upstream: upstream
nightly-wapc: wapc

.PHONY: wasm-test
wasm-test: needs-cargo ## The tests of the wasm code, in Node
	CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER="$$(hack/wasm-bindgen-runner)" NODE_PATH=$(CURDIR)/hack/node $(WASM) test --lib

.PHONY: sim
sim: needs-cargo ## Simulate crashes, stale views and other faults in a model of a cluster; TIMES=1
	$(CARGO) run --quiet --profile sim --no-default-features --features sim-run --bin sim -- $(TIMES) $(FIRST)

.PHONY: story
story: needs-cargo ## Print one schedule of the simulation, line by line: SEED=1 WORKLOAD=grow PLANTED=ShrinksToTemplate
	@$(CARGO) run --quiet --profile sim --no-default-features --features sim-run --bin sim -- --seed $(SEED) \
	  $(if $(WORKLOAD),--workload $(WORKLOAD)) $(if $(PLANTED),--planted $(PLANTED))

.PHONY: deep
deep: ## `sim`, fifty times as long and with pairs of faults; FIRST=SEED continues with that schedule
	@$(MAKE) --no-print-directory sim TIMES=50

# A shared target folder: the dependencies are built once for all copies of the tree.
.PHONY: mutants
mutants: needs-cargo ## Mutate the decisions; a test must fail for each mutation. Hours, or minutes with FILES=src/rollout/plan.rs
	@$(CARGO) mutants --version >/dev/null 2>&1 || { echo 'cargo-mutants is missing: cargo install --locked cargo-mutants' >&2; exit 2; }
	CARGO_TARGET_DIR=$(CURDIR)/target CARGO_PROFILE_DEV_DEBUG=none PROPTEST_CASES=32 \
	  $(CARGO) mutants --output target $(foreach file,$(FILES),--file '$(file)')

.PHONY: e2e
e2e: policy.wasm control-plane ## The end-to-end tests of the push ring against a real control plane, K8S=1.33 or newer
	$(LINTED) build --bin claim-rollout
	$(LINTED) test -p e2e-tests --test e2e -- --skip nightly::

.PHONY: e2e-all
e2e-all: policy.wasm control-plane engine-programs ## Those of both rings, but for the parts that have a target of their own: half an hour
	$(LINTED) build --bin claim-rollout
	$(LINTED) build -p e2e-tests --example playground
	$(LINTED) test -p e2e-tests --test e2e

.PHONY: upgrade
upgrade: policy.wasm control-plane ## Replace the control plane of FROM=1.36 by that of K8S=1.37 in the middle of rollouts
	e2e-tests/world/go/build.sh $(FROM)
	$(LINTED) build --bin claim-rollout
	FROM=$(FROM) $(LINTED) test -p e2e-tests --test e2e -- --ignored --nocapture nightly::upgrade::

ENGINES = argo-cd flux kube-state-metrics

.PHONY: engines
engines: ## Run the examples for Argo CD, Flux and kube-state-metrics in the code of these tools (minutes the first time)
	for engine in $(ENGINES); do (cd e2e-tests/engines/$$engine && go test ./...) || exit; done

.PHONY: wapc
wapc: policy.wasm ## Run the policy in the waPC host for Node, with every recorded review (installed the first time)
	modules="$$(hack/wapc)"; NODE_PATH="$$modules" $(LINTED) test -p e2e-tests --test e2e -- --ignored --nocapture nightly::wapc::

.PHONY: kubewarden-programs
kubewarden-programs:
	hack/kubewarden

.PHONY: kubewarden
kubewarden: kubewarden-programs policy.wasm control-plane ## Run the policy in kwctl and in a policy-server, where they are installed: e2e.bats, every recorded review, a rollout
	bats e2e.bats
	$(LINTED) build --bin claim-rollout
	$(LINTED) test -p e2e-tests --test e2e -- --ignored --nocapture nightly::kubewarden::

.PHONY: upstream
upstream: policy.wasm control-plane ## Run Kubernetes' own tests of StatefulSets and volumes without claim-rollout and with it, K8S=1.33 or 1.37 (5 minutes, and minutes more the first time)
	e2e-tests/engines/build.sh kubernetes/$(K8S)
	$(LINTED) build --bin claim-rollout
	$(LINTED) test -p e2e-tests --test e2e -- --ignored --nocapture nightly::upstream::

.PHONY: scale
scale: policy.wasm control-plane ## 1,000 StatefulSets at once compared with the bare writes, 10,000 idle ones, 1,000 namespaces, a webhook that is down: 35 minutes on an idle machine
	$(CARGO) build --profile bench --bin claim-rollout
	$(CARGO) test -p e2e-tests --profile bench --test e2e -- --ignored --nocapture --test-threads=1 nightly::scale::

.PHONY: fuzz
fuzz: needs-cargo ## Fuzz all targets, FUZZ_SECONDS=60 for each
	@hack/fuzz

.PHONY: control-plane
control-plane: ## Build the control plane of the end-to-end tests (minutes the first time, then cached)
	e2e-tests/world/go/build.sh $(K8S)

.PHONY: engine-programs
engine-programs: ## Build the programs of Argo CD, Flux, OpenTofu, the Prometheus operator, the RabbitMQ cluster operator and OpenKruise for the end-to-end tests (minutes the first time, then cached)
	for engine in argo-cd flux opentofu prometheus-operator rabbitmq-cluster-operator openkruise; do e2e-tests/engines/build.sh $$engine || exit; done

.PHONY: push
push: policy.wasm ## Push the policy as Kubewarden pulls it, REF=registry.example.com/claim-rollout/policy:v0.1.0
	@[ -n "$(REF)" ] || { echo 'expected REF=, such as REF=registry.example.com/claim-rollout/policy:v0.1.0' >&2; exit 2; }
	@$(OCI) policy policy.wasm --metadata policy-metadata.yml $(REF)

.PHONY: push-image
push-image: needs-cargo ## Push the image of the controller, without a container engine, REF=registry.example.com/claim-rollout/claim-rollout:0.1.0
	@[ -n "$(REF)" ] || { echo 'expected REF=, such as REF=registry.example.com/claim-rollout/claim-rollout:0.1.0' >&2; exit 2; }
	@for platform in $(LINUX); do hack/binary $$platform >/dev/null || exit; done
	@$(OCI) image $(REF) $(LINUX:%=dist/bin/%/claim-rollout)

.PHONY: check-version
check-version: needs-cargo ## Check that all files state the same version, and TAG=v0.1.0 too
	@$(OCI) check-version $(if $(TAG),--tag $(TAG))

.PHONY: release-files
release-files: policy.wasm ## Write what a release consists of to dist/release and dist/oci, from the binaries in dist/bin
	rm -rf dist/man && $(CARGO) $(PACKAGER) man dist/man
	helm=$$(command -v helm || echo "$$(e2e-tests/world/go/build.sh $(K8S))/helm"); \
	  $(OCI) build --platforms $(PLATFORMS) --plugin dist/bin/$(HERE)/claim-rollout --man dist/man --helm "$$helm"

.PHONY: release
release: needs-cargo ## Build a release in dist/ and push nothing, PLATFORMS=linux-amd64,linux-arm64; PROFILE=dev is quick
	@for platform in $(LINUX); do hack/binary $$platform || exit; done
	@$(MAKE) --no-print-directory release-files

.PHONY: release-dry-run
release-dry-run: control-plane release ## Build a release, push it to a registry on this machine, and install it from there
	hack/release-dry-run

.PHONY: oci-test
oci-test: policy.wasm control-plane ## The tests of hack/oci: a small release, pushed to a registry on this machine
	$(LINTED) build --quiet --bin claim-rollout
	rm -rf "$(TARGET_FOLDER)/man" && $(LINTED) $(PACKAGER) man "$(TARGET_FOLDER)/man"
	MAN="$(TARGET_FOLDER)/man" CRANE="$$(hack/crane/build.sh)" HELM="$$(e2e-tests/world/go/build.sh $(K8S))/helm" PLUGIN="$(TARGET_FOLDER)/debug/claim-rollout" \
	  $(CARGO) test --quiet --manifest-path hack/oci/Cargo.toml

.PHONY: playground
playground: policy.wasm control-plane
	@$(CARGO) build --bin claim-rollout
	@$(CARGO) build -p e2e-tests --example playground

.PHONY: cluster
cluster: playground ## A control plane with claim-rollout, to try things out
	@$(CARGO) run --quiet -p e2e-tests --example playground -- up

.PHONY: demo
demo: playground ## See a StatefulSet grow its claims; KEEP=1 leaves the cluster running
	@$(CARGO) run --quiet -p e2e-tests --example playground -- demo $(if $(KEEP),--keep)

.PHONY: bench
bench: linear ## Compare the policy with one made with the SDK and with other engines, and with an earlier build (BEFORE=old.wasm)
	cd $(SDK_GUEST) && ../../$(WASM) build --release
	guest=$$(cd $(SDK_GUEST) && ../../$(WASM) --target-dir); [ "$${guest#/}" != "$$guest" ] || guest=$(CURDIR)/$(SDK_GUEST)/$$guest; \
	  hack/wasm-opt $$guest/wasm32-unknown-unknown/release/sdk_guest.wasm $$guest/sdk_guest.wasm; \
	  CLAIM_ROLLOUT_SDK_GUEST=$$guest/sdk_guest.wasm MOST_BYTES=$(MOST_BYTES) $(if $(BEFORE),CLAIM_ROLLOUT_BEFORE=$(abspath $(BEFORE))) \
	  $(CARGO) run --quiet --release --manifest-path benches/Cargo.toml --bin bench

.PHONY: linear
linear: policy.wasm ## Check that the time for a request is linear in its length: a guest that needs more instructions for each byte is an error
	$(CARGO) run --quiet --release --manifest-path benches/Cargo.toml --bin linear

.PHONY: crd
crd: needs-cargo ## Generate deploy/crd.yaml, after a change of ClaimRollout
	$(CARGO) $(PACKAGER) crd > deploy/crd.yaml.new
	mv deploy/crd.yaml.new deploy/crd.yaml
	cp deploy/crd.yaml charts/claim-rollout/files/crd.yaml

MDBOOK := 0.5.4
MDBOOK_ROOT = $(or $(CLAIM_ROLLOUT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/claim-rollout)/mdbook-$(MDBOOK)

.PHONY: docs
docs: policy.wasm ## Build the documentation as a site in target/docs/book, with mdBook (installed the first time) and npm, and check its links
	hack/docs
	hack/page/build target/docs/src/ask
	[ -x "$(MDBOOK_ROOT)/bin/mdbook" ] || \
	  $(CARGO) install --locked --version $(MDBOOK) --no-default-features --features search --root "$(MDBOOK_ROOT)" mdbook
	"$(MDBOOK_ROOT)/bin/mdbook" build
	node hack/page/links.cjs target/docs/book

.PHONY: page-test
page-test: policy.wasm ## Try the page docs/ask in Chromium (CHROMIUM=/usr/bin/chromium), with cases of the admission table
	hack/docs
	hack/page/build target/docs/src/ask
	node hack/page/test.cjs

.PHONY: reference
reference: needs-cargo ## Generate docs/reference.md, after a change of annotations, reasons, Events or ClaimRollout
	$(CARGO) $(PACKAGER) reference > docs/reference.md.new
	mv docs/reference.md.new docs/reference.md

.PHONY: artifacthub
artifacthub: needs-cargo ## Generate artifacthub-pkg.yml, after a change of policy-metadata.yml or policy-readme.md
	$(CARGO) $(PACKAGER) artifacthub > artifacthub-pkg.yml.new
	mv artifacthub-pkg.yml.new artifacthub-pkg.yml

.PHONY: manifests
manifests: ## Render install-kubewarden.yaml and install-builtin.yaml to dist/, for kubectl apply
	HELM=$$(command -v helm || echo "$$(e2e-tests/world/go/build.sh $(K8S))/helm") hack/manifests dist

.PHONY: chart-docs
chart-docs: needs-cargo ## Generate the README of the chart and the settings in its schema, after a change of values.yaml or policy-settings.yml
	hack/chart-docs
	CLAIM_ROLLOUT_WRITE=1 $(CARGO) test --quiet -p claim-rollout --lib chart_schema_has_the_type_of_each_setting

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
	$(LINTED) build $(QUICK) --all-targets
	$(WASM) clippy --lib -- -D warnings

# Each feature must compile alone, and the documentation must have no dead links.
.PHONY: features
features: needs-cargo ## Check each feature alone, and the documentation
	for features in "" controller webhook sim sim-run cli packager; do \
	  $(LINTED) check --quiet --lib --no-default-features --features "$$features" || exit; \
	done
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --quiet --no-deps --lib

.PHONY: deny
deny: needs-cargo ## Licences, advisories and sources of all dependencies
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo 'cargo-deny is missing: cargo install --locked cargo-deny' >&2; exit 2; }
	for manifest in Cargo.toml $(OTHER_PACKAGES); do $(CARGO) deny --config deny.toml --manifest-path $$manifest check || exit; done

.PHONY: clean
clean: ## Remove all build output; the cache of the control plane outside of the tree stays
	rm -rf target dist hack/oci/target benches/target $(SDK_GUEST)/target fuzz/target fuzz/corpus policy.wasm annotated-policy.wasm
