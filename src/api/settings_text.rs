//! Reads the settings from JSON.

use super::settings::Settings;
use crate::json::{Error, ErrorKind, Reader};
use crate::templates::show::{cut, shown};

/// The longest error message.
const MAX_MESSAGE: usize = 1024;

impl Settings {
    /// Reads settings from JSON; `null` and an empty text mean the defaults.
    ///
    /// # Errors
    /// All faults, in one line.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        if text.trim().is_empty() {
            return Ok(settings);
        }
        match settings.read_fields(text) {
            Ok(faults) if faults.is_empty() => Ok(settings),
            Ok(faults) => Err(cut(&format!("settings: {}", faults.join("; ")), MAX_MESSAGE)),
            Err(_) => Err("settings: expected a JSON object without duplicate keys".to_owned()),
        }
    }

    /// Reads all valid fields, and returns the faults of the others.
    fn read_fields(&mut self, text: &str) -> Result<Vec<String>, Error> {
        let mut reader = Reader::new(text);
        let mut faults = Vec::new();
        if reader.null()? {
            return reader.end().map(|()| faults);
        }
        let mut seen = Vec::new();
        reader.object(|reader, key| {
            if seen.contains(&key) {
                return Err(reader.error(ErrorKind::Duplicate));
            }
            let value = reader.raw()?;
            match self.set(&key, value) {
                Some(Ok(())) => {}
                Some(Err(expected)) => faults.push(format!("{key}: {expected}, but found {}", shown(value))),
                None => faults.push(format!("{}: no such setting", shown(&key))),
            }
            seen.push(key);
            Ok(())
        })?;
        reader.end()?;
        Ok(faults)
    }
}
