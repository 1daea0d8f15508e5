//! The tests that need neither a control plane nor a wasm engine: `make check` runs them.

mod audit_scanner;
mod chart_values;
mod document;
mod documents;
mod recorded;
mod repository;
mod table;

#[test]
fn admission_table_native_answers_as_the_rules() -> anyhow::Result<()> {
    table::check(None)
}
