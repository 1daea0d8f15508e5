use super::{LINGER, MOST, Scopes};

/// What a step does at a time, and which watches are open then, `*` that on the cluster.
#[derive(Clone, Copy)]
enum Step {
    Enter([&'static str; 3]),
    Leave([&'static str; 3]),
    Keep(&'static str),
    Sweep,
}
use Step::{Enter, Keep, Leave, Sweep};

/// A book whose watches are known by what they are on.
type Book = Scopes<String>;

fn enter(book: &mut Book, set: [&str; 3]) -> String {
    book.enter(set, vec!["data".to_owned()], |namespace| {
        namespace.unwrap_or("*").to_owned()
    })
}

fn open(book: &Book) -> String {
    let mut names: Vec<&str> = book.open.iter().map(|open| open.watched.as_str()).collect();
    names.sort_unstable();
    names.join(" ")
}

/// So many namespaces, each with a set.
fn full() -> Book {
    let mut book = Book::default();
    for index in 0..MOST {
        let namespace = format!("n{index}");
        assert_eq!(enter(&mut book, [&namespace, "web", "uid"]), namespace);
    }
    book
}

#[test]
fn what_nobody_needs_is_closed_after_a_while() {
    let (web, db) = (["a", "web", "1"], ["a", "db", "2"]);
    let late = 200 + LINGER;
    let mut book = Book::default();
    for (what, now, step, expected) in [
        ("one comes", 0, Enter(web), "a"),
        ("another of its namespace", 1, Enter(db), "a"),
        ("one goes", 2, Leave(web), "a"),
        ("the other needs it", late, Sweep, "a"),
        ("it goes", late, Leave(db), "a"),
        ("it lingers", late + LINGER - 1, Sweep, "a"),
        ("it goes again", late + LINGER - 1, Leave(db), "a"),
        ("it has lingered", late + LINGER, Sweep, ""),
        ("one comes back", late + LINGER, Enter(web), "a"),
        ("it goes", late + LINGER, Leave(web), "a"),
        ("and comes back in time", late + LINGER + 9, Enter(web), "a"),
        ("and stays", late + 3 * LINGER, Sweep, "a"),
        ("it is not there any more", late + 3 * LINGER, Keep("2"), "a"),
        ("the clock was set back", late, Sweep, ""),
    ] {
        match step {
            Enter(set) => drop(enter(&mut book, set)),
            Leave(set) => book.leave(set, now),
            Keep(there) => book.keep(|uid| uid == there, now),
            Sweep => book.close_unused(now),
        }
        assert_eq!(open(&book), expected, "{what}");
    }
}

#[test]
fn above_so_many_namespaces_the_others_share_one_watch() {
    let mut book = full();
    let count = |book: &Book| book.open.len();
    for (why, set, expected) in [
        ("there is no room", ["late", "web", "1"], "*"),
        ("nor for others", ["later", "web", "1"], "*"),
        ("where there is a watch, it serves", ["n3", "db", "1"], "n3"),
        ("again", ["n3", "db", "1"], "n3"),
    ] {
        assert_eq!(enter(&mut book, set), expected, "{why}");
        assert_eq!(count(&book), MOST + 1, "{why}");
    }
    book.leave(["n5", "web", "uid"], 10);
    book.leave(["n7", "web", "uid"], 11);
    for (why, set, expected) in [
        ("who shares one stays with it", ["late", "web", "1"], "*"),
        ("what nobody needs makes room", ["newest", "web", "1"], "newest"),
        ("for sets of namespaces that shared, too", ["later", "db", "1"], "later"),
        ("but not for more", ["last", "db", "1"], "*"),
    ] {
        assert_eq!(enter(&mut book, set), expected, "{why}");
        assert_eq!(count(&book), MOST + 1, "{why}");
    }
    assert!(!open(&book).contains("n5"), "the first that nobody needed goes first");
}

#[test]
fn a_set_that_goes_leaves_the_next_of_its_name_alone() {
    let mut book = Book::default();
    enter(&mut book, ["a", "web", "old"]);
    enter(&mut book, ["a", "web", "new"]);
    for (uid, expected) in [("old", 1), ("new", 0)] {
        book.leave(["a", "web", uid], 5);
        assert_eq!(book.users(Some("a")).count(), expected, "{uid} goes");
    }
}

#[test]
fn an_event_concerns_the_sets_that_could_have_the_claim() {
    let mut book = full();
    enter(&mut book, ["n1", "web-1", "uid"]);
    enter(&mut book, ["shared", "web", "uid"]);
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
        assert_eq!(book.concerned(namespace, claim), expected, "{namespace} {claim}");
    }
    for (namespace, expected) in [(Some("n1"), 2), (Some("n2"), 1), (Some("shared"), 0), (None, 1)] {
        assert_eq!(book.users(namespace).count(), expected, "{namespace:?}");
    }
}

#[test]
fn a_book_of_no_namespaces_has_one_watch_for_all() {
    let mut book = Book::at_most(0);
    for namespace in ["a", "b"] {
        assert_eq!(enter(&mut book, [namespace, "web", "1"]), "*");
    }
    for (set, expected) in [
        (["a", "web"], Some("*")),
        (["b", "web"], Some("*")),
        (["a", "db"], None),
    ] {
        assert_eq!(book.of(set).map(String::as_str), expected, "{set:?}");
    }
    assert_eq!(open(&book), "*");
}
