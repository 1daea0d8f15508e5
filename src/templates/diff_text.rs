//! A difference in words, for messages.

use super::diff::{Change, Diff, FrozenChange};
use super::show::shown;

impl Diff {
    /// Every change of the templates in both lists, in short: `data 10Gi -> 20Gi`.
    #[must_use]
    pub fn in_short(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (names, what) in [(&self.added, "added"), (&self.removed, "removed")] {
            all.extend(names.iter().map(|name| format!("{} {what}", shown(name))));
        }
        for change in &self.changed {
            let template = shown(&change.template);
            all.extend(change.changes.iter().map(|one| change_in_short(&template, one)));
            all.extend(
                change
                    .frozen
                    .iter()
                    .map(|one| format!("{template} {}", shown(&one.field))),
            );
        }
        all
    }
}

impl FrozenChange {
    /// The old and the new value, for messages.
    #[must_use]
    pub fn values(&self) -> [String; 2] {
        [&self.from, &self.to].map(|value| shown(value.as_deref().unwrap_or("nothing")))
    }
}

fn change_in_short(template: &str, change: &Change) -> String {
    let arrow = |from: Option<String>, to: Option<String>| {
        let word = |value: Option<String>| value.map_or_else(|| "none".to_owned(), |value| shown(&value));
        format!("{} -> {}", word(from), word(to))
    };
    match change {
        Change::Storage { from, to } => {
            let sizes = arrow(from.map(|q| q.to_string()), to.map(|q| q.to_string()));
            format!("{template} {sizes}")
        }
        Change::VolumeAttributesClass { from, to } => format!("{template} class {}", arrow(from.clone(), to.clone())),
        Change::Label(one) | Change::Annotation(one) => {
            let kind = if matches!(change, Change::Label(_)) {
                "label"
            } else {
                "annotation"
            };
            let (key, values) = (shown(&one.key), arrow(one.from.clone(), one.to.clone()));
            format!("{template} {kind} {key} {values}")
        }
    }
}
