//! The imports of each module, read from the sources: `use` declarations, paths that begin with `crate`, `super` or the
//! name of a child, and those in the tokens of macros. Of what ships, tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

pub(super) fn is_test(attributes: &[Attribute]) -> bool {
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

/// The path of a module.
pub(super) type Module = Vec<String>;

/// The imports of each module.
pub(super) type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// A source file: its module, its imports, and the names that it takes from its children, each with the child.
pub(super) struct Source {
    module: Module,
    paths: Vec<Module>,
    taken: BTreeMap<String, String>,
}

/// What of the sources counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    WithTests,
    WithoutTests,
}

/// Collects the paths in a file.
struct Collector {
    part: Part,
    /// The module of the item that is read: one within the file, if it is in one.
    module: Module,
    children: BTreeSet<String>,
    /// Each with the module where it stands.
    paths: Vec<(Module, Module)>,
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

/// The paths in the tokens of a macro.
fn paths_of(tokens: &str) -> impl Iterator<Item = Module> {
    let joined = tokens.replace(":: ", "::").replace(" ::", "::");
    let is_of_path = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
    let words: Vec<Module> = joined
        .split(|sign| !is_of_path(sign))
        .filter(|word| word.contains("::"))
        .map(|word| {
            word.split("::")
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect()
        })
        .collect();
    words.into_iter().filter(|path: &Module| !path.is_empty())
}

impl<'a> Visit<'a> for Collector {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if self.part.has(&item.attrs) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    /// What a folder takes from a child to show it to others is an import of theirs.
    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let mut paths = Vec::new();
        leaves(&item.tree, &Module::new(), &mut paths);
        let is_shown = !matches!(item.vis, Visibility::Inherited);
        paths.retain(|path| !(is_shown && self.is_child(path)));
        if self.part.has(&item.attrs) {
            self.add(paths);
        }
    }

    /// A visibility such as `pub(in path)` imports nothing.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        // A name alone is that of a value or a type, also if a file has the same.
        let names: Module = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(Some(names).filter(|names| names.len() > 1));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'a Macro) {
        self.add(paths_of(&item.tokens.to_string()));
        visit::visit_macro(self, item);
    }
}

impl Part {
    /// True iff an item with these attributes counts.
    fn has(self, attributes: &[Attribute]) -> bool {
        self == Self::WithTests || !is_test(attributes)
    }
}

impl Collector {
    fn add(&mut self, paths: impl IntoIterator<Item = Module>) {
        let paths = paths.into_iter().map(|path| (self.module.clone(), path));
        self.paths.extend(paths);
    }

    /// True iff the path begins with a child of the module.
    fn is_child(&self, path: &[String]) -> bool {
        let path = path.strip_prefix(&["self".to_owned()][..]).unwrap_or(path);
        path.first().is_some_and(|first| self.children.contains(first))
    }

    /// The paths in this crate, from its root.
    fn resolved(self) -> Vec<Module> {
        let Self { children, paths, .. } = self;
        let resolve = |(module, path): (Module, Module)| {
            let above = path.iter().take_while(|name| *name == "super").count();
            match path[0].as_str() {
                "crate" => Some(path[1..].to_vec()),
                "super" => Some([&module[..module.len().checked_sub(above)?], &path[above..]].concat()),
                "self" => Some([&module[..], &path[1..]].concat()),
                child if children.contains(child) => Some([&module[..], &path[..]].concat()),
                _ => None,
            }
        };
        paths.into_iter().filter_map(resolve).collect()
    }
}

/// The names that a file takes from its children, each with the child.
fn taken(items: &[Item], children: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in items {
        if let Item::Use(item) = item {
            let mut paths = Vec::new();
            leaves(&item.tree, &Module::new(), &mut paths);
            for path in paths {
                let path: Module = path.into_iter().filter(|name| name != "self").collect();
                if let [module, .., name] = &path[..]
                    && children.contains(module)
                {
                    found.insert(name.clone(), module.clone());
                }
            }
        }
    }
    found
}

/// What a file of this module has. `None` if it is no Rust.
pub(super) fn source(module: &[&str], text: &str, part: Part) -> Option<Source> {
    let module: Module = module.iter().map(|name| (*name).to_owned()).collect();
    let file = syn::parse_file(text).ok()?;
    let is_child = |item: &Item| match item {
        Item::Mod(child) if child.content.is_none() && part.has(&child.attrs) => Some(child.ident.to_string()),
        _ => None,
    };
    let children: BTreeSet<String> = file.items.iter().filter_map(is_child).collect();
    let taken = taken(&file.items, &children);
    let mut collector = Collector {
        part,
        module: module.clone(),
        children,
        paths: Vec::new(),
    };
    collector.visit_file(&file);
    Some(Source {
        module,
        paths: collector.resolved(),
        taken,
    })
}

/// Reads the files of a folder.
pub(super) fn read(folder: &Path, module: &[&str], part: Part, sources: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let is_test = name.ends_with("tests") || name == "fixtures";
        if is_test && part == Part::WithoutTests || name == "target" {
            continue;
        }
        let inner = [module, &[&*name]].concat();
        if path.is_dir() {
            read(&path, &inner, part, sources);
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let is_of_folder = ["mod", "lib", "main"].contains(&&*name);
        let module = if is_of_folder { module } else { &inner };
        sources.push(source(module, &text, part).unwrap_or_else(|| panic!("{} is no Rust", path.display())));
    }
}

/// The imports of each module, without those that only name a folder.
pub(super) fn imports(sources: &[Source]) -> Imports {
    let known: BTreeMap<&Module, &Source> = sources.iter().map(|source| (&source.module, source)).collect();
    let target = |path: &Module| {
        let mut at = (0..=path.len())
            .rev()
            .find_map(|end| known.get(&path[..end].to_vec()))?;
        // A name that a folder takes from a child belongs to the file that defines it.
        while let Some(name) = path.get(at.module.len())
            && let Some(file) = at.taken.get(name)
            && let Some(inner) = known.get(&[&at.module[..], std::slice::from_ref(file)].concat())
        {
            if inner.module.len() < path.len() || !inner.taken.contains_key(name) {
                return Some(inner.module.clone());
            }
            at = inner;
        }
        Some(at.module.clone())
    };
    let mut imports = Imports::new();
    for source in sources {
        let targets = source.paths.iter().filter_map(target);
        let others = targets.filter(|target| *target != source.module && !target.is_empty());
        imports.entry(source.module.clone()).or_default().extend(others);
    }
    imports
}

/// The modules in a circle, or on a path between two circles.
pub(super) fn circles(mut imports: Imports) -> BTreeSet<Module> {
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
