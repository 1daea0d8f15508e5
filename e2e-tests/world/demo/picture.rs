//! The picture of the live tree: what a terminal shows in the middle of the rollout, as SVG.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};

use crate::world::repository::root;
use crate::world::shell::typed;
use crate::world::{Cluster, PATIENCE, eventually};

/// The live tree, on a terminal.
const WATCH: &str = "COLUMNS=80 script --quiet --return --command 'claim-rollout status web --watch' /dev/null";
const FILE: &str = "docs/images/status.svg";
/// The size of a character, in a font of 14 pixels.
const COLUMN: usize = 9;
const LINE: usize = 20;
/// The colours on a light and on a dark page: background, text, and the codes 32 (done), 33 (in progress), 31 and 2.
const STYLE: &str = "\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:#1f2328}
rect{fill:#f6f8fa;stroke:#d0d7de}.c32{fill:#116329}.c33{fill:#7d4e00}.c31{fill:#a40e26}.c2{fill:#59636e}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#0d1117;stroke:#30363d}.c32{fill:#3fb950}\
.c33{fill:#d29922}.c31{fill:#ff7b72}.c2{fill:#8b949e}}";

/// All bytes that the terminal got while the tree was drawn.
pub(crate) async fn drawn(cluster: &Cluster) -> anyhow::Result<String> {
    let staged = "jsonpath={.metadata.annotations.claim-rollout\\.io/staged}";
    let desired = eventually("the change to be staged", PATIENCE, async || {
        let get = ["get", "statefulset", "web", "-o", staged];
        Ok((!cluster.kubectl(&get, "").await?.stdout.is_empty()).then_some(()))
    });
    desired.await?;
    let output = typed(cluster, cluster.folder(), WATCH).await?;
    ensure!(output.success, "{output:?}");
    Ok(output.stdout)
}

/// Writes the picture of the middle of the rollout. On a slow machine it may not have been drawn: then the picture stays
/// as it is, and this returns false.
#[allow(dead_code, reason = "the playground writes it, a test does not")]
pub(crate) fn write(drawn: &str) -> anyhow::Result<bool> {
    let Some(frame) = middle(drawn) else {
        return Ok(false);
    };
    let file = root().join(FILE);
    std::fs::create_dir_all(file.parent().context("a folder")?)?;
    std::fs::write(file, svg(frame))?;
    Ok(true)
}

/// The first frame in which one replica is done, one grows, and one waits.
fn middle(drawn: &str) -> Option<&str> {
    drawn.split("\x1b[0J").find(|frame| {
        let has = |state: &&str| frame.contains(*state);
        ["Done", "Expanding", "Pending"].iter().all(has)
    })
}

/// The frame as SVG. The colours of the terminal become classes.
fn svg(frame: &str) -> String {
    // The end of a frame moves the cursor to the start of the next one.
    let frame = frame.rfind('\n').map_or(frame, |end| &frame[..end]);
    let lines: Vec<String> = std::iter::once("$ kubectl claim-rollout status web --watch".to_owned())
        .chain(frame.lines().map(|line| line.trim_end().to_owned()))
        .collect();
    let columns = lines
        .iter()
        .map(|line| plain(line).chars().count())
        .max()
        .unwrap_or_default();
    let (width, height) = (columns * COLUMN + 2 * LINE, lines.len() * LINE + 2 * LINE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>The PVCs of a StatefulSet in the middle of a rollout</title>\n<style>\n{STYLE}\n</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        width - 1,
        height - 1,
    );
    for (number, line) in lines.iter().enumerate() {
        let y = (number + 1) * LINE + LINE * 3 / 4;
        let _ = writeln!(
            svg,
            "<text x=\"{LINE}\" y=\"{y}\" xml:space=\"preserve\">{}</text>",
            spans(line)
        );
    }
    svg + "</svg>\n"
}

/// The text of a line, with a `tspan` for each coloured part.
fn spans(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut spans = escaped(parts.next().unwrap_or_default());
    for part in parts {
        let (code, text) = part.split_once('m').unwrap_or(("0", part));
        let text = escaped(text);
        spans += &match code {
            _ if text.is_empty() => String::new(),
            "0" => text,
            code => format!("<tspan class=\"c{code}\">{text}</tspan>"),
        };
    }
    spans
}

fn plain(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or("", |(_, text)| text)
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[test]
fn svg_shows_each_line_and_colour() {
    let svg = svg("a 1 -> 2\r\n\x1b[32m██\x1b[0m <b>\r\n\x1b[2A");
    assert!(
        svg.contains("y=\"35\" xml:space=\"preserve\">$ kubectl claim-rollout status web --watch</text>"),
        "{svg}"
    );
    assert!(
        svg.contains("y=\"55\" xml:space=\"preserve\">a 1 -&gt; 2</text>"),
        "{svg}"
    );
    assert!(
        svg.contains("y=\"75\" xml:space=\"preserve\"><tspan class=\"c32\">██</tspan> &lt;b&gt;</text>"),
        "{svg}"
    );
    assert_eq!(svg.matches("<text ").count(), 3, "{svg}");
    assert!(!svg.contains('\x1b'), "{svg}");
}

#[test]
fn middle_is_found_or_absent() {
    let frame = |states: &[&str]| states.join("\n");
    let all = frame(&["2 Done", "1 Expanding", "0 Pending"]);
    let begin = frame(&["2 Applied", "1 Pending", "0 Pending"]);
    let end = frame(&["2 Done", "1 Done", "0 Expanding"]);
    for (frames, expected) in [
        (vec![], None),
        (vec![&begin, &end], None),
        (vec![&begin, &all, &end], Some(&all)),
    ] {
        let drawn: Vec<&str> = frames.iter().map(|frame| frame.as_str()).collect();
        assert_eq!(
            middle(&drawn.join("\x1b[0J")),
            expected.map(String::as_str),
            "{frames:?}"
        );
    }
}
