//! The admission table, answered by policy.wasm and by the native code alike.

use crate::host_is_faithful::policy;
use crate::policy_host::{Capabilities, run};
use crate::recorded::Recorded;
use crate::table::{self, Cluster};

#[test]
fn admission_table_guest_and_native_answer_alike() -> anyhow::Result<()> {
    let module = policy();
    table::check(Some(&|payload, cluster| {
        let host = match cluster {
            Cluster::Of(objects) => Recorded(objects.clone()).host(),
            Cluster::NothingGranted => Capabilities::none(),
        };
        run(&module, payload, host)
    }))
}
