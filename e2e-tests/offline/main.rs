//! The tests that need neither a control plane nor a wasm engine: `make check` runs them.

mod audit_scanner;
mod chart_values;
mod documents;
mod kwctl;
mod reviews_hashed;
mod rings;
mod rust;
mod statements;
mod table;
mod witnesses;
#[path = "../world"]
mod world {
    pub(crate) mod document;
    pub(crate) mod recorded;
    pub(crate) mod repository;
    pub(crate) mod reviews_stored;
    pub(crate) mod sdk;
    pub(crate) mod session;
}

#[test]
fn admission_table_native_answers_as_the_rules() -> anyhow::Result<()> {
    let reasons = table::check(None)?;
    let is_listed = world::document::text("docs/dev/guarantees.md")?.contains(&reasons);
    anyhow::ensure!(
        is_listed,
        "docs/dev/guarantees.md: expected each reason with its first case:\n{reasons}"
    );
    Ok(())
}
