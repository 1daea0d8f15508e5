//! Names and sizes: a type has one definition, a test has a short name, and a file has few lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Item, ItemEnum, ItemFn, ItemMacro, ItemMod, ItemStruct, ItemTrait, ItemType, ItemUnion};

use super::imports::is_test;

/// Names of types with several definitions, and why. At most [`MOST_REPEATED`].
const REPEATED: [(&str, &str); 3] = [
    ("Arguments", "clap: each subcommand has its own"),
    ("Error", "each module has its own, as in the standard library"),
    ("Machine", "`rollout::machine` and `replace`: what surrounds a decision"),
];
const MOST_REPEATED: usize = 10;
const _: () = assert!(REPEATED.len() <= MOST_REPEATED);

/// The longest name of a test, in characters.
const LONGEST: usize = 60;
/// The most lines of a file.
const MOST_LINES: usize = 400;

/// The types that a file defines outside of tests, and its modules that are tests.
#[derive(Default)]
struct Definitions {
    types: Vec<String>,
    tests: Vec<String>,
}

impl<'a> Visit<'a> for Definitions {
    fn visit_item(&mut self, item: &'a Item) {
        let (attributes, name) = match item {
            Item::Enum(ItemEnum { attrs, ident, .. })
            | Item::Struct(ItemStruct { attrs, ident, .. })
            | Item::Trait(ItemTrait { attrs, ident, .. })
            | Item::Type(ItemType { attrs, ident, .. })
            | Item::Union(ItemUnion { attrs, ident, .. }) => (attrs, Some(ident)),
            Item::Fn(ItemFn { attrs, .. }) | Item::Mod(ItemMod { attrs, .. }) => (attrs, None),
            Item::Macro(ItemMacro { attrs, mac, .. }) if !is_test(attrs) => {
                self.types.extend(defined_by(&mac.tokens.to_string()));
                return;
            }
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            self.types.extend(name.map(ToString::to_string));
            visit::visit_item(self, item);
        } else if let Item::Mod(module) = item {
            self.tests.push(module.ident.to_string());
        }
    }
}

/// The type that a macro defines, such as `words!`.
fn defined_by(tokens: &str) -> Option<String> {
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut words = tokens.split_whitespace();
    words.find(|word| ["enum", "struct"].contains(word))?;
    let name = words.next()?;
    name.starts_with(char::is_uppercase).then(|| {
        name.split(|sign| !is_of_name(sign))
            .next()
            .unwrap_or_default()
            .to_owned()
    })
}

/// Every Rust file in a folder of the repository, with its text.
pub(super) fn files(folder: &str) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                // What cargo has built.
                folders.extend(Some(path).filter(|path| !path.ends_with("target")));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                found.insert(path, text);
            }
        }
    }
    found
}

/// True iff the name of the file or of one of its folders marks tests.
fn is_named_as_test(path: &Path) -> bool {
    let is_test = |name: &str| name == "tests" || name.ends_with("_tests") || name == "fixtures";
    let path = path.with_extension("");
    path.iter().any(|name| name.to_str().is_some_and(is_test))
}

/// The files that define each type.
fn definitions() -> BTreeMap<String, Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let mut defined = Vec::new();
    let mut tests = Vec::new();
    for (path, text) in files("src") {
        let path = path.strip_prefix(&root).expect("a path in src").to_owned();
        if is_named_as_test(&path) {
            continue;
        }
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut definitions = Definitions::default();
        definitions.visit_file(&file);
        let folder = match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("mod" | "lib" | "main") => path.with_file_name(""),
            _ => path.with_extension(""),
        };
        tests.extend(definitions.tests.iter().map(|name| folder.join(name)));
        defined.push((path, definitions.types));
    }
    for (path, types) in defined {
        let module = path.with_extension("");
        if tests.iter().all(|test| !module.starts_with(test)) {
            for name in types {
                found.entry(name).or_default().push(path.clone());
            }
        }
    }
    found
}

/// The names of the functions with the attribute `#[test]`, also of those inside of macros.
fn test_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
            names.extend(rest.split(['(', '<']).next());
            is_test = false;
        }
    }
    names
}

#[test]
fn type_has_one_definition() {
    let definitions = definitions();
    assert!(definitions.len() > 300, "only {} types were found", definitions.len());
    for of_a_macro in ["UpdatePolicy", "ReadyReason", "Settings"] {
        assert!(definitions.contains_key(of_a_macro), "{of_a_macro}");
    }
    let mut repeated = definitions;
    repeated.retain(|name, files| files.len() > 1 && REPEATED.iter().all(|(allowed, _)| allowed != name));
    assert!(repeated.is_empty(), "{repeated:#?}");
}

#[test]
fn test_has_a_name_of_at_most_60_characters() {
    let (mut long, mut count) = (Vec::new(), 0);
    for (path, text) in ["src", "e2e-tests"].into_iter().flat_map(files) {
        for name in test_names(&text) {
            count += 1;
            if name.chars().count() > LONGEST {
                long.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
    assert!(count > 500, "only {count} tests were found");
}

#[test]
fn file_has_at_most_400_lines() {
    let files = ["src", "e2e-tests", "hack/oci", "benches", "fuzz"]
        .into_iter()
        .flat_map(files);
    let mut lines: BTreeMap<_, _> = files.map(|(path, text)| (path, text.lines().count())).collect();
    assert!(lines.len() > 800, "only {} files were found", lines.len());
    lines.retain(|_, lines| *lines > MOST_LINES);
    assert!(lines.is_empty(), "{lines:#?}");
}
