//! The admission table, answered by policy.wasm and by the native code alike.

use crate::offline::table;
use crate::world::policy_host::shared_policy;
use crate::world::policy_host::{Capabilities, run};
use crate::world::recorded::Recorded;

#[test]
fn admission_table_guest_and_native_answer_alike() -> anyhow::Result<()> {
    let module = shared_policy()?;
    table::check(Some(&|payload, objects| {
        let host = objects.map_or_else(Capabilities::none, |objects| Recorded(objects.to_vec()).host());
        run(&module, payload, host)
    }))?;
    Ok(())
}
