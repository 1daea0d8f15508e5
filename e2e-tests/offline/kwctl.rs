//! `e2e.bats` and `test_data/`, where kwctl is not installed: the requests are those of the reviews, the recorded
//! lookups are those that the policy makes, and the native code answers as each test expects.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use claim_rollout::webhook::AdmissionReview;
use claim_rollout::webhook::engine::check_settings;
use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::world::document::text;
use crate::world::recorded::Recorded;
use crate::world::repository::root;
use crate::world::reviews_stored::Stored;
use crate::world::session::respond;

const FOLDER: &str = "test_data";
const UPDATE: &str = "UPDATE_EXPECTED=1 cargo test -p e2e-tests --no-default-features --test offline kwctl";

/// A test of `e2e.bats`.
#[derive(Debug, Default)]
struct BatsTest {
    name: String,
    /// The words of the command, without `run`.
    command: Vec<String>,
    /// True iff the command must exit with 0.
    succeeds: Option<bool>,
    /// Texts that the output has, or has not.
    output: Vec<(bool, String)>,
}

/// The tests; a line of another form is an error, so that every line is checked.
fn tests(bats: &str) -> anyhow::Result<Vec<BatsTest>> {
    let (mut tests, mut test) = (Vec::new(), None::<BatsTest>);
    for line in bats.replace("\\\n", " ").lines() {
        if let Some(name) = line.strip_prefix("@test \"").and_then(|rest| rest.strip_suffix("\" {")) {
            test = Some(BatsTest {
                name: name.to_owned(),
                ..BatsTest::default()
            });
        }
        match &mut test {
            Some(_) if line == "}" => tests.extend(test.take()),
            Some(test) if !line.starts_with('@') => test.read(line.trim())?,
            _ => {}
        }
    }
    Ok(tests)
}

impl BatsTest {
    fn read(&mut self, line: &str) -> anyhow::Result<()> {
        let of_output = |operator: &str| {
            let rest = line.strip_prefix("[[ \"$output\" ")?.strip_prefix(operator)?;
            rest.strip_prefix(" *'")?.strip_suffix("'* ]]")
        };
        if let Some(command) = line.strip_prefix("run ") {
            self.command = words(command);
        } else if let Some(part) = of_output("==") {
            self.output.push((true, part.to_owned()));
        } else if let Some(part) = of_output("!=") {
            self.output.push((false, part.to_owned()));
        } else {
            match line {
                "[ \"$status\" -eq 0 ]" => self.succeeds = Some(true),
                "[ \"$status\" -ne 0 ]" => self.succeeds = Some(false),
                "echo \"output = ${output}\"" => {}
                other => bail!("{}: {other:?} is not understood", self.name),
            }
        }
        Ok(())
    }

    /// The word after an option.
    fn option(&self, name: &str) -> Option<&str> {
        let mut words = self.command.iter().skip_while(|word| *word != name);
        words.nth(1).map(String::as_str)
    }

    /// Fails if the exit code or the output is not what the test expects.
    fn expect(&self, (succeeds, output): (bool, &str)) -> anyhow::Result<()> {
        let name = &self.name;
        ensure!(self.succeeds == Some(succeeds), "{name}: {output}");
        ensure!(!self.output.is_empty(), "{name}: nothing is expected of the output");
        for (has, part) in &self.output {
            ensure!(output.contains(part) == *has, "{name}: {part} in {output}");
        }
        Ok(())
    }
}

/// The words of a command; single quotes keep spaces.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Compares a file with what it is made from, or writes it.
fn compare(file: &str, expected: &str) -> anyhow::Result<()> {
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        return fs::write(root().join(file), expected).context(file.to_owned());
    }
    let found = text(file).unwrap_or_default();
    ensure!(found == expected, "{file} is outdated: {UPDATE}");
    Ok(())
}

/// What `kwctl run` prints, and whether it exits with 0. Compares the files of the command, and adds them to `used`.
fn run(test: &BatsTest, stored: &Stored, used: &mut BTreeSet<String>) -> anyhow::Result<(bool, String)> {
    let name = &test.name;
    let (_, entry) = stored
        .entries
        .get(name)
        .with_context(|| format!("no review {name:?}"))?;
    let dashed = name.replace(' ', "-");
    let request = format!("{FOLDER}/{dashed}.json");
    ensure!(test.option("-r") == Some(&request), "{name}: expected {request}");
    let body = stored.body(name)?;
    compare(&request, std::str::from_utf8(&body)?)?;
    used.insert(request);

    let settings: Value = serde_json::from_str(test.option("--settings-json").context(name.clone())?)?;
    ensure!(settings == entry.settings(), "{name}: expected {}", entry.settings());
    let settings = to_raw_value(&settings)?;
    if let Err(invalid) = check_settings(&settings) {
        return Ok((false, invalid.to_string()));
    }

    let objects = entry.claims.iter().map(|name| stored.value(name));
    let cluster = Recorded(objects.collect::<anyhow::Result<_>>()?);
    let (response, recorded) = respond(&AdmissionReview::read(&body)?, &settings, cluster)?;
    let session = format!("{FOLDER}/sessions/{dashed}.yml");
    let asks = recorded.is_some();
    let replayed = test.option("--replay-host-capabilities-interactions");
    ensure!(
        replayed == asks.then_some(&*session),
        "{name}: expected {session}: {asks}"
    );
    let is_granted = test.command.iter().any(|word| word == "--allow-context-aware");
    ensure!(is_granted == asks, "{name}: expected --allow-context-aware: {asks}");
    if let Some(recorded) = recorded {
        compare(&session, &recorded)?;
        used.insert(session);
    }
    Ok((true, String::from_utf8(response.to_review())?))
}

#[test]
fn bats_tests_expect_what_the_policy_answers() -> anyhow::Result<()> {
    let (stored, tests) = (Stored::read()?, tests(&text("e2e.bats")?)?);
    let (mut used, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for test in &tests {
        let verb = test.command.get(1).map(String::as_str);
        ensure!(
            test.command.last().is_some_and(|word| word == "policy.wasm"),
            "{test:?}"
        );
        let (succeeds, output) = match verb {
            Some("run") => run(test, &stored, &mut used)?,
            // build.rs makes one of both.
            Some("inspect") => {
                let usage = text("policy-readme.md")?;
                (
                    true,
                    text("policy-metadata.yml")? + "io.kubewarden.policy.usage: " + &usage,
                )
            }
            other => bail!("{}: kwctl {other:?}", test.name),
        };
        test.expect((succeeds, &output))?;
        kinds.insert((
            verb,
            succeeds,
            output.contains("\"allowed\":true"),
            output.contains("JSONPatch"),
        ));
    }
    // Accepted, mutated, denied, invalid settings, inspected.
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    let mut files = BTreeSet::new();
    for folder in [FOLDER.to_owned(), format!("{FOLDER}/sessions")] {
        for file in fs::read_dir(root().join(&folder))? {
            let file = file?;
            if file.file_type()?.is_file() {
                files.insert(format!("{folder}/{}", file.file_name().to_string_lossy()));
            }
        }
    }
    assert_eq!(files, used, "the files of {FOLDER}, and those that e2e.bats uses");
    Ok(())
}

#[test]
fn bats_test_is_read_and_other_lines_are_errors() -> anyhow::Result<()> {
    let bats = "setup() {\n  cd x\n}\n@test \"a\" {\n  run kwctl run --settings-json '{\"a\": 1}' \\\n    b\n  \
                [ \"$status\" -ne 0 ]\n  [[ \"$output\" == *'x y'* ]]\n  [[ \"$output\" != *'z'* ]]\n}\n";
    let [test] = &tests(bats)?[..] else { bail!("one test") };
    assert_eq!(test.command, ["kwctl", "run", "--settings-json", "{\"a\": 1}", "b"]);
    assert_eq!(test.option("--settings-json"), Some("{\"a\": 1}"));
    test.expect((false, "x y"))?;
    for wrong in [(true, "x y"), (false, "x"), (false, "x y z")] {
        assert!(test.expect(wrong).is_err(), "{wrong:?}");
    }
    assert!(tests("@test \"a\" {\n  [[ $output == x ]]\n}\n").is_err());
    Ok(())
}

/// Only the messages of the script. Where a program is present here, it is a fake that does nothing.
#[test]
fn script_names_each_missing_program_and_its_source() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let programs = ["kwctl", "policy-server", "bats"];
    for present in 0..=programs.len() {
        let mut script = Command::new("/bin/bash");
        let output = script
            .arg(root().join("hack/kubewarden"))
            .env("PATH", folder.path())
            .output()?;
        let errors = String::from_utf8(output.stderr)?;
        let missing: Vec<&str> = errors
            .lines()
            .filter_map(|line| line.split_once(" is missing: "))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(missing, programs[present..], "{errors}");
        assert_eq!(errors.lines().count(), missing.len(), "{errors}");
        assert_eq!(output.status.code(), Some(if missing.is_empty() { 0 } else { 2 }));
        if let Some(next) = programs.get(present) {
            symlink("/bin/true", folder.path().join(next))?;
        }
    }
    Ok(())
}
