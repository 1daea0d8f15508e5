//! What comments state of the house: the tables of files, and the documents that they name.

use std::collections::BTreeSet;
use std::path::Path;

use super::names::files;

/// The words between backticks or square brackets, without punctuation.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.map(|name| name.trim_start_matches("mod@").trim_end_matches('/'))
}

/// What a table of files lacks, and what it has too much: `//! | file | … |`, then a row for each file or several.
fn faults(text: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! |"));
    let rows: Vec<&str> = rows.map(|row| row.split('|').next().unwrap_or_default()).collect();
    if rows.first().is_none_or(|head| head.trim() != "file") {
        return Vec::new();
    }
    let listed: BTreeSet<&str> = rows.iter().flat_map(|row| names(row)).collect();
    let is_whole = !rows.iter().any(|row| row.trim() == "all others");
    let modules = text.lines().filter_map(|line| line.trim_start().strip_suffix(';'));
    let modules = modules
        .filter_map(|line| line.rsplit_once("mod "))
        .map(|(_, name)| name);
    let is_test = |name: &str| name.ends_with("tests") || name == "fixtures";
    let missing = modules.filter(|name| is_whole && !is_test(name) && !listed.contains(name));
    missing.map(str::to_owned).collect()
}

#[test]
fn table_of_a_folder_names_all_its_files() {
    let mut tables = 0;
    for (path, text) in ["src", "e2e-tests"].into_iter().flat_map(files) {
        let faults = faults(&text);
        assert!(
            faults.is_empty(),
            "{}: not in the table of files: {faults:?}",
            path.display()
        );
        tables += usize::from(text.contains("//! | file |"));
    }
    assert!(tables > 10, "only {tables} tables were found");
}

#[test]
fn file_that_a_table_lacks_is_detected() {
    let table = "//! | file | contains |\n//! |---|---|\n//! | [`one`], `two` | both |\n";
    for (modules, expected) in [
        ("mod one;\npub(crate) mod two;\n#[cfg(test)]\nmod one_tests;\n", &[][..]),
        ("mod one;\nmod two;\nmod three;\n", &["three"]),
    ] {
        assert_eq!(faults(&format!("{table}{modules}")), expected, "{modules}");
        assert!(faults(modules).is_empty(), "without a table");
        let open = format!("{table}//! | all others | the rest |\n{modules}");
        assert!(faults(&open).is_empty(), "{open}");
    }
}

/// The documents of this name in the repository that a comment names, such as `docs/dev/design.md`.
#[test]
fn document_that_a_comment_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).to_owned();
    let is_of_path = |sign: char| sign.is_alphanumeric() || "/._-".contains(sign);
    let mut count = 0;
    for (path, text) in ["src", "e2e-tests", "hack/oci", "benches", "fuzz"]
        .into_iter()
        .flat_map(files)
    {
        let comments = text.lines().map(str::trim_start).filter(|line| line.starts_with("//"));
        for line in comments.filter(|line| !line.contains("://")) {
            let words = line.split(|sign| !is_of_path(sign));
            let words = words.map(|word| word.trim_end_matches('.'));
            for name in words.filter(|word| word.ends_with(".md")) {
                let beside = path.parent().expect("a folder");
                let is_there = [beside, &root, &root.join("docs")].map(|folder| folder.join(name).is_file());
                assert!(
                    is_there.contains(&true),
                    "{}: there is no {name}: {line}",
                    path.display()
                );
                count += 1;
            }
        }
    }
    assert!(count > 30, "only {count} names were found");
}
