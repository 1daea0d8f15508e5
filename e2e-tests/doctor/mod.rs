//! `claim-rollout doctor` and `drift` on an installation: no finding while all is well, and one finding for each
//! planted fault, which disappears after its fix. Both commands read the whole cluster, so the faults come one after
//! the other.

mod documented;
mod drifts;
mod installed;
mod sets;
mod stage;

use stage::Stage;

use crate::play::Report;

/// Runs these scenarios in order.
macro_rules! play {
    ($report:ident, $stage:ident; $($file:ident :: $name:ident),* $(,)?) => {
        $($report.play_one(concat!(stringify!($file), "::", stringify!($name)), $file::$name(&mut $stage)).await;)*
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_fault_is_one_finding_and_heals() -> anyhow::Result<()> {
    let mut report = Report::new();
    let mut stage = Stage::build().await?;
    report.say("the cluster is up");
    play![report, stage;
        drifts::claims_that_differ_are_found,
        drifts::claims_that_are_not_there_or_anothers_are_found,
        drifts::what_is_staged_is_found,
        installed::the_definition,
        installed::how_the_policy_is_asked,
        installed::the_guard,
        installed::the_rights_of_the_controller,
        installed::who_leads,
        sets::annotations,
        sets::a_storage_class_that_cannot_expand,
        sets::a_claim_that_lags,
        sets::a_rollout_that_is_stalled,
        documented::the_document_shows_what_the_doctor_says,
        installed::who_may_not_look_is_told,
    ];
    report.end()?;
    stage.strike();
    Ok(())
}
