//! Lines of text: their width and their colours.

/// The drawing style.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) paint: Paint,
    pub(crate) width: Width,
}

/// The width of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// That of a terminal: lines are cut.
    Terminal(usize),
    /// No lines are cut: something else reads them.
    Pipe,
    /// No lines are cut, and more values are shown.
    Wide,
}

impl Width {
    /// The column in which a heading ends.
    pub(super) const fn heading(self) -> Option<usize> {
        match self {
            Self::Terminal(columns) => Some(columns),
            Self::Pipe => Some(80),
            Self::Wide => None,
        }
    }
}

/// With colours or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Coloured,
}

/// The meaning of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Text,
    Name,
    Quiet,
    Good,
    Busy,
    Bad,
}

/// A line in pieces, so that it can be cut before it is painted.
#[derive(Clone)]
pub(super) struct StyledLine(pub(super) Vec<(Ink, String)>);

/// The words of a text in lines that fit, below a heading. Only a word that is longer than a line is broken.
pub(super) fn wrapped(ink: Ink, text: &str, width: Width) -> Vec<StyledLine> {
    let room = match width {
        Width::Terminal(columns) => columns.saturating_sub(INDENT.len()).max(1),
        Width::Pipe | Width::Wide => usize::MAX,
    };
    let mut lines = vec![String::new()];
    for word in clean(text).split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        if let Some(line) = lines.last_mut()
            && line.chars().count() + usize::from(!line.is_empty()) + rest.len() <= room
        {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.extend(rest);
            continue;
        }
        while !rest.is_empty() {
            let after = rest.split_off(rest.len().min(room));
            lines.push(rest.into_iter().collect());
            rest = after;
        }
    }
    lines.retain(|line| !line.is_empty());
    let styled = |line| StyledLine(vec![(Ink::Text, INDENT.to_owned()), (ink, line)]);
    lines.into_iter().map(styled).collect()
}

/// What lines below a heading begin with.
const INDENT: &str = "  ";

/// Replaces control characters: the text of others must not control the terminal.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}

impl Ink {
    /// The parameters of the escape sequence.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Text => None,
            Self::Name => Some("1"),
            Self::Quiet => Some("2"),
            Self::Good => Some("32"),
            Self::Busy => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

impl StyledLine {
    /// The line, cut to the width and painted.
    pub(super) fn draw(&self, shape: Shape) -> String {
        let total: usize = self.0.iter().map(|(_, text)| text.chars().count()).sum();
        let cut = match shape.width {
            Width::Terminal(width) if total > width => Some(width),
            _ => None,
        };
        let mut room = cut.map_or(usize::MAX, |width| width.saturating_sub(1));
        let mut line = String::new();
        for (ink, text) in &self.0 {
            let text: String = clean(text).chars().take(room).collect();
            room -= text.chars().count();
            let code = ink
                .code()
                .filter(|_| shape.paint == Paint::Coloured && !text.is_empty());
            line.push_str(&code.map_or_else(|| text.clone(), |code| format!("\x1b[{code}m{text}\x1b[0m")));
        }
        if cut.is_some() {
            line.push('…');
        }
        line.trim_end().to_owned()
    }
}
