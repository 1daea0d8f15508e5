use super::{Millis, PLACES, PLACES_OF_NAMESPACE, PROBE, PauseCause, Turns, USUAL};
use crate::controller::replacing::cluster::SetName;

/// What happens, and the replacements that get a place by it, in this order. A name is `namespace/set`.
///
/// | word | means |
/// |---|---|
/// | `new a/1`, `begun a/1` | it asks for a place |
/// | `absent a/1` | its set is absent |
/// | `pause a/1`, `fail a/1` | it waits for others, or a step failed |
/// | `collect a/1`, `collected a/1` | it waits for the garbage collector, which then is done |
/// | `end a/1` | it ends |
/// | `+10s` | time passes |
/// | `-1000s` | the clock is set back |
type Row = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const TABLE: [Row; 28] = [
    ("nothing else", "new a/1", "a/1"),
    ("it has one already", "new a/1 new a/1", "a/1"),
    ("a quarter for a namespace", "new a/1 new a/2 new a/3 new a/4 new a/5 new b/1", "a/1 a/2 a/3 a/4 b/1"),
    ("the next of the namespace", "new a/1 new a/2 new a/3 new a/4 new a/5 end a/2", "a/1 a/2 a/3 a/4 a/5"),
    ("all places", "fill new e/1", ""),
    ("an absent set does not count", "absent a/1 absent a/2 absent a/3 absent a/4 new a/5", "a/5"),
    ("an absent set gives its place back", "fill new e/1 absent a/1", "e/1"),
    ("the namespace that asked first", "fill new f/1 new e/1 end a/1", "f/1"),
    ("namespaces take turns", "fill new e/1 new e/2 new f/1 end a/1 end a/2 end a/3", "e/1 f/1 e/2"),
    ("who comes again has had its turn", "fill new e/1 new f/1 end a/1 end e/1 new e/2 end a/2", "e/1 f/1 e/2"),
    ("who has begun comes first in its namespace", "fill new e/1 begun e/2 end a/1", "e/2"),
    ("and not before other namespaces", "fill new e/1 begun f/2 end a/1", "e/1"),
    ("a short wait keeps the place", "fill new e/1 +9s pause a/1", ""),
    ("a long wait gives it back", "fill new e/1 +10s pause a/1", "e/1"),
    ("a failed step gives it back", "fill new e/1 fail a/1", "e/1"),
    ("and takes it again in turn", "fill new e/1 fail a/1 begun a/1 end e/1", "e/1 a/1"),
    ("from then on each wait gives it back", "fill new e/1 +10s pause a/1 begun a/1 end e/1 new f/1 pause a/1", "e/1 a/1 f/1"),
    ("the garbage collector takes its usual time", "begun a/1 collect a/1 +9s new b/1", "a/1 b/1"),
    ("it is suspected", "begun a/1 collect a/1 +10s new b/1 begun b/2 absent b/3", "a/1 b/2"),
    ("it is not: it did its work for another since then", "begun a/1 collect a/1 begun c/1 +1s collect c/1 collected c/1 +9s new b/1", "a/1 c/1 b/1"),
    ("it is: it did that before", "begun c/1 collect c/1 collected c/1 +1s begun a/1 collect a/1 +10s new b/1", "c/1 a/1"),
    ("its namespace waits nevertheless", "begun a/1 collect a/1 begun c/1 +1s collect c/1 collected c/1 +9s new a/2", "a/1 c/1"),
    ("it ends by itself", "begun a/1 collect a/1 +10s new b/1 new a/2 collected a/1 end a/1", "a/1 b/1 a/2"),
    ("it ends with the replacement", "begun a/1 collect a/1 +10s new b/1 new b/2 end a/1", "a/1 b/1 b/2"),
    ("one tries after a while, and no second one", "begun a/1 collect a/1 +120s new b/1 new c/1 new a/2", "a/1 b/1"),
    ("it is suspected although the clock was set back", "begun a/1 collect a/1 +9s -900s begun a/1 +10s new b/1", "a/1"),
    ("one tries after a while although the clock was set back", "begun a/1 collect a/1 +120s new b/1 end b/1 -900s begun a/1 +120s new c/1", "a/1 b/1 c/1"),
    ("if that one waits too, the next one tries after a while", "begun a/1 collect a/1 +120s new b/1 new c/1 begun b/1 collect b/1 +119s new d/1 +1s new b/2", "a/1 b/1 c/1"),
];

fn run(script: &str) -> (Turns, Millis, String) {
    let (mut turns, mut now) = (Turns::default(), 1_000_000);
    let mut admitted = Vec::new();
    let mut words = script.split_whitespace();
    while let Some(word) = words.next() {
        if word == "fill" {
            fill(&mut turns, now);
            continue;
        }
        if let Some(seconds) = word.strip_prefix('+') {
            now += seconds.trim_end_matches('s').parse::<Millis>().unwrap() * 1000;
            continue;
        }
        if let Some(seconds) = word.strip_prefix('-') {
            now -= seconds.trim_end_matches('s').parse::<Millis>().unwrap() * 1000;
            continue;
        }
        let (namespace, name) = words.next().unwrap().split_once('/').unwrap();
        let set = SetName::new(namespace, name);
        match word {
            "new" => turns.ask(&set, false),
            "begun" => turns.ask(&set, true),
            "absent" => turns.needs_none(&set),
            "pause" => turns.pauses(&set, &PauseCause::Others, now),
            "fail" => turns.pauses(&set, &PauseCause::Failure("503".to_owned()), now),
            "collect" => turns.pauses(&set, &PauseCause::Collecting, now),
            "collected" => turns.pauses(&set, &PauseCause::Settling, now),
            "end" => turns.ends(&set),
            other => panic!("unknown word {other}"),
        }
        let sets = turns.admit(now).into_iter();
        admitted.extend(sets.map(|set| format!("{}/{}", set.namespace, set.name)));
    }
    (turns, now, admitted.join(" "))
}

/// Takes all places for replacements of four namespaces that have begun.
fn fill(turns: &mut Turns, now: Millis) {
    for namespace in ["a", "b", "c", "d"] {
        for number in 1..=PLACES_OF_NAMESPACE {
            turns.ask(&SetName::new(namespace, number.to_string()), true);
        }
    }
    assert_eq!(turns.admit(now).len(), PLACES);
}

#[test]
fn places_go_to_those_whose_turn_it_is() {
    assert_eq!((USUAL, PROBE), (10_000, 120_000));
    for (what, script, expected) in TABLE {
        let (turns, _, admitted) = run(script);
        assert_eq!(admitted, expected, "{what}: {script}\n{turns:?}");
    }
}

#[test]
fn prevented_replacement_names_the_one_that_waits() {
    let suspected = "begun a/1 collect a/1 +10s new b/1";
    let tried = "begun a/1 collect a/1 begun c/1 +1s collect c/1 collected c/1 +9s new a/2 new b/1";
    for (what, script, set, named) in [
        ("no place is free", "fill new e/1", "e/1", None),
        ("the garbage collector is suspected", suspected, "b/1", Some("a/1")),
        ("it works for others", tried, "b/1", None),
        (
            "it works for others, and not in this namespace",
            tried,
            "a/2",
            Some("a/1"),
        ),
        ("it has begun", suspected, "a/1", None),
        ("it ended", "begun a/1 collect a/1 +10s end a/1 new b/1", "b/1", None),
    ] {
        let (turns, now, _) = run(script);
        let (namespace, name) = set.split_once('/').unwrap();
        let fault = turns.prevented(&SetName::new(namespace, name), now);
        let named = named.map(|named| format!("StatefulSet {named} waits for the garbage collector"));
        let message = fault.map(|fault| fault.message[..named.as_ref().map_or(0, String::len)].to_owned());
        assert_eq!(message, named, "{what}: {script}");
    }
}

/// Sixteen replacements of one tenant that never get on, and one of another tenant.
#[test]
fn stuck_replacements_of_one_namespace_stop_no_other() {
    for stuck in ["fail", "pause"] {
        let mut script = String::new();
        for number in 1..=PLACES {
            script += &format!("new a/{number} ");
        }
        // Each of them begins in turn, and is stuck.
        for number in 1..=PLACES {
            script += &format!("begun a/{number} +11s {stuck} a/{number} ");
        }
        for number in 1..=PLACES {
            script += &format!("begun a/{number} ");
        }
        let (_, _, admitted) = run(&format!("{script} new b/1"));
        assert!(admitted.ends_with(" b/1"), "{stuck}: {admitted}");
    }
}

#[test]
fn nothing_is_remembered_of_what_has_ended() {
    let (turns, _, _) = run("new a/1 begun a/2 absent b/1 collect a/2 end a/1 end a/2 end b/1");
    assert!(turns.is_empty() && turns.turns.is_empty(), "{turns:?}");
}
