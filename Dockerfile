# The controller and the commands, for deploy/controller/deployment.yaml: docker build -t
# ghcr.io/claim-rollout/claim-rollout:0.1.0 .
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release --bin claim-rollout && cp target/release/claim-rollout /claim-rollout

# Debian's C library and CA certificates; no shell, no package manager. A test checks that the binary needs nothing
# else.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /claim-rollout /claim-rollout
USER 65532:65532
ENTRYPOINT ["/claim-rollout"]
