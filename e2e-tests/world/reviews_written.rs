//! Writes the families of reviews anew.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use serde_saphyr::{FlowMap, ser_options};

use crate::world::reviews_stored::{Stored, file, pretty, whole};

impl Stored {
    /// Writes the families, sorted by name, an operation on a line.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let mut families = BTreeMap::<_, BTreeMap<_, _>>::new();
        for (name, (family, entry)) in &self.entries {
            families.entry(family).or_default().insert(name, entry);
        }
        let options = ser_options! { prefer_block_scalars: false };
        for (family, entries) in families {
            let text = serde_saphyr::to_string_with_options(&entries, options)?;
            fs::write(file(&format!("{family}.yaml")), text)?;
        }
        Ok(())
    }

    /// Takes over what an API server sent: whole, or as the difference from another entry.
    #[allow(dead_code, reason = "only the playground captures")]
    pub(crate) fn record(&mut self, captured: &BTreeMap<String, Value>) -> anyhow::Result<()> {
        let mut names = Vec::new();
        for name in captured.keys() {
            names.push((self.lineage(name)?.len(), name));
        }
        // A base before what differs from it.
        names.sort();
        for (_, name) in names {
            let captured = &captured[name];
            let Some(base) = self.entries[name].1.from.clone() else {
                fs::write(whole(name), pretty(captured)?)?;
                continue;
            };
            let change = json_patch::diff(&self.value(&base)?, captured);
            let change = change
                .0
                .iter()
                .map(serde_json::to_value)
                .collect::<Result<Vec<_>, _>>()?;
            if let Some((_, entry)) = self.entries.get_mut(name) {
                entry.change = change.into_iter().map(FlowMap).collect();
            }
        }
        Ok(())
    }
}
