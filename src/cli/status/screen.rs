//! The terminal, as far as the drawing depends on it.

use std::io::{IsTerminal as _, stdout};

use super::line::{Paint, Shape, Width};
use crate::cli::output;

/// The width of lines for standard output, and the rows of the terminal.
pub(super) fn terminal() -> (Width, usize) {
    use terminal_size::{Height, Width as Columns, terminal_size_of};
    match terminal_size_of(stdout()) {
        Some((Columns(columns), Height(rows))) => (Width::Terminal(columns.into()), rows.into()),
        None if stdout().is_terminal() => (Width::Terminal(80), usize::MAX),
        None => (Width::Pipe, usize::MAX),
    }
}

/// The drawing style for standard output.
pub(super) fn shape(width: Width) -> Shape {
    let paint = if output::is_coloured() {
        Paint::Coloured
    } else {
        Paint::Plain
    };
    Shape { paint, width }
}
