//! docs/try.md shows what the demo and the live tree print, README.md what the commands of "See how far it is" do.

use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use crate::world::book::{Book, blocks};
use crate::world::demo::{self, FAREWELL, Screen, picture};
use crate::world::document::text;
use crate::world::shell::typed;
use crate::world::{Cluster, Options, PATIENCE, eventually};

const README: &str = "README.md";
const DOCUMENT: &str = "docs/try.md";
/// The minor version whose messages are shown.
const MINOR: u32 = 37;
/// The commands of "See how far it is", and a part of what each prints in the demo cluster after another change was
/// applied.
const PRINTED: [(&str, &str); 8] = [
    ("claim-rollout plan -f web.yaml", "the change would be staged"),
    ("claim-rollout status web --watch", "3/3 replicas, Complete"),
    ("claim-rollout history web", "label tier none -> gold"),
    ("claim-rollout undo web", "statefulset.apps/web "),
    ("claim-rollout drift -A", "staged, Complete\n"),
    ("claim-rollout doctor", ": nothing is wrong\n"),
    ("kubectl get claimrollouts", "Complete"),
    ("kubectl wait --for=condition=Ready claimrollout/web", "condition met\n"),
];

/// The block of the document that begins with this text.
fn shown<'a>(document: &'a str, begin: &str) -> anyhow::Result<&'a str> {
    let found = blocks(document, "text")
        .into_iter()
        .find(|block| block.starts_with(begin));
    found.with_context(|| format!("expected a block that begins with {begin:?}, but found none"))
}

/// The content of each drawn frame, without colours. The terminal is cleared before each frame.
fn frames(drawn: &str) -> Vec<String> {
    let frames = drawn.split("\x1b[0J");
    frames.map(plain).collect()
}

/// Text without escape sequences, and without space at the end of a line.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|character: char| !character.is_ascii_alphabetic()));
    let text = rest.fold(first, |text, part| text + part.get(1..).unwrap_or_default());
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The words, with a placeholder for every time.
fn words(text: &str) -> Vec<&str> {
    let is_time = |word: &&str| word.parse::<f64>().is_ok() && word.contains('.');
    let word = |word| if is_time(&word) { "TIME" } else { word };
    text.split_whitespace().map(word).collect()
}

/// The lines of a rollout, and the rest of the demo.
fn apart(text: &str) -> (Vec<&str>, String) {
    let (lines, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("default/web"));
    (lines, rest.join("\n"))
}

/// The lines before the controller starts, and those after.
fn split_at_controller_start<'a>(lines: &'a [&'a str]) -> (&'a [&'a str], &'a [&'a str]) {
    let last = lines
        .iter()
        .position(|line| line.ends_with("the controller has not started"));
    lines.split_at(last.map_or(0, |last| last + 1))
}

/// A PVC that was written and is not large yet: the resizer may report the start of the expansion or not. The PVC may be
/// written when the controller has reported nothing yet.
fn as_begun(text: &str) -> String {
    let text = text.replace(": 10Gi -> 20Gi\n", ": 10Gi -> 10Gi\n");
    let text = text.replace(" Applied capacity ", " Expanding capacity ");
    text.replace(" is Applied: capacity ", " is Expanding: capacity ")
}

/// True iff all of `shown` was printed, in this order for each PVC and for the StatefulSet. Changes are printed in
/// groups, so there may be more lines for passing states. A late reader does not see the time before the controller
/// starts.
fn is_printed(shown: &[&str], printed: &[&str]) -> bool {
    let subject = |line: &str| line.split_once(": ").map(|(subject, _)| subject.to_owned());
    let in_order = |shown: &[&str], printed: &[&str]| {
        shown.iter().all(|line| {
            let of_it = |lines: &[&str]| -> Vec<String> {
                let same = lines.iter().filter(|other| subject(other) == subject(line));
                same.map(|&line| line.to_owned()).collect()
            };
            let mut printed = of_it(printed).into_iter();
            of_it(shown).iter().all(|line| printed.any(|other| other == *line))
        })
    };
    let ((shown_before, shown), (before, printed)) =
        (split_at_controller_start(shown), split_at_controller_start(printed));
    let stays: Vec<&str> = shown.iter().copied().filter(|line| !passes(line)).collect();
    (before.is_empty() || in_order(shown_before, before))
        && in_order(&stays, printed)
        && printed.iter().all(|line| shown.contains(line) || passes(line))
}

/// A passing state: changes within two seconds are printed together.
fn passes(line: &str) -> bool {
    let moments = [" Pending", " Expanding ", " replicas, Reconciling"];
    moments.iter().any(|moment| line.contains(moment))
}

/// True iff the error at the top of README.md, which users search for, is the error of the API server.
fn is_refused(readme: &str, printed: &str) -> bool {
    let printed = words(printed).join(" ");
    let refused = blocks(readme, "text").into_iter().nth(1).unwrap_or_default();
    let mut parts = refused.split("[…]").map(|part| words(part).join(" "));
    refused.contains("is invalid") && parts.all(|part| printed.contains(&part))
}

async fn every_command_prints_its_part(cluster: &Cluster) -> anyhow::Result<()> {
    let file = cluster.folder().join("web.yaml");
    let labelled = std::fs::read_to_string(&file)?.replace(
        "    - metadata:\n        name: data\n",
        "    - metadata:\n        name: data\n        labels: {tier: gold}\n",
    );
    std::fs::write(&file, labelled)?;
    let mut book = Book::under(&["## See how far it is"], README)?;
    for (command, part) in PRINTED {
        let documented = book.next().with_context(|| format!("expected {command}"))?;
        let (line, _) = documented.typed.split_once('#').unwrap_or((&documented.typed, ""));
        ensure!(line.trim_end() == command, "expected {command}, but found {line}");
        let mut last = String::new();
        let answered = eventually("its answer", PATIENCE, async || {
            let output = typed(cluster, cluster.folder(), &documented.typed).await?;
            last = output.stdout;
            Ok((output.success && last.contains(part)).then_some(()))
        });
        answered.await.with_context(|| format!("$ {command}\n{last}"))?;
        if command.contains(" plan ") {
            cluster.typed("apply -f web.yaml").await?;
        }
    }
    book.end()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn demo_live_tree_and_commands_match_the_documents() -> anyhow::Result<()> {
    let document = text(DOCUMENT)?;
    let begin = Instant::now();
    let cluster = Cluster::start(demo::options(Options::default().minor)).await?;
    let mut screen = Screen::Paper(String::new());
    let (kept, drawn) = tokio::try_join!(demo::show(&cluster, begin, &mut screen), picture::drawn(&cluster))?;
    let Screen::Paper(paper) = screen else {
        bail!("expected paper, but found another screen")
    };

    let printed = as_begun(&(paper + FAREWELL + "\n"));
    let ((lines, rest), (shown_lines, shown_rest)) = (apart(&printed), apart(shown(&document, "Kubernetes v")?));
    ensure!(
        is_printed(&shown_lines, &lines),
        "{DOCUMENT} should show:\n{}",
        lines.join("\n")
    );
    // The error text depends on the minor version.
    if cluster.minor() == MINOR {
        ensure!(words(&rest) == words(&shown_rest), "{DOCUMENT} should show:\n{printed}");
        ensure!(
            is_refused(&text(README)?, &rest),
            "{README} should show the error of the API server:\n{rest}"
        );
    } else {
        println!("the rest of the demo is not compared: {DOCUMENT} shows what 1.{MINOR} prints");
    }

    let (frames, frame) = (frames(&drawn), shown(&document, "default/web")?);
    // The width of the drawing depends on the state.
    let begun = |drawn: &str| as_begun(&words(drawn).join(" "));
    let is_shown =
        |drawn: &String| drawn == frame || drawn.contains(" Applied ") && begun(drawn) == words(frame).join(" ");
    ensure!(
        frames.iter().any(is_shown),
        "{DOCUMENT} should show one of:\n{}",
        frames.join("\n")
    );

    every_command_prints_its_part(&cluster).await?;
    let (policies, controller) = kept;
    drop(controller);
    policies.stop().await?;
    cluster.stop();
    Ok(())
}

#[test]
fn differing_rollout_output_is_noticed() -> anyhow::Result<()> {
    let document = text(DOCUMENT)?;
    let (shown, _) = apart(shown(&document, "Kubernetes v")?);
    assert!(is_printed(&shown, &shown));
    let (before, rest) = split_at_controller_start(&shown);
    assert!(before.len() > 1 && is_printed(&shown, rest), "{before:?}");
    for place in (0..rest.len()).filter(|place| !passes(rest[*place])) {
        let mut without = rest.to_vec();
        without.remove(place);
        assert!(!is_printed(&shown, &without), "{}", rest[place]);
    }
    let more = [rest, &["default/web data-web-0: 10Gi -> 20Gi Refused"]].concat();
    assert!(!is_printed(&shown, &more));
    let applied = shown.join("\n").replace("Expanding", "Applied");
    assert!(!is_printed(&shown, &apart(&applied).0) && is_printed(&shown, &apart(&as_begun(&applied)).0));
    let late = [&before[1..], rest].concat();
    assert!(!is_printed(&shown, &late), "{}", before[0]);
    Ok(())
}
