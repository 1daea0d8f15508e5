//! `claim-rollout doctor` on an installation: no finding while all is well, and one finding for a planted fault, which
//! disappears after its fix. The command reads the whole cluster, so the faults come one after the other.

mod documented;
mod examined;
mod installed;
mod replacing;
mod sets;

use examined::Examined;

use crate::world::runner::Report;

/// Runs these scenarios in order.
macro_rules! run_in_order {
    ($report:ident, $env:ident; $($file:ident :: $name:ident),* $(,)?) => {
        $($report.run_one(concat!(stringify!($file), "::", stringify!($name)), $file::$name(&mut $env)).await;)*
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_fault_has_one_finding_and_a_fix() -> anyhow::Result<()> {
    let mut report = Report::new();
    let mut env = Examined::build().await?;
    report.print("the cluster is up");
    run_in_order![report, env;
        installed::broken_parts_are_found_and_fixed,
        installed::unreachable_webhook_is_found,
        sets::annotations,
        sets::unexpandable_storage_class_is_found,
        sets::lagging_claim_is_found,
        replacing::journal_left_behind_is_found,
        documented::document_shows_doctor_output,
        installed::user_without_rights_gets_an_error,
    ];
    report.end()?;
    env.world.stop().await
}
