//! The rights of the users in the namespace `shop`, for the policy and the guard alike.

/// Everything but PVCs, which he may only read. In the namespace `mine` he may do everything.
pub(super) const BOB: &str = "bob";
/// Reads and changes StatefulSets and PVCs. She creates and deletes nothing, and evicts no Pod.
pub(super) const MALLORY: &str = "mallory";
/// Followed by a right, the user who has all others: `all but delete persistentvolumeclaims`.
pub(super) const ALL_BUT: &str = "all but ";

/// True iff the user has this right.
pub(super) fn may(user: &str, verb: &str, [group, resource, subresource]: [&str; 3], namespace: &str) -> bool {
    let is_known = matches!(
        (group, resource, subresource),
        ("", "persistentvolumeclaims", "") | ("", "pods", "" | "eviction") | ("apps", "statefulsets", "")
    );
    let reads = verb == "get";
    is_known
        && match user {
            BOB => namespace == "mine" || namespace == "shop" && (resource != "persistentvolumeclaims" || reads),
            MALLORY => namespace == "shop" && resource != "pods" && (reads || verb == "patch"),
            _ => user.strip_prefix(ALL_BUT).is_some_and(|lacking| {
                let slash = if subresource.is_empty() { "" } else { "/" };
                namespace == "shop" && format!("{verb} {resource}{slash}{subresource}") != lacking
            }),
        }
}
