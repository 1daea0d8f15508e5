//! Workloads with `immutableFields: NewPVCs`: a change is partly for new claims.

use crate::sim::actors::action::UserAction;
use crate::sim::objects::{ModelTarget, Want};
use crate::sim::settings::ModelSettings;
use crate::sim::workload::Moment::{Now, Quiet, Written};
use crate::sim::workload::{Workload, one, workload};
use crate::sim::world::SimWorld;

/// A claim of this size, StorageClass and attributes class.
const fn stored(size: u8, storage_class: u8, class: u8) -> Want {
    Want {
        size,
        class,
        tier: 0,
        storage_class,
    }
}

const fn target(want: Want) -> ModelTarget {
    ModelTarget {
        wants: [want, Want::size(0)],
        templates: 1,
        staging: 0,
    }
}

fn for_new_claims(world: &mut SimWorld) {
    world.api.settings = ModelSettings::ForNewClaims;
}

pub(super) const NEW_CLAIMS: [Workload; 2] = [
    workload(
        "another-storage-class",
        2,
        &[stored(1, 1, 0)],
        for_new_claims,
        &[
            (Now, UserAction::Both(target(stored(3, 2, 1)), 1)),
            (Written(1), UserAction::Scale(3)),
            (Quiet, UserAction::DeleteClaim(0)),
            (Now, UserAction::DeletePod(0)),
            (Quiet, UserAction::Target(target(stored(4, 2, 2)))),
        ],
    ),
    workload(
        "smaller-for-new-claims",
        2,
        &[Want::size(3)],
        for_new_claims,
        &[
            (Now, UserAction::Both(one(2), 1)),
            (Written(1), UserAction::Scale(3)),
            (Quiet, UserAction::DeleteClaim(0)),
            (Now, UserAction::DeletePod(0)),
            (Quiet, UserAction::Target(one(4))),
        ],
    ),
];
