//! The gate as tables: the state, and why the Pod waits.

use super::{Pod, gate};
use crate::api::Settings;
use crate::rollout::Snapshot;
use crate::rollout::fixtures::{owner, rows, template, trouble, web};
use crate::rollout::table_tests::words::{act, common};
use crate::templates::{Ready, ReplaceSet, Revision};

/// The Pod of the highest ordinal, whose claim is outdated.
fn pod() -> Pod {
    Pod {
        name: "web-2".to_owned(),
        set_name: "web".to_owned(),
        set_uid: "set-uid".to_owned(),
        mounts_claims: true,
        ..Pod::default()
    }
}

fn answer(web: &Snapshot, pod: &Pod, settings: &Settings) -> Option<String> {
    gate(pod, &web.set, settings, |name| web.claims.get(name.as_str()))
}

/// Changes the Pod and the snapshot as the words name it.
fn change(web: &mut Snapshot, pod: &mut Pod, words: &str) {
    for word in words.split(", ") {
        match word {
            "the Pod has ended" => pod.has_ended = true,
            "the Pod is terminating" => pod.terminating = true,
            "the Pod is evicted" => pod.disrupted = true,
            "the Pod has no claims" => pod.mounts_claims = false,
            "the Pod is of another set" => pod.set_uid = "another".to_owned(),
            "the Pod is of no set" => pod.set_uid.clear(),
            "the Pod has another name" => pod.name = "web-x".to_owned(),
            _ => act(web, word, of_the_gate),
        }
    }
}

fn of_the_gate(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("trouble of the node", [ordinal]) => {
            web.claim(&format!("data-web-{ordinal}")).troubles = vec![trouble("NodeResizeError")];
        }
        ("no label app", [ordinal]) => _ = web.claim(&format!("data-web-{ordinal}")).labels.remove("app"),
        ("staged Mi", [size]) => web.stage(vec![template("data", &format!("{size}Mi"))]),
        ("controlled", []) => web.set.controller = Some(owner("Postgres", "db", "uid")),
        ("ready before", []) => {
            let revision = Revision::from_text("another");
            web.set.ready = Some(Ready { revision, ordinal: 0 });
        }
        ("two", []) => {
            web.set.live = vec![template("data", "1Gi"), template("logs", "1Gi")];
            web.stage(vec![template("data", "2Gi"), template("logs", "2Gi")]);
            web.add_claim("logs", 2);
        }
        // A template `logs` is to be added.
        ("adds logs", []) => {
            web.set.replace_set = Some(ReplaceSet::WhenComplete);
            web.stage(vec![template("data", "2Gi"), template("logs", "1Gi")]);
        }
        ("renames to logs", []) => web.stage(vec![template("logs", "1Gi")]),
        ("removes more", []) => {
            web.set.live.push(template("more", "1Gi"));
            web.stage(vec![template("data", "2Gi")]);
        }
        ("live logs", []) => web.set.live = vec![template("data", "1Gi"), template("logs", "1Gi")],
        ("never replaced", []) => web.set.replace_set = None,
        _ => common(web, word, numbers),
    }
}

/// Checks rows of why, what is changed, and a part of the answer: no part if the Pod may be deleted.
fn table(settings: &str, table: &str, always: &str) {
    let settings = Settings::read(settings).expect("settings");
    for [row, words, expected] in rows(table) {
        let (mut web, mut pod) = (web(), pod());
        change(&mut web, &mut pod, always);
        change(&mut web, &mut pod, words);
        let answer = answer(&web, &pod, &settings).unwrap_or_default();
        assert_eq!(answer, expected, "{row}");
    }
}

const ROWS: &str = "
    outdated | | data-web-2 is not yet at revision 9jjhnzsfjj; Pod web-2 is replaced when it is ready
    updated | applied 2 | data-web-2 is Applied: capacity 1Gi of 2Gi; Pod web-2 is replaced when it is ready
    expanding | applied 2, ControllerResizeInProgress 2 \
        | data-web-2 is Expanding: capacity 1Gi of 2Gi; Pod web-2 is replaced when it is ready
    infeasible for the driver | infeasible 2 \
        | data-web-2 is Infeasible: not possible for the driver; Pod web-2 is replaced when it is ready
    large enough, while the class changes | modifying 2 \
        | data-web-2 is Modifying: attributes class none, expected fast; Pod web-2 is replaced when it is ready
    expanded by the node, while the class changes | node pending 2, class fast 2 \
        | data-web-2 is NodeExpanding: capacity 1Gi of 2Gi; Pod web-2 is replaced when it is ready
    the second of two | two, done 2 \
        | logs-web-2 is not yet at revision 7jwrhmgwww; Pod web-2 is replaced when it is ready
    paused | paused, done 2 \
        | the rollout is paused by the annotation claim-rollout.io/paused; Pod web-2 is replaced after the pause
    its volume is lost: the next Pod could not start | lost 2 \
        | data-web-2 is Refused: its volume does not exist any more, so a new Pod could not start; \
        Pod web-2 is replaced when it is ready
    updated, and its volume is lost while the node had work to do | node pending 2, lost 2 \
        | data-web-2 is Refused: its volume does not exist any more, so a new Pod could not start; \
        Pod web-2 is replaced when it is ready
    at the partition | partition 2 | data-web-2 is not yet at revision 9jjhnzsfjj; Pod web-2 is replaced when it is ready
";

#[test]
fn pod_waits_for_claim_that_is_not_ready() {
    table("{}", ROWS, "");
    table(r#"{"maxStorage":{"*":"1Gi"}}"#, "a ceiling forbids it | |", "");
    table(r#"{"mode":"ValidateOnly"}"#, "nothing is rolled out | |", "");
}

/// The claim of the Pod is ready, or needs a new mount.
const CLAIMS: &str = "
    ready                             | done 2                                  |
    absent                            | missing 2                               |
    terminating                       | terminating 2                           |
    not bound                         | unbound 2                               |
    without the labels, and ready     | done 2, no label app 2                  |
    of another owner                  | foreign 2                               |
    the node expands it at the next mount | node pending 2                      |
    the node failed, because the expansion needs a new mount \
        | applied 2, NodeResizeInProgress 2, file system pending 2, trouble of the node 2 |
    infeasible for the node           | node infeasible 2                       |
    the file system is pending, without a resize status | applied 2, file system pending 2 |
";

/// The Pod is not replaced.
const PODS: &str = "
    out of range: scale-down          | replicas 2                              |
    below the first ordinal           | first ordinal 3                         |
    ended                             | the Pod has ended                       |
    terminating                       | the Pod is terminating                  |
    being evicted                     | the Pod is evicted                      |
    without claims                    | the Pod has no claims                   |
    of a set that was deleted         | the Pod is of another set               |
    of no set                         | the Pod is of no set                    |
    left by a set that is being deleted | deleted set, the Pod is of no set     |
    not named after its set           | the Pod has another name                |
";

/// No rollout waits for the claim.
const ROLLOUTS: &str = "
    nothing is staged                 | withdrawn                               |
    complete                          | Complete                                |
    OnClaimDelete                     | OnClaimDelete                           |
    Async                             | Async                                   |
    below the partition               | partition 3                             |
    the set is being deleted          | deleted set                             |
    owned by another controller       | controlled                              |
    forbidden by the rules            | staged Mi 512                           |
    the ordinals begin at 2           | first ordinal 2, partition 1            |
";

#[test]
fn pod_that_nothing_waits_for_is_deleted() {
    for rows in [CLAIMS, PODS, ROLLOUTS] {
        table("{}", rows, "");
    }
}

/// Whether the Pod waits for the template `logs`.
const ADDED: &str = "
    rolling out                       |                                         | waits
    complete                          | Complete                                | waits
    Async                             | Async                                   | waits
    OnClaimDelete                     | OnClaimDelete                           | waits
    below the partition               | partition 3                             | waits
    OnDelete                          | OnDelete                                | waits
    being replaced                    | deleted set                             | waits
    left by the set that is being replaced | deleted set, the Pod is of no set  | waits
    of no set                         | the Pod is of no set                    |
    paused                            | paused                                  | waits
    renamed                           | renames to logs                         | waits
    live                              | live logs                               |
    removed                           | removes more, done 2                    |
    never replaced                    | never replaced                          |
    out of range                      | replicas 2                              |
    ended                             | the Pod has ended                       |
    evicted                           | the Pod is evicted                      |
    of another set                    | the Pod is of another set               |
    of another set while this one is being replaced | deleted set, the Pod is of another set |
";

#[test]
fn pod_waits_until_added_template_is_live() {
    let waits = "the staged template logs is not live yet; Pod web-2 is replaced after the StatefulSet";
    let allow = ADDED.replace("| waits", &format!("| {waits}"));
    table(r#"{"templateChanges": "Allow"}"#, &allow, "adds logs, done 2");
    for [row, words, _] in rows(ADDED) {
        let (mut web, mut pod) = (web(), pod());
        change(&mut web, &mut pod, "adds logs, done 2");
        change(&mut web, &mut pod, words);
        let denied = answer(&web, &pod, &Settings::default());
        assert!(denied.as_deref() != Some(waits), "{row}: {denied:?}");
    }
}

const TOGETHER: &str = "
    the claims of the Pod are ready | | the Pods of web are replaced together, when all its PVCs are ready
    all claims are ready | named 0 |
    all claims were ready for another revision | ready before \
        | the Pods of web are replaced together, when all its PVCs are ready
    the claim of the Pod is outdated again | named 0, unlabelled 2 \
        | data-web-2 is not yet at revision 9jjhnzsfjj; Pod web-2 is replaced when it is ready
";

#[test]
fn pods_under_recreate_wait_for_all_claims() {
    table("{}", TOGETHER, "Recreate, done 2");
}
