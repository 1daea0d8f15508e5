//! Why a StatefulSet is not replaced, or not yet. Status, metrics and documents use the same names.

use crate::templates::words::words;

words! {
    /// Why a StatefulSet is not replaced, or why its replacement waits.
    pub enum ReplacementReason {
        /// The staged change breaks a rule of the settings, or another controller owns the StatefulSet.
        StagedChangeNotAllowed,
        /// Not every PVC is updated and ready.
        RolloutNotComplete,
        /// The Pod template mounts the volume of a template that is to be removed.
        VolumeMissing,
        /// The partition is above 0: Pods below it may have another revision.
        PartitionSet,
        /// The StatefulSet is younger than a minute: the garbage collector may not know its Pods.
        TooYoung,
        /// The StatefulSet has a finalizer of somebody else, who would clean up.
        ForeignFinalizer,
        /// The StatefulSet controller has not seen the last change of the StatefulSet.
        StatusOutdated,
        /// A Pod has an older revision.
        PodNotUpdated,
        /// A Pod is not Ready, or is missing.
        PodNotReady,
        /// A Pod is being deleted.
        PodTerminating,
        /// A Pod has labels that the selector does not match, so that the new StatefulSet would not adopt it.
        PodNotSelected,
        /// Pods beyond the replicas are yet to be deleted.
        ScalingDown,
        /// A PVC does not have what is staged, and would never get it.
        ClaimOutdated,
        /// Objects of other kinds are owned by the StatefulSet. They would lose their owner for ever.
        OtherDependents,
        /// A ResourceQuota has no room for one more StatefulSet.
        QuotaFull,
        /// Nothing would stop a DELETE of somebody else during the replacement.
        GuardMissing,
        /// The object does not fit into the journal.
        TooLarge,
        /// The API server would deny the DELETE.
        DeleteDenied,
        /// The API server would deny the CREATE.
        CreateDenied,
        /// A webhook would change the new StatefulSet, so that its Pods would restart.
        CreateChanges,
        /// The garbage collector has not yet removed the references to the old StatefulSet.
        WaitsForGarbageCollector,
        /// The new StatefulSet has not yet adopted a Pod.
        PodNotAdopted,
        /// The new StatefulSet has another update revision. Its partition keeps the Pods.
        RevisionChanged,
        /// Somebody else created a StatefulSet of this name with other templates.
        ForeignSet,
        /// The API server denies a step.
        StepDenied,
        /// The journal cannot be read, or a backup brought it back.
        JournalRefused,
        /// The StatefulSet does not exist, and is not created again.
        SetAbsent,
    }
}

words! {
    /// What a replacement comes to.
    pub enum ReplacementPhase {
        /// It has begun.
        InProgress,
        /// It has begun, and waits for longer than it should.
        Stalled,
        /// The StatefulSet is not replaced, or not yet.
        Refused,
        /// The StatefulSet has the desired templates.
        Replaced,
    }
}

impl ReplacementPhase {
    /// True iff the StatefulSet may be absent, or another one than before.
    #[must_use]
    pub const fn has_begun(self) -> bool {
        matches!(self, Self::InProgress | Self::Stalled)
    }
}

impl ReplacementReason {
    /// True iff the reason ends by itself within a minute.
    #[must_use]
    pub const fn is_brief(self) -> bool {
        matches!(self, Self::TooYoung | Self::StatusOutdated)
    }
}

#[cfg(test)]
mod tests {
    use super::ReplacementReason;

    const DOCUMENT: &str = include_str!("../../docs/replacing.md");

    #[test]
    fn document_lists_every_reason_in_order() {
        let rows = DOCUMENT.lines().skip_while(|line| !line.starts_with("| reason |"));
        let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
        let mut listed = Vec::new();
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            assert!(cells.len() == 3 && cells.iter().all(|cell| !cell.is_empty()), "{row}");
            listed.push(cells[0].trim_matches('`'));
        }
        assert_eq!(listed, ReplacementReason::ALL.map(ReplacementReason::as_str));
    }
}
