use super::{LINGER, MAX_NAMESPACES, Scopes};

/// A step of the test.
#[derive(Clone, Copy)]
enum ScopeStep {
    Enter([&'static str; 3]),
    Leave([&'static str; 3]),
    Keep(&'static str),
    Sweep,
}
use ScopeStep::{Enter, Keep, Leave, Sweep};

/// Scopes with the name of the namespace as the watch, `*` for the cluster.
type NamedScopes = Scopes<String>;

fn enter(scopes: &mut NamedScopes, set: [&str; 3]) -> String {
    scopes.enter(set, vec!["data".to_owned()], |namespace| {
        namespace.unwrap_or("*").to_owned()
    })
}

fn open(scopes: &NamedScopes) -> String {
    let mut names: Vec<&str> = scopes.open.iter().map(|open| open.watched.as_str()).collect();
    names.sort_unstable();
    names.join(" ")
}

/// As many namespaces as possible, each with a set.
fn full() -> NamedScopes {
    let mut scopes = NamedScopes::default();
    for index in 0..MAX_NAMESPACES {
        let namespace = format!("n{index}");
        assert_eq!(enter(&mut scopes, [&namespace, "web", "uid"]), namespace);
    }
    scopes
}

#[test]
fn unused_watch_closes_after_a_while() {
    let (web, db) = (["a", "web", "1"], ["a", "db", "2"]);
    let late = 200 + LINGER;
    let mut scopes = NamedScopes::default();
    for (what, now, step, expected) in [
        ("a set enters", 0, Enter(web), "a"),
        ("another one of its namespace", 1, Enter(db), "a"),
        ("one leaves", 2, Leave(web), "a"),
        ("the other one needs it", late, Sweep, "a"),
        ("it leaves", late, Leave(db), "a"),
        ("it lingers", late + LINGER - 1, Sweep, "a"),
        ("it leaves again", late + LINGER - 1, Leave(db), "a"),
        ("it has lingered", late + LINGER, Sweep, ""),
        ("one enters again", late + LINGER, Enter(web), "a"),
        ("it leaves", late + LINGER, Leave(web), "a"),
        ("and enters again in time", late + LINGER + 9, Enter(web), "a"),
        ("and stays", late + 3 * LINGER, Sweep, "a"),
        ("it does not exist any more", late + 3 * LINGER, Keep("2"), "a"),
        ("the clock was set back", late, Sweep, ""),
    ] {
        match step {
            Enter(set) => drop(enter(&mut scopes, set)),
            Leave(set) => scopes.leave(set, now),
            Keep(existing) => scopes.keep(|uid| uid == existing, now),
            Sweep => scopes.close_unused(now),
        }
        assert_eq!(open(&scopes), expected, "{what}");
    }
}

#[test]
fn namespaces_above_the_maximum_share_one_watch() {
    let mut scopes = full();
    let count = |scopes: &NamedScopes| scopes.open.len();
    for (why, set, expected) in [
        ("there is no room", ["late", "web", "1"], "*"),
        ("nor for others", ["later", "web", "1"], "*"),
        ("a namespace with a watch uses it", ["n3", "db", "1"], "n3"),
        ("again", ["n3", "db", "1"], "n3"),
    ] {
        assert_eq!(enter(&mut scopes, set), expected, "{why}");
        assert_eq!(count(&scopes), MAX_NAMESPACES + 1, "{why}");
    }
    scopes.leave(["n5", "web", "uid"], 10);
    scopes.leave(["n7", "web", "uid"], 11);
    for (why, set, expected) in [
        ("a set that shares a watch keeps it", ["late", "web", "1"], "*"),
        ("an unused watch closes", ["newest", "web", "1"], "newest"),
        ("for sets of namespaces that shared, too", ["later", "db", "1"], "later"),
        ("but not for more", ["last", "db", "1"], "*"),
    ] {
        assert_eq!(enter(&mut scopes, set), expected, "{why}");
        assert_eq!(count(&scopes), MAX_NAMESPACES + 1, "{why}");
    }
    assert!(!open(&scopes).contains("n5"), "the one unused for longest closes first");
}

#[test]
fn deleted_set_does_not_affect_new_set_of_its_name() {
    let mut scopes = NamedScopes::default();
    enter(&mut scopes, ["a", "web", "old"]);
    enter(&mut scopes, ["a", "web", "new"]);
    for (uid, expected) in [("old", 1), ("new", 0)] {
        scopes.leave(["a", "web", uid], 5);
        assert_eq!(scopes.users(Some("a")).count(), expected, "{uid} leaves");
    }
}

#[test]
fn event_concerns_sets_that_can_have_the_claim() {
    let mut scopes = full();
    enter(&mut scopes, ["n1", "web-1", "uid"]);
    enter(&mut scopes, ["shared", "web", "uid"]);
    let rows: [(&str, &str, &[&str]); 7] = [
        ("n1", "data-web-0", &["web"]),
        ("n1", "data-web-1-0", &["web-1"]),
        ("n1", "log-web-0", &[]),
        ("n1", "data-web", &[]),
        ("shared", "data-web-0", &["web"]),
        ("shared", "data-web-1-0", &[]),
        ("other", "data-web-0", &[]),
    ];
    for (namespace, claim, expected) in rows {
        assert_eq!(scopes.concerned(namespace, claim), expected, "{namespace} {claim}");
    }
    for (namespace, expected) in [(Some("n1"), 2), (Some("n2"), 1), (Some("shared"), 0), (None, 1)] {
        assert_eq!(scopes.users(namespace).count(), expected, "{namespace:?}");
    }
}

#[test]
fn scopes_without_namespaces_have_one_watch_for_all() {
    let mut scopes = NamedScopes::at_most(0);
    for namespace in ["a", "b"] {
        assert_eq!(enter(&mut scopes, [namespace, "web", "1"]), "*");
    }
    for (set, expected) in [
        (["a", "web"], Some("*")),
        (["b", "web"], Some("*")),
        (["a", "db"], None),
    ] {
        assert_eq!(scopes.of(set).map(String::as_str), expected, "{set:?}");
    }
    assert_eq!(open(&scopes), "*");
}
