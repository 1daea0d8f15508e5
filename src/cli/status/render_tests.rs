use serde_json::json;

use super::super::line::{Paint, Shape, Width};
use super::{fit, render};
use crate::cli::json_tests::{has_the_words, is_as_described};
use crate::cli::output::OutputFormat;
use crate::cli::row::ClaimRow;
use crate::cli::row::tests::row;
use crate::cli::status::changes::changes;
use crate::cli::status::pods::{PodState, PodStatusView};
use crate::cli::status::rollout::RolloutPhase;
use crate::cli::status::text;
use crate::cli::status::view::{ClaimView, StatusView, TargetView};
use crate::gate::ClaimState;

const PLAIN: Shape = at(Width::Terminal(80));

/// Lines of this width, without colours.
const fn at(width: Width) -> Shape {
    let paint = Paint::Plain;
    Shape { paint, width }
}

fn claim(ordinal: u32, capacity: &str, percent: u8, state: &str, reason: &str) -> ClaimView {
    ClaimView {
        row: ClaimRow {
            message: reason.to_owned(),
            ..row(&format!("data-web-{ordinal}"), ordinal, ClaimState::read(state))
        },
        request: if state == "Pending" { "10Gi" } else { "20Gi" }.to_owned(),
        desired: "20Gi".to_owned(),
        capacity: capacity.to_owned(),
        percent,
        attributes_class: None,
        revision: None,
    }
}

fn web() -> StatusView {
    StatusView {
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        target: Some(TargetView {
            revision: "6c9f7d5b84".to_owned(),
            policy: "InPlace".to_owned(),
            sync: "LockStep".to_owned(),
            staged: true,
            state: RolloutPhase::Reconciling,
            reason: "RollingOut".to_owned(),
            replicas: 3,
            updated: 1,
            ready: 1,
        }),
        note: Some("waiting for data-web-1".to_owned()),
        claims: vec![
            claim(2, "20Gi", 100, "Done", ""),
            claim(1, "10Gi", 50, "Expanding", "the driver works"),
            claim(0, "10Gi", 50, "Pending", ""),
        ],
        pods: Vec::new(),
        complete: false,
        stalled: false,
        staged: Some("6c9f7d5b84".to_owned()),
        replacement: None,
        awaits_replacement: false,
        unreadable: None,
    }
}

#[test]
fn render_set_is_a_tree_in_eighty_columns() {
    let expected = "\
shop/web  6c9f7d5b84  InPlace, LockStep                1/3 replicas, Reconciling
  waiting for data-web-1
  ├─ 2  data-web-2  20Gi -> 20Gi  ██████████  Done
  ├─ 1  data-web-1  10Gi -> 20Gi  █████░░░░░  Expanding  the driver works
  └─ 0  data-web-0  10Gi -> 20Gi  ░░░░░░░░░░  Pending
";
    assert_eq!(render(&[web()], PLAIN), expected);
}

#[test]
fn render_several_claims_or_pods_add_a_level() {
    let mut view = web();
    let log = |claim: &ClaimView| ClaimView {
        row: ClaimRow {
            name: claim.row.name.replace("data", "log"),
            ..claim.row.clone()
        },
        capacity: "1Gi".to_owned(),
        request: "1Gi".to_owned(),
        desired: "1Gi".to_owned(),
        ..claim.clone()
    };
    let logs: Vec<ClaimView> = view.claims.iter().map(log).collect();
    view.claims.extend(logs);
    view.claims.sort_by_key(|claim| std::cmp::Reverse(claim.row.ordinal));
    view.claims.retain(|claim| claim.row.ordinal > 0);
    let pod = |ordinal, state| PodStatusView {
        name: format!("web-{ordinal}"),
        ordinal,
        state,
    };
    let expected = "\
shop/web  6c9f7d5b84  InPlace, LockStep                1/3 replicas, Reconciling
  waiting for data-web-1
  ├─ web-2
  │  ├─ data-web-2  20Gi -> 20Gi  ██████████  Done
  │  └─ log-web-2    1Gi -> 1Gi   ██████████  Done
  └─ web-1
     ├─ data-web-1  10Gi -> 20Gi  █████░░░░░  Expanding  the driver works
     └─ log-web-1    1Gi -> 1Gi   █████░░░░░  Expanding  the driver works
";
    assert_eq!(render(&[view.clone()], PLAIN), expected);
    view.claims.retain(|claim| claim.row.name.starts_with("data"));
    view.pods = vec![
        pod(2, PodState::Updated),
        pod(1, PodState::Waiting),
        pod(0, PodState::Missing),
    ];
    let expected = "\
shop/web  6c9f7d5b84  InPlace, LockStep                1/3 replicas, Reconciling
  waiting for data-web-1
  ├─ web-2  Pod updated
  │  └─ data-web-2  20Gi -> 20Gi  ██████████  Done
  ├─ web-1  Pod waiting
  │  └─ data-web-1  10Gi -> 20Gi  █████░░░░░  Expanding  the driver works
  └─ web-0  Pod missing
";
    assert_eq!(render(&[view.clone()], PLAIN), expected);
    let mut later = view.clone();
    later.pods[1].state = PodState::Starting;
    assert_eq!(changes(&[view], &[later]), ["shop/web web-1: Pod starting"]);
}

#[test]
fn render_replacement_is_a_line_below_the_heading() {
    let mut view = web();
    view.claims.clear();
    let before = view.clone();
    let replacement = json!({
        "phase": "Refused", "reason": "PodNotReady", "message": "Pod web-1 is not\tReady", "since": "2026-11-23T12:00:00Z",
    });
    view.replacement = Some(serde_json::from_value(replacement).expect("a replacement"));
    let expected = "\
shop/web  6c9f7d5b84  InPlace, LockStep                1/3 replicas, Reconciling
  waiting for data-web-1
  not replaced: PodNotReady: Pod web-1 is not Ready
";
    assert_eq!(render(std::slice::from_ref(&view), PLAIN), expected);
    let text = render(std::slice::from_ref(&view), at(Width::Wide));
    assert!(
        text.ends_with("Pod web-1 is not Ready  since 2026-11-23T12:00:00Z\n"),
        "{text}"
    );
    let line = "shop/web: not replaced: PodNotReady: Pod web-1 is not Ready";
    assert_eq!(changes(&[before], std::slice::from_ref(&view)), [line]);
    assert_eq!(
        changes(std::slice::from_ref(&view), std::slice::from_ref(&view)),
        [""; 0]
    );
}

#[test]
fn json_of_a_set_is_as_described() {
    use PodState::{Missing, Starting, Terminating, Updated, Waiting};
    use RolloutPhase::{Complete, Reconciling, Stalled};
    let mut view = web();
    let replacement = json!({
        "phase": "Refused", "step": "Mark", "reason": "PodNotReady", "message": "web-1", "replicas": 3,
        "since": "2026-11-23T12:00:00Z",
    });
    view.replacement = Some(serde_json::from_value(replacement).expect("a replacement"));
    let some = |text: &str| Some(text.to_owned());
    (view.claims[0].attributes_class, view.claims[0].revision) = (some("gold"), some("6c9f7d5b84"));
    view.pods = vec![PodStatusView {
        name: "web-1".to_owned(),
        ordinal: 1,
        state: Waiting,
    }];
    is_as_described(&[text(&[view], Some(OutputFormat::Json)).expect("text")]);
    has_the_words("StatusList", "target.state", &[Reconciling, Stalled, Complete]);
    let states = [Waiting, Terminating, Missing, Starting, Updated];
    has_the_words("StatusList", "pods.state", &states);
}

#[test]
fn render_lines_fit_the_width() {
    let mut view = web();
    view.claims[1].row.message = "x".repeat(300);
    view.note = Some("é".repeat(300));
    for width in [0, 1, 20, 40, 80] {
        let text = render(std::slice::from_ref(&view), at(Width::Terminal(width)));
        for line in text.lines() {
            assert!(line.chars().count() <= width.max(1), "{width}: {line}");
        }
    }
    let wide = render(&[view], at(Width::Wide));
    assert!(
        wide.contains(&"x".repeat(300)) && wide.contains("class -  revision -"),
        "{wide}"
    );
}

#[test]
fn render_of_each_width() {
    let mut view = web();
    let reason = "exceeded quota: storage-of-team-a, requested: requests.storage=10Gi, used: 95Gi, limited: 100Gi";
    view.claims[1].row.message = reason.to_owned();
    let note = format!("ClaimRefused: data-web-1: {reason}");
    view.note = Some(note.clone());
    view.target.as_mut().expect("a target").state = RolloutPhase::Stalled;
    let shown = |width: Width| {
        let text = render(std::slice::from_ref(&view), at(width));
        let heading = text.lines().next().expect("a heading").chars().count();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains(&note) && words.contains("1/3 replicas, Stalled"),
            "{width:?}: {text}"
        );
        (heading, text.matches(reason).count(), text.contains('…'))
    };
    for (width, expected) in [
        (Width::Terminal(60), (39, 0, true)),
        (Width::Terminal(80), (80, 0, true)),
        (Width::Terminal(200), (200, 2, false)),
        (Width::Pipe, (80, 2, false)),
        (Width::Wide, (62, 2, false)),
    ] {
        assert_eq!(shown(width), expected, "{width:?}");
    }
    let expected = "\
shop/web  6c9f7d5b84  InPlace, LockStep
  1/3 replicas, Stalled
  ClaimRefused: data-web-1: exceeded quota:
  storage-of-team-a, requested: requests.storage=10Gi, used:
  95Gi, limited: 100Gi
  ├─ 2  data-web-2  20Gi -> 20Gi  ██████████  Done
  ├─ 1  data-web-1  10Gi -> 20Gi  █████░░░░░  Expanding  ex…
  └─ 0  data-web-0  10Gi -> 20Gi  ░░░░░░░░░░  Pending
";
    assert_eq!(render(&[view], at(Width::Terminal(60))), expected);
}

#[test]
fn sixty_replicas_fit_a_small_terminal() {
    let mut view = web();
    let of = |ordinal: u32| match ordinal {
        41.. => claim(ordinal, "20Gi", 100, "Done", ""),
        40 => claim(ordinal, "10Gi", 50, "Expanding", "the driver works"),
        _ => claim(ordinal, "10Gi", 50, "Pending", ""),
    };
    view.claims = (0..60).rev().map(of).collect();
    let expected = "\
shop/web  6c9f7d5b84  InPlace, LockStep                1/3 replicas, Reconciling
  waiting for data-web-1
  ├─ web-59 to web-41  19 replicas  Done
  ├─ 40  data-web-40  10Gi -> 20Gi  █████░░░░░  Expanding  the driver works
  └─ web-39 to web-0  40 replicas  Pending
";
    let views = [view];
    assert_eq!(fit(&views, PLAIN, 24), expected);
    assert_eq!(fit(&views, PLAIN, 100), render(&views, PLAIN));
    let least = fit(&views, PLAIN, 3);
    assert!(
        least.lines().count() == 3 && least.ends_with("… 3 more lines\n"),
        "{least}"
    );
}

#[test]
fn render_colours_do_not_change_the_text() {
    let coloured = render(
        &[web()],
        Shape {
            paint: Paint::Coloured,
            ..PLAIN
        },
    );
    assert!(coloured.contains("\x1b[32m██████████\x1b[0m"), "{coloured}");
    let mut plain = String::new();
    for (index, part) in coloured.split('\x1b').enumerate() {
        let end = if index == 0 {
            0
        } else {
            part.find('m').expect("a sequence") + 1
        };
        plain.push_str(&part[end..]);
    }
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n") + "\n", render(&[web()], PLAIN));
}

#[test]
fn render_removes_control_characters() {
    let mut view = web();
    view.claims[1].row.message = "a\x1b[2Jb\r\nc".to_owned();
    let text = render(&[view.clone()], PLAIN) + &changes(&[], &[view]).concat();
    assert!(!text.contains('\x1b') && !text.contains('\r'), "{text:?}");
}

#[test]
fn render_without_rollouts_is_a_message() {
    assert_eq!(render(&[], PLAIN), "no rollouts found (-A shows all namespaces)\n");
    let view = StatusView {
        target: None,
        note: Some("nothing staged".to_owned()),
        claims: Vec::new(),
        ..web()
    };
    assert_eq!(render(&[view], PLAIN), "shop/web\n  nothing staged\n");
}

#[test]
fn changes_have_a_line_for_each_changed_object() {
    let before = web();
    let mut after = web();
    assert_eq!(
        changes(std::slice::from_ref(&before), std::slice::from_ref(&after)),
        Vec::<String>::new()
    );
    after.claims[1] = claim(1, "20Gi", 100, "Done", "");
    assert_eq!(
        changes(&[before], &[after.clone()]),
        ["shop/web data-web-1: 20Gi -> 20Gi Done"]
    );
    assert_eq!(changes(&[], &[after]).len(), 4);
}
