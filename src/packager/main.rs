//! Writes what packages and pages consist of. The Makefile runs it.

fn main() -> anyhow::Result<()> {
    claim_rollout::packager::main()
}
