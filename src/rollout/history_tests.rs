use super::{HistoryStep, Kept, data, steps, target};
use crate::api::Settings;
use crate::json;
use crate::rollout::fixtures::{owner, template, web};
use crate::templates::{Revision, UpdatePolicy};

/// `a1 b2`: the revisions a and b with the numbers 1 and 2.
fn kept(text: &str) -> Vec<Kept> {
    let kept = |entry: &str| {
        let (revision, number) = entry.split_at(1);
        Kept {
            name: format!("web-claims-{revision}"),
            uid: format!("{revision}-uid"),
            number: number.parse().unwrap(),
            revision: Revision::from_text(revision),
        }
    };
    text.split_whitespace().map(kept).collect()
}

/// `+4`: added as number 4. `b=4`: b gets number 4. `-a`: a is deleted.
fn show(step: &HistoryStep) -> String {
    let letter = |name: &str, uid: &str| {
        let letter = name.strip_prefix("web-claims-").unwrap().to_owned();
        assert_eq!(uid, format!("{letter}-uid"));
        letter
    };
    match step {
        HistoryStep::Add { number } => format!("+{number}"),
        HistoryStep::Renumber { name, uid, number } => format!("{}={number}", letter(name, uid)),
        HistoryStep::Drop { name, uid } => format!("-{}", letter(name, uid)),
    }
}

#[test]
fn target_becomes_the_latest_and_the_oldest_are_deleted() {
    for (why, text, staged, current, limit, expected) in [
        ("the first revision", "", "a", "z", 10, "+1"),
        ("another revision", "a1", "b", "a", 10, "+2"),
        ("the latest again", "a1 b2", "b", "a", 10, ""),
        ("a previous revision again", "a1 b2 c3", "a", "c", 10, "a=4"),
        ("numbers may have gaps", "a1 b7", "c", "b", 10, "+8"),
        ("as many as allowed", "a1 b2", "c", "b", 3, "+3"),
        ("one too many", "a1 b2 c3", "d", "c", 3, "+4 -a"),
        (
            "the oldest by number, not by place",
            "c3 a1 b2",
            "d",
            "c",
            2,
            "+4 -a -b",
        ),
        ("the oldest is the current revision", "a1 b2 c3", "d", "a", 3, "+4 -b"),
        ("the oldest is the target again", "a1 b2 c3", "a", "c", 2, "a=4 -b"),
        (
            "the limit was lowered, and the target is the same",
            "a1 b2 c3 d4",
            "d",
            "d",
            2,
            "-a -b",
        ),
        ("limit 0 keeps those in use", "a1 b2 c3", "d", "b", 0, "+4 -a -c"),
        (
            "two of one number, by name, so that all controllers decide the same",
            "b1 a1 c2",
            "c",
            "c",
            2,
            "-a",
        ),
        (
            "the largest number stays the largest",
            "a9223372036854775807",
            "b",
            "a",
            9,
            "+9223372036854775807",
        ),
    ] {
        let steps = steps(
            &kept(text),
            &Revision::from_text(staged),
            &Revision::from_text(current),
            limit,
        );
        let shown: Vec<String> = steps.iter().map(show).collect();
        assert_eq!(shown.join(" "), expected, "{why}");
    }
}

#[test]
fn only_a_change_in_effect_belongs_into_the_history() {
    let settings = Settings::default();
    let mut web = web();
    assert_eq!(target(&web.set, &settings), web.set.staged.as_ref());

    web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
    assert_eq!(
        target(&web.set, &settings),
        web.set.staged.as_ref(),
        "new claims get it"
    );

    web.set.update_policy = Some(UpdatePolicy::ReCreate);
    assert_eq!(target(&web.set, &settings), None, "not enabled");

    web.set.update_policy = None;
    web.set.controller = Some(owner("Database", "web", "owner-uid"));
    assert_eq!(target(&web.set, &settings), None, "owned");

    web.set.controller = None;
    web.set.terminating = true;
    assert_eq!(target(&web.set, &settings), None, "being deleted");

    web.set.terminating = false;
    web.set.live = vec![template("data", "3Gi")];
    assert_eq!(target(&web.set, &settings), None, "a rule is broken: the size shrinks");

    web.set.staged = None;
    assert_eq!(target(&web.set, &settings), None, "nothing staged");
}

#[test]
fn data_has_the_format_of_kep_4650() {
    assert_eq!(
        json::canonical(&data(&[template("data", "2048Mi")])),
        concat!(
            r#"{"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"#,
            r#""resources":{"requests":{"storage":"2Gi"}}}}]}}"#
        )
    );
}
