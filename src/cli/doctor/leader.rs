//! Checks that a controller holds the Lease.

use super::facts::InstallationFacts;
use super::finding::{Finding, Fix};
use super::rights::Account;
use crate::claims::class::Known;
use crate::controller::LEASE;

/// The age in seconds at which a Lease is abandoned: four times the age at which others take it.
const ABANDONED: i64 = 60;

/// True iff a controller holds the Lease.
pub(super) fn leads(facts: &InstallationFacts) -> bool {
    matches!(facts.lease, Known::Found(_)) && judge(facts).is_none()
}

/// The fault of the Lease. The local clock and that of the controller are assumed to agree.
pub(super) fn judge(facts: &InstallationFacts) -> Option<Finding> {
    let found = match &facts.lease {
        Known::Unknown => return None,
        Known::Missing => "none".to_owned(),
        Known::Found(lease) => {
            let renewed = lease.renew_time.as_ref().map(|time| time.0.as_second());
            let age = facts.now.as_second().saturating_sub(renewed.unwrap_or(0));
            match lease.holder_identity.as_deref().unwrap_or_default() {
                "" => "no holder".to_owned(),
                _ if age < ABANDONED => return None,
                holder => {
                    let since = renewed.map_or_else(|| "ever".to_owned(), |_| format!("{age} s"));
                    format!("that {holder} has not renewed it for {since}")
                }
            }
        }
    };
    let subject = format!("lease/{}/{LEASE}", facts.namespace);
    let expected = "a controller that holds it";
    let has_none = facts.deployed.controller.is_none() && !facts.is_unread("deployments");
    let fix = if has_none {
        Fix::restore("deploy/controller").then(", because there is no Deployment of the controller")
    } else {
        facts.deployed.restart(Account::Controller, &facts.namespace).into()
    };
    Some(Finding::error(subject).but(expected, found).fix(fix))
}
