//! Builds a release of claim-rollout, pushes it and checks it, without a container engine.
//!
//! Releasers such as GoReleaser learn the digests of images from the registry. Here they are known before anything is
//! pushed: the manifests of the release contain them, and a whole release is tried on one machine.

mod about;
mod archive;
mod artifact;
mod chart;
mod elf;
mod image;
mod layout;
mod manifests;
mod plugin;
mod policy;
mod registry;
mod release;
mod sbom;
mod version;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Parser, Subcommand};

use about::About;
use layout::Named;
use registry::Registry;

/// Build, push and check what a release consists of
#[derive(Debug, Parser)]
struct Arguments {
    /// Use HTTP, for a registry on this machine
    #[arg(long, global = true)]
    plain_http: bool,
    /// Use this host instead of the one in references, such as 127.0.0.1:5000
    #[arg(long, global = true)]
    registry: Option<String>,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Check that all files state the same version, which is printed
    CheckVersion {
        /// The tag to release: it must be that of the version, and the change log must have a section for it
        #[arg(long)]
        tag: Option<String>,
    },
    /// Write the files of a release, and the layout to push; push nothing
    Build(release::Sources),
    /// Push a layout: everything under its digest, and then the tags
    Push {
        /// dist/oci
        layout: PathBuf,
    },
    /// Pull everything of a layout again, and compare
    Verify {
        /// dist/oci
        layout: PathBuf,
    },
    /// Push the policy, in the format of kwctl
    Policy {
        /// policy.wasm
        file: PathBuf,
        /// policy-metadata.yml
        #[arg(long)]
        metadata: PathBuf,
        /// The reference to push to
        reference: String,
    },
    /// Push an image with these static binaries, one for each processor
    Image {
        /// The reference to push to
        reference: String,
        /// From hack/binary
        #[arg(required = true)]
        binaries: Vec<PathBuf>,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    // One provider for TLS: ring, as in claim-rollout itself.
    rustls::crypto::ring::default_provider().install_default().ok();
    let arguments = Arguments::parse();
    let root = Path::new(".");
    let registry = Registry::new(arguments.plain_http, arguments.registry);
    let pushed = match arguments.what {
        What::CheckVersion { tag } => {
            println!("{}", version::check(root, tag.as_deref())?);
            return Ok(());
        }
        What::Build(sources) => return release::build(&sources),
        What::Verify { layout } => return registry.verify(&layout::read(&layout)?, true).await,
        What::Push { layout } => registry.release(&layout::read(&layout)?).await?,
        What::Policy {
            file,
            metadata,
            reference,
        } => {
            let artifact = policy::artifact(&read(&file)?, &metadata, &About::tree(root)?)?;
            registry.replace(Named { reference, artifact }).await?
        }
        What::Image { binaries, reference } => {
            let binaries = binaries.iter().map(|path| read(path));
            let artifact = image::artifact(&binaries.collect::<anyhow::Result<Vec<_>>>()?, &About::tree(root)?)?;
            registry.replace(Named { reference, artifact }).await?
        }
    };
    for reference in pushed {
        println!("{reference}");
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}
