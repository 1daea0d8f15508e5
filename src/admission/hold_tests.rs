use super::{Claims, Hold, PodTemplate, Pods, Strategy, StrategyType};

const FIRST: Claims = Claims::First;
const APART: Claims = Claims::Apart;
const SAME: PodTemplate = PodTemplate::Same;
const CHANGED: PodTemplate = PodTemplate::Changed;

const fn begins(partition: i64, users: i64) -> Hold {
    Hold::Begins { partition, users }
}

const fn continues(partition: i64, users: i64) -> Hold {
    Hold::Continues { partition, users }
}

const fn ends(partition: i64) -> Hold {
    Hold::Ends {
        partition: Some(partition),
    }
}

/// The sentence; whether claims come first, the Pod template; the partition before and in the request, the user's own
/// before; the hold.
type Row = (&'static str, Claims, PodTemplate, i64, i64, Option<i64>, Hold);

const TABLE: [Row; 17] = [
    ("nothing is rolled out", APART, CHANGED, 0, 0, None, Hold::None),
    ("an unrelated edit", FIRST, SAME, 0, 0, None, Hold::None),
    ("a new image holds every Pod", FIRST, CHANGED, 0, 0, None, begins(5, 0)),
    ("also above a canary", FIRST, CHANGED, 2, 2, None, begins(5, 2)),
    (
        "a partition that already holds them all needs no hold",
        FIRST,
        CHANGED,
        5,
        5,
        None,
        Hold::None,
    ),
    ("nor one above", FIRST, CHANGED, 9, 9, None, Hold::None),
    ("a canary is lowered", FIRST, SAME, 3, 0, None, begins(3, 0)),
    ("a canary is raised", FIRST, SAME, 1, 3, None, Hold::None),
    (
        "a canary is lowered with a new image",
        FIRST,
        CHANGED,
        3,
        1,
        None,
        begins(5, 1),
    ),
    (
        "an unrelated edit while held",
        FIRST,
        SAME,
        4,
        4,
        Some(0),
        continues(4, 0),
    ),
    (
        "a manifest comes again while held, with the user's partition",
        FIRST,
        SAME,
        4,
        0,
        Some(0),
        continues(4, 0),
    ),
    (
        "the user asks for another partition while held",
        FIRST,
        SAME,
        4,
        2,
        Some(0),
        continues(4, 2),
    ),
    (
        "for one above where Pods have been released",
        FIRST,
        SAME,
        1,
        3,
        Some(0),
        continues(3, 3),
    ),
    (
        "a new image while held begins anew",
        FIRST,
        CHANGED,
        2,
        2,
        Some(0),
        continues(5, 0),
    ),
    ("the rollout is given up", APART, SAME, 4, 4, Some(1), ends(1)),
    ("and another partition asked for", APART, SAME, 4, 2, Some(1), ends(2)),
    ("and another image", APART, CHANGED, 4, 4, Some(1), ends(1)),
];

#[test]
fn the_partition_of_a_set_with_5_replicas() {
    for (sentence, claims, template, old, asked, held, expected) in TABLE {
        let pods = Pods {
            old,
            held,
            asked: Strategy {
                kind: StrategyType::RollingUpdate,
                partition: asked,
            },
            replicas: 5,
            template,
        };
        assert_eq!(pods.hold(claims), expected, "{sentence}");
    }
}

#[test]
fn without_a_rolling_update_there_is_nothing_to_hold_and_no_partition_to_put_back() {
    let on_delete = Strategy {
        kind: StrategyType::Other,
        partition: 0,
    };
    let pods = |held| Pods {
        old: 4,
        held,
        asked: on_delete,
        replicas: 5,
        template: CHANGED,
    };
    for claims in [FIRST, APART] {
        assert_eq!(pods(None).hold(claims), Hold::None);
        assert_eq!(pods(Some(1)).hold(claims), Hold::Ends { partition: None });
    }
}
