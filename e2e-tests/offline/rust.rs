//! `hack/rust` beside stand-ins of cargo and rustup: it changes no toolchain that is there.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::world::document::text;
use crate::world::repository::root;

/// Answers with an older version than the toolchain that is needed.
const OLD: &str =
    "case \"${RUSTUP_TOOLCHAIN:-}\" in NEEDED) echo 'cargo NEEDED.0 (a)' ;; *) echo 'cargo 1.2.3 (b)' ;; esac";
const NEW: &str = "echo 'cargo NEEDED.1 (c)'";
const RUSTUP: &str = "echo \"$*\" >>\"$CALLS\"";
const FAILS: &str = "echo \"$*\" >>\"$CALLS\"; exit 1";
const INSTALL: &str = "toolchain install NEEDED --no-self-update --profile minimal --component clippy --component rustfmt \
                       --target wasm32-unknown-unknown\n";

/// The stand-in of cargo, that of rustup, variables, and what is expected: success, output, calls of rustup.
type Row = (
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    &'static [(&'static str, &'static str)],
    (bool, &'static str, &'static str),
);

const ROWS: [Row; 9] = [
    ("new enough", Some(NEW), Some(RUSTUP), &[], (true, "", "")),
    ("new enough, without rustup", Some(NEW), None, &[], (true, "", "")),
    ("old", Some(OLD), Some(RUSTUP), &[], (true, "NEEDED\n", INSTALL)),
    (
        "old, without a network",
        Some(OLD),
        Some(FAILS),
        &[],
        (false, "", INSTALL),
    ),
    ("old, without rustup", Some(OLD), None, &[], (false, "", "")),
    (
        "old, and chosen",
        Some(OLD),
        Some(RUSTUP),
        &[("RUSTUP_TOOLCHAIN", "1.2.3")],
        (false, "", ""),
    ),
    (
        "a chosen cargo that fails",
        Some(NEW),
        Some(RUSTUP),
        &[("CARGO", "false")],
        (false, "", ""),
    ),
    (
        "no cargo, and no toolchain after the installation",
        None,
        Some(RUSTUP),
        &[],
        (false, "", INSTALL),
    ),
    ("nothing", None, None, &[], (false, "", "")),
];

/// A program in this folder.
fn stand_in(folder: &Path, name: &str, body: &str) -> anyhow::Result<()> {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{body}\n"))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[test]
fn older_rust_stays_and_the_needed_one_comes_beside_it() -> anyhow::Result<()> {
    let manifest = text("Cargo.toml")?;
    let needed = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let needed = needed.context("a version")?.trim_matches('"');
    for (what, cargo, rustup, variables, expected) in ROWS {
        let with_version = |text: &str| text.replace("NEEDED", needed);
        let folder = tempfile::tempdir()?;
        // Nothing else is on PATH, so that no real rustup can be reached.
        for tool in ["bash", "sed", "sort", "dirname", "false"] {
            let found = ["/usr/bin", "/bin"].map(|bin| Path::new(bin).join(tool));
            let found = found.into_iter().find(|path| path.exists()).context(tool)?;
            symlink(found, folder.path().join(tool))?;
        }
        for (name, body) in [("cargo", cargo), ("rustup", rustup)] {
            if let Some(body) = body {
                stand_in(folder.path(), name, &with_version(body))?;
            }
        }
        let calls = folder.path().join("calls");
        let mut command = Command::new(root().join("hack/rust"));
        command.env_clear().env("PATH", folder.path()).env("CALLS", &calls);
        let output = command.envs(variables.iter().copied()).output()?;
        let called = fs::read_to_string(&calls).unwrap_or_default();
        let found = (output.status.success(), String::from_utf8(output.stdout)?, called);
        let expected = (expected.0, with_version(expected.1), with_version(expected.2));
        ensure!(
            found == expected,
            "{what}: {found:?}, {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}
