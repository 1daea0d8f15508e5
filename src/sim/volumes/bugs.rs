//! Known bugs of this kind of software, planted around the decisions: each must break a guarantee.

use super::super::bugs::planted_bugs;

planted_bugs! { VolumesBug:
    Descending: "L9: a Pod does not get the volume" in "", "the highest Pod that lacks the volume is evicted first, as for a rolling update";
    IgnoresOthers: "S20: two Pods are away" in "", "other Pods need not be Ready";
    GateOpen: "S20: Kubernetes deleted a Pod that could not be created" in "", "the gate does not know of the template";
    IgnoresPause: "S20: a Pod was evicted during a pause" in "", "a pause does not matter";
    ByName: "S20: a Pod was evicted that lacks nothing" in "", "a Pod is evicted by its name";
    EvictsAny: "S20: a Pod was evicted that lacks nothing" in "", "Pods are evicted although they have the volume: all restart";
    TooEarly: "S20: a Pod was evicted that lacks nothing" in "", "Pods are evicted before the template is live";
    WaitsForMissing: "L9: a Pod does not get the volume" in "", "a Pod that is missing above the lowest is waited for";
    GateNeedsOwner: "S20: Kubernetes deleted a Pod that could not be created" in "", "the gate keeps only Pods that have an owner";
}
