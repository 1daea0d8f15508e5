//! The part of ELF that shows whether a program is static, and for which processor.

use anyhow::{Context as _, bail, ensure};

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// A segment that names the loader.
const INTERPRETER: u32 = 3;
const X86_64: u16 = 62;
const AARCH64: u16 = 183;

/// The architecture of a static program, as Go and images call it.
///
/// # Errors
/// If the file is not a program for Linux on one of the two processors, or needs a loader: the image has none.
pub(crate) fn static_architecture(program: &[u8]) -> anyhow::Result<&'static str> {
    ensure!(
        program.starts_with(MAGIC),
        "expected an ELF file of 64 bits, but found another file"
    );
    let architecture = match u16::from_le_bytes(bytes(program, 18)?) {
        X86_64 => "amd64",
        AARCH64 => "arm64",
        other => bail!("expected a program for x86-64 or AArch64, but found machine {other}"),
    };
    let table = usize::try_from(u64::from_le_bytes(bytes(program, 32)?))?;
    let size = usize::from(u16::from_le_bytes(bytes(program, 54)?));
    let count = usize::from(u16::from_le_bytes(bytes(program, 56)?));
    for number in 0..count {
        let segment = u32::from_le_bytes(bytes(program, table + number * size)?);
        ensure!(
            segment != INTERPRETER,
            "expected a static program, but found one that needs a loader: build it with hack/binary"
        );
    }
    Ok(architecture)
}

fn bytes<const N: usize>(program: &[u8], at: usize) -> anyhow::Result<[u8; N]> {
    let part = program
        .get(at..at + N)
        .context("expected an ELF file, but it ends early")?;
    Ok(part.try_into()?)
}

/// A header for `machine` with one segment of this kind; it does nothing and cannot run.
#[cfg(test)]
pub(crate) fn header(machine: u16, segment: u32) -> Vec<u8> {
    let mut file = vec![0; 64];
    file[..6].copy_from_slice(MAGIC);
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    file[32] = 64;
    file[54] = 56;
    file[56] = 1;
    file.extend(segment.to_le_bytes());
    file.resize(120, 0);
    file
}

#[cfg(test)]
mod tests {
    use super::{header, static_architecture};

    const LOAD: u32 = 1;

    #[test]
    fn architecture_is_that_of_the_header_or_an_error() {
        let short = header(62, LOAD)[..70].to_vec();
        let rows: [(&str, Vec<u8>, &str); 6] = [
            ("x86-64", header(62, LOAD), "amd64"),
            ("AArch64", header(183, LOAD), "arm64"),
            (
                "RISC-V",
                header(243, LOAD),
                "expected a program for x86-64 or AArch64, but found machine 243",
            ),
            (
                "with a loader",
                header(62, 3),
                "expected a static program, but found one that needs a loader: build it with hack/binary",
            ),
            (
                "a script",
                b"#!/bin/sh\n".to_vec(),
                "expected an ELF file of 64 bits, but found another file",
            ),
            (
                "cut off",
                short[..65].to_vec(),
                "expected an ELF file, but it ends early",
            ),
        ];
        for (name, file, expected) in rows {
            let found = static_architecture(&file).map_or_else(|error| error.to_string(), str::to_owned);
            assert_eq!(found, expected, "{name}");
        }
    }
}
