//! The structure of the crate: which folder may import which, and no circles between the files of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use imports::{Imports, Part, Source, circles, imports, read, source};

mod imports;
mod names;
mod texts;

/// The folders that each folder may import. A folder that is not listed imports nothing.
const PLAN: [(&str, &str); 12] = [
    ("templates", "json"),
    ("api", "json templates"),
    ("claims", "json templates"),
    ("gate", "api claims json templates"),
    ("rollout", "api claims gate json templates"),
    ("replace", "api claims json templates"),
    ("wire", "claims json templates"),
    ("admission", "api claims gate templates wire"),
    ("policy", "admission json"),
    ("webhook", "admission metrics templates"),
    ("controller", "api claims gate json metrics replace rollout templates"),
    ("sim", "admission api claims gate json replace rollout templates"),
];
/// The folders of the controller, from the inside out. Each may import those before it.
const CONTROLLER: [&str; 14] = [
    "metrics",
    "read",
    "objects",
    "calls",
    "watch",
    "memory",
    "places",
    "registrations",
    "report",
    "observe",
    "write",
    "replacing",
    "reconcile",
    "lead",
];
/// What runs all parts, or describes them, may import all of them.
const IMPORT_ALL: [&str; 2] = ["cli", "packager"];

/// The sources of this crate without tests.
fn sources() -> Vec<Source> {
    all_of("src", Part::WithoutTests)
}

fn all_of(folder: &str, part: Part) -> Vec<Source> {
    let mut sources = Vec::new();
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
        &[],
        part,
        &mut sources,
    );
    sources
}

/// The imports that the plan does not allow.
fn against(imports: &Imports) -> BTreeSet<String> {
    let plan: BTreeMap<&str, &str> = PLAN.into_iter().collect();
    let mut against = BTreeSet::new();
    for (module, targets) in imports {
        let Some(of) = module.first() else {
            continue;
        };
        for target in targets.iter().map(|target| &target[0]) {
            let is_planned = plan
                .get(of.as_str())
                .is_some_and(|may| may.split(' ').any(|may| may == target));
            let allowed = of == target || is_planned || IMPORT_ALL.contains(&of.as_str());
            if !allowed {
                against.insert(format!("{} imports {target}", module.join("/")));
            }
        }
    }
    against
}

/// The imports of a folder of the controller from one that is further out, and those of its other files from any folder.
fn outwards(imports: &Imports) -> BTreeSet<String> {
    let place = |module: &[String]| match module {
        [controller, folder, ..] if controller == "controller" => {
            Some(CONTROLLER.iter().position(|known| known == folder))
        }
        _ => None,
    };
    let mut outwards = BTreeSet::new();
    for (module, targets) in imports {
        let Some(from) = place(module) else {
            continue;
        };
        for target in targets {
            if place(target).is_some_and(|to| to > from) {
                outwards.insert(format!("{} imports {}", module.join("/"), target.join("/")));
            }
        }
    }
    outwards
}

/// The modules in circles.
fn in_circles(imports: Imports) -> Vec<String> {
    circles(imports).iter().map(|module| module.join("/")).collect()
}

#[test]
fn folder_imports_only_allowed_folders() {
    let imports = imports(&sources());
    let against = against(&imports);
    assert!(against.is_empty(), "{against:#?}");
    let seen = imports.len();
    assert!(seen > 150, "only {seen} files were read");
}

#[test]
fn folder_of_the_controller_imports_only_inwards() {
    let mut imports = imports(&sources());
    // It names every kind that is read, for tests.
    imports.remove(&["controller", "kinds"].map(str::to_owned)[..]);
    let outwards = outwards(&imports);
    assert!(outwards.is_empty(), "{outwards:#?}");
    let folders: BTreeSet<&String> = imports
        .keys()
        .filter(|module| module.first().is_some_and(|folder| folder == "controller"))
        .filter_map(|module| module.get(1))
        .collect();
    assert!(
        CONTROLLER.iter().all(|folder| folders.contains(&(*folder).to_owned())),
        "{folders:?}"
    );
}

#[test]
fn import_outwards_is_detected() {
    let of = |module: &[&str], target: &[&str]| {
        let path = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        let module = path(&[&["controller"], module].concat());
        let target = path(&[&["controller"], target].concat());
        outwards(&Imports::from([(module, [target].into())])).len()
    };
    for (module, target, expected) in [
        (&["write", "writer"][..], &["report", "events"][..], 0),
        (&["write", "writer"], &["write", "evict"], 0),
        (&["report", "events"], &["write", "writer"], 1),
        (&["lead", "leader"], &["clock"], 0),
        (&["clock"], &["lead", "leader"], 1),
        (&["clock"], &["locking"], 0),
    ] {
        assert_eq!(of(module, target), expected, "{module:?} imports {target:?}");
    }
}

#[test]
fn files_of_a_folder_import_in_no_circle() {
    let found = in_circles(imports(&sources()));
    assert!(found.is_empty(), "{found:#?}");
    // A file that ships and the tests in it are one: of the rest, only the files of tests count.
    let mut tests = imports(&all_of("src", Part::WithTests));
    tests.retain(|module, _| module.iter().any(|name| name.ends_with("tests")));
    let found = in_circles(tests);
    assert!(found.is_empty(), "tests: {found:#?}");
    for root in ["e2e-tests", "e2e-tests/offline", "fuzz/src", "hack/oci/src", "benches"] {
        let found = in_circles(imports(&all_of(root, Part::WithTests)));
        assert!(found.is_empty(), "{root}: {found:#?}");
    }
}

/// Files of the folders `templates` and `admission`, with one more in `templates`.
fn planted(text: &str) -> Imports {
    let files: [(&[&str], &str); 6] = [
        (
            &["templates"],
            "mod name; mod size; pub use size::Size; pub fn order() {}",
        ),
        (&["templates", "name"], "pub struct Name;"),
        (&["templates", "size"], "pub struct Size;"),
        (&["json"], "pub struct Text;"),
        (&["admission"], "pub struct Review;"),
        (&["templates", "planted"], text),
    ];
    let sources = files.map(|(module, text)| source(module, text, Part::WithoutTests).expect("Rust"));
    imports(&sources)
}

#[test]
fn import_against_the_plan_is_detected_anywhere() {
    const FOUND: &[&str] = &["templates/planted imports admission"];
    for (text, expected) in [
        ("use crate::json::Text; use super::Size;", &[][..]),
        ("use crate::admission::Review;", FOUND),
        // It is not the first one.
        (
            "use crate::admission::Review; use super::Size; use crate::json::Text;",
            FOUND,
        ),
        ("use {crate::json::Text, crate::admission as other};", FOUND),
        ("fn f() { crate::admission::review(crate::json::text()) }", FOUND),
        ("fn f(of: &super::super::admission::Review) {}", FOUND),
        ("fn f() { assert!(matches!(x, crate::admission::Review)) }", FOUND),
        ("macro_rules! m { () => { $crate::admission::Review } }", FOUND),
        ("fn f() { println!(\"crate\") }", &[]),
        ("#[cfg(test)] mod tests { use crate::admission::Review; }", &[]),
    ] {
        let found: Vec<String> = against(&planted(text)).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn circle_of_imports_is_detected_anywhere() {
    const CHILDREN: &str = "mod one; mod two;";
    let of = |folder: &str, one: &str, two: &str| {
        let files = [(&["f"][..], folder), (&["f", "one"], one), (&["f", "two"], two)];
        let sources = files.map(|(module, text)| source(module, text, Part::WithoutTests).expect("Rust"));
        in_circles(imports(&sources))
    };
    for (folder, one, two, expected) in [
        ("", "use super::two::Two;", "struct Two;", &[][..]),
        (
            "",
            "use super::two::Two;",
            "fn f() { dbg!(super::one::g()) }",
            &["f/one", "f/two"],
        ),
        // A folder and its child.
        ("use one::One; fn f() {}", "use super::f;", "", &["f", "f/one"]),
        ("fn f() { one::g() }", "fn g() { super::f() }", "", &["f", "f/one"]),
        (
            "fn f() { one::g() }",
            "use super::two::Two;",
            "use super::f;",
            &["f", "f/one", "f/two"],
        ),
        // What a folder takes from a child belongs to the child.
        (
            "pub use one::One; pub use two::Two;",
            "use super::Two;",
            "struct Two;",
            &[],
        ),
        ("use one::One; use two::Two;", "use super::Two;", "struct Two;", &[]),
        ("pub use one::One; fn f() {}", "use super::f;", "use super::One;", &[]),
    ] {
        let folder = format!("{CHILDREN} {folder}");
        assert_eq!(of(&folder, one, two), expected, "{folder} | {one} | {two}");
    }
}

/// The names that are called in a file, without those in its tests.
fn called(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("a source");
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let calls = lines.flat_map(|line| line.match_indices('(').map(move |(place, _)| &line[..place]));
    let name = |before: &str| {
        let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
        let start = before.trim_end_matches(is_of_name).len();
        (!before[..start].ends_with("fn ")).then(|| before[start..].to_owned())
    };
    calls.filter_map(name).collect()
}

/// All files of a folder but tests.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let is_test = path.file_stem().expect("a name").to_string_lossy().ends_with("tests");
        match (is_test, path.is_dir()) {
            (true, _) => {}
            (false, true) => files(&path, found),
            (false, false) => found.push(path),
        }
    }
}

/// Checks the rows `| rule | `file` | `function` |` of docs/dev/design.md: the function is there, and the program calls it.
#[test]
fn rule_of_the_design_is_in_its_function() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let design = std::fs::read_to_string(root.join("docs/dev/design.md")).expect("docs/dev/design.md");
    let mut rules = 0;
    let mut sources = Vec::new();
    files(&root.join("src"), &mut sources);
    let all: BTreeSet<String> = sources.iter().flat_map(|file| called(file)).collect();
    let section = design.split("## Where each rule is decided").nth(1).expect("a section");
    let section = section.split("\n## ").next().unwrap_or_default();
    for row in section.lines().filter(|row| row.contains(".rs` |")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, _, file, function, _] = &cells[..] else {
            continue;
        };
        let source = root.join(file.trim_matches('`'));
        let source = std::fs::read_to_string(&source).unwrap_or_else(|error| panic!("{row}: {error}"));
        let function = function.trim_matches('`');
        let defined = [format!("fn {function}("), format!("fn {function}<")];
        assert!(defined.iter().any(|text| source.contains(text)), "{row}");
        assert!(all.contains(function), "nothing calls it: {row}");
        rules += 1;
    }
    assert!(rules > 20, "only {rules} rules were found");
}

#[test]
fn file_of_the_design_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let design = std::fs::read_to_string(root.join("docs/dev/design.md")).expect("docs/dev/design.md");
    let files = design
        .split('`')
        .filter(|text| text.starts_with("src/") && text.ends_with(".rs"));
    let missing: Vec<&str> = files.clone().filter(|file| !root.join(file).is_file()).collect();
    assert!(missing.is_empty() && files.count() > 30, "{missing:?}");
}
