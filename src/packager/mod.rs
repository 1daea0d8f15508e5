//! `packager`: files that are made from the code. The Makefile runs it; no release contains it.

mod artifacthub;
mod crd;
mod man;
mod reference;

use std::path::PathBuf;

use clap::Parser;

use crate::cli;

/// Write a file that is made from the code
#[derive(Debug, Parser)]
#[command(name = "packager")]
enum Product {
    /// Print artifacthub-pkg.yml: the package of the policy on Artifact Hub
    Artifacthub,
    /// Print deploy/crd.yaml: the CustomResourceDefinition of ClaimRollout
    Crd,
    /// Write the manual pages, one for each command
    Man {
        /// Folder to write the pages to
        folder: PathBuf,
    },
    /// Print docs/reference.md: annotations, Events, conditions, states and fields
    Reference,
}

/// Writes what the arguments of this process ask for.
///
/// # Errors
/// If a folder cannot be written, or policy-metadata.yml has not what the package needs.
pub fn main() -> anyhow::Result<()> {
    match Product::parse() {
        Product::Artifacthub => println!("{}", artifacthub::yaml()?.trim_end()),
        Product::Crd => println!("{}", crd::yaml()?.trim_end()),
        Product::Man { folder } => man::write(&folder, cli::parser())?,
        Product::Reference => print!("{}", reference::page()?),
    }
    Ok(())
}
