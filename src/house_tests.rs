//! The structure of the crate: which folder may import which, and no circles between the files of a folder.
//!
//! The imports come from the sources: `use` declarations, and paths that begin with `crate` or `super`. Tests are left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

mod names;

/// The folders that each folder may import. A folder that is not listed imports nothing.
const PLAN: [(&str, &[&str]); 12] = [
    ("templates", &["json"]),
    ("api", &["json", "templates"]),
    ("claims", &["json", "templates"]),
    ("rollout", &["api", "claims", "json", "templates"]),
    ("replace", &["api", "claims", "json", "templates"]),
    ("gate", &["api", "claims", "rollout", "templates"]),
    ("admission", &["api", "claims", "gate", "json", "rollout", "templates"]),
    ("wire", &["admission", "json"]),
    ("policy", &["admission", "json", "wire"]),
    ("webhook", &["admission", "wire"]),
    (
        "controller",
        &["api", "claims", "json", "replace", "rollout", "templates"],
    ),
    (
        "sim",
        &[
            "admission",
            "api",
            "claims",
            "json",
            "replace",
            "rollout",
            "templates",
            "wire",
        ],
    ),
];
/// The front end that runs all parts may import all of them.
const IMPORTS_ALL: &str = "cli";

/// The path of a module.
type Module = Vec<String>;

/// The imports of each module.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// A source file: its module, its imports, and its re-exports with the modules that they come from.
struct Source {
    module: Module,
    paths: Vec<Module>,
    reexports: BTreeMap<String, String>,
}

/// Collects the paths in a file.
struct Collector {
    module: Module,
    paths: Vec<Module>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let mut test = false;
        if attribute.path().is_ident("cfg") {
            drop(attribute.parse_nested_meta(|meta| {
                test |= meta.path.is_ident("test");
                Ok(())
            }));
        }
        test
    })
}

/// Collects every path in a tree of a `use` declaration.
fn leaves(tree: &UseTree, before: &Module, paths: &mut Vec<Module>) {
    let with = |name: String| [&before[..], &[name]].concat();
    match tree {
        UseTree::Path(path) => leaves(&path.tree, &with(path.ident.to_string()), paths),
        UseTree::Name(name) => paths.push(with(name.ident.to_string())),
        UseTree::Rename(rename) => paths.push(with(rename.ident.to_string())),
        UseTree::Glob(_) => paths.push(before.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, before, paths)),
    }
}

impl<'a> Visit<'a> for Collector {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if !is_test(&item.attrs) {
            leaves(&item.tree, &Module::new(), &mut self.paths);
        }
    }

    /// A visibility such as `pub(in path)` imports nothing.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string());
        self.paths.push(names.collect());
        visit::visit_path(self, path);
    }
}

impl Collector {
    /// The paths in this crate, from its root.
    fn resolved(self) -> Vec<Module> {
        let Self { module, paths } = self;
        let resolve = |path: Module| {
            let above = path.iter().take_while(|name| *name == "super").count();
            match path[0].as_str() {
                "crate" => Some(path[1..].to_vec()),
                "super" => Some([&module[..module.len().checked_sub(above)?], &path[above..]].concat()),
                "self" => Some([&module[..], &path[1..]].concat()),
                _ => None,
            }
        };
        paths.into_iter().filter_map(resolve).collect()
    }
}

/// The re-exported names, with the modules that they come from.
fn reexports(items: &[Item]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in items {
        if let Item::Use(item) = item
            && !matches!(item.vis, Visibility::Inherited)
        {
            let mut paths = Vec::new();
            leaves(&item.tree, &Module::new(), &mut paths);
            for path in paths {
                let path: Module = path.into_iter().filter(|name| name != "self").collect();
                if let [module, .., name] = &path[..] {
                    found.insert(name.clone(), module.clone());
                }
            }
        }
    }
    found
}

fn read(folder: &Path, module: &Module, sources: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if name.ends_with("tests") || name == "fixtures" {
            continue;
        }
        let inner = [&module[..], std::slice::from_ref(&name)].concat();
        if path.is_dir() {
            read(&path, &inner, sources);
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let module = match name.as_str() {
            "mod" | "lib" | "main" => module.clone(),
            _ => inner,
        };
        let mut collector = Collector {
            module: module.clone(),
            paths: Vec::new(),
        };
        collector.visit_file(&file);
        sources.push(Source {
            module,
            paths: collector.resolved(),
            reexports: reexports(&file.items),
        });
    }
}

/// The imports of each module, without those that only name a folder.
fn imports() -> Imports {
    let mut sources = Vec::new();
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &Module::new(),
        &mut sources,
    );
    let known: BTreeMap<&Module, &Source> = sources.iter().map(|source| (&source.module, source)).collect();
    let target = |path: &Module| {
        let mut at = (0..=path.len())
            .rev()
            .find_map(|end| known.get(&path[..end].to_vec()))?;
        // A name that a folder re-exports belongs to the file that defines it.
        while let Some(name) = path.get(at.module.len())
            && let Some(file) = at.reexports.get(name)
            && let Some(inner) = known.get(&[&at.module[..], std::slice::from_ref(file)].concat())
        {
            if inner.module.len() < path.len() || !inner.reexports.contains_key(name) {
                return Some(inner.module.clone());
            }
            at = inner;
        }
        Some(at.module.clone())
    };
    let imports = sources.iter().map(|source| {
        let targets = source.paths.iter().filter_map(target);
        let others = targets.filter(|target| *target != source.module && !target.is_empty());
        (source.module.clone(), others.collect())
    });
    imports.collect()
}

/// The modules in a circle, or on a path between two circles.
fn circles(mut imports: Imports) -> BTreeSet<Module> {
    loop {
        let before = imports.len();
        let importing: BTreeSet<Module> = imports.values().flatten().cloned().collect();
        let left: BTreeSet<Module> = imports
            .iter()
            .filter(|(module, targets)| importing.contains(*module) && !targets.is_empty())
            .map(|(module, _)| module.clone())
            .collect();
        imports.retain(|module, _| left.contains(module));
        imports
            .values_mut()
            .for_each(|targets| targets.retain(|target| left.contains(target)));
        if imports.len() == before {
            return left;
        }
    }
}

#[test]
fn folder_imports_only_allowed_folders() {
    let imports = imports();
    let plan: BTreeMap<&str, &[&str]> = PLAN.into_iter().collect();
    let mut against = BTreeSet::new();
    for (module, targets) in &imports {
        for (of, target) in module
            .first()
            .into_iter()
            .zip(targets)
            .map(|(of, target)| (of, &target[0]))
        {
            let allowed = of == target
                || of == IMPORTS_ALL
                || plan.get(of.as_str()).is_some_and(|may| may.contains(&target.as_str()));
            if !allowed {
                against.insert(format!("{} imports {target}", module.join("/")));
            }
        }
        for target in targets
            .iter()
            .filter(|_| module.first().is_some_and(|of| of != IMPORTS_ALL))
        {
            assert_ne!(target[0], IMPORTS_ALL, "{} imports {IMPORTS_ALL}", module.join("/"));
        }
    }
    assert!(against.is_empty(), "{against:#?}");
    let seen = imports.len();
    assert!(seen > 150, "only {seen} files were read");
}

#[test]
fn files_of_a_folder_import_in_no_circle() {
    let found: Vec<String> = circles(imports()).iter().map(|module| module.join("/")).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn circle_of_imports_is_detected() {
    let module = |name: &str| vec![name.to_owned()];
    let imports = |pairs: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (from, to) in pairs {
            imports.entry(module(from)).or_default().insert(module(to));
            imports.entry(module(to)).or_default();
        }
        imports
    };
    assert_eq!(circles(imports(&[("a", "b"), ("b", "c"), ("a", "c")])), BTreeSet::new());
    let three = imports(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]);
    assert_eq!(circles(three), BTreeSet::from([module("b"), module("c")]));
}

/// Checks the rows `| rule | `file` | `function` |` of docs/design.md.
#[test]
fn rule_of_the_design_is_in_its_function() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let design = std::fs::read_to_string(root.join("docs/design.md")).expect("docs/design.md");
    let mut rules = 0;
    for row in design.lines().filter(|row| row.contains(".rs` |")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, _, file, function, _] = &cells[..] else {
            continue;
        };
        let source = root.join(file.trim_matches('`'));
        let source = std::fs::read_to_string(&source).unwrap_or_else(|error| panic!("{row}: {error}"));
        let function = function.trim_matches('`');
        let defined = [format!("fn {function}("), format!("fn {function}<")];
        assert!(defined.iter().any(|text| source.contains(text)), "{row}");
        rules += 1;
    }
    assert!(rules > 20, "only {rules} rules were found");
}
