//! Pushes the released artifacts without a container engine: the policy as Kubewarden pulls it, and the image of the
//! controller.

mod image;
mod policy;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::Reference;
use oci_client::client::{Client, ClientConfig, ClientProtocol, Config, ImageLayer};
use oci_client::manifest::OciImageManifest;
use oci_client::secrets::RegistryAuth;

/// Push the policy or the image to a registry; prints what was pushed, with its digest
#[derive(Debug, Parser)]
struct Arguments {
    /// Use HTTP, for a registry on this machine
    #[arg(long)]
    plain_http: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The policy, in the format of kwctl
    Policy {
        /// policy.wasm
        file: PathBuf,
        /// policy-metadata.yml
        #[arg(long)]
        metadata: PathBuf,
        /// The reference to push to
        reference: Reference,
    },
    /// The image, with the binary and the C library of this machine
    Image {
        /// target/release/claim-rollout
        binary: PathBuf,
        /// The reference to push to
        reference: Reference,
    },
}

/// An artifact to push.
struct Artifact {
    layer: ImageLayer,
    config: Config,
    manifest: OciImageManifest,
}

impl Artifact {
    fn new(layer: ImageLayer, config: Config, annotations: std::collections::BTreeMap<String, String>) -> Self {
        let manifest = OciImageManifest::build(std::slice::from_ref(&layer), &config, Some(annotations));
        Self {
            layer,
            config,
            manifest,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (artifact, reference) = match &arguments.what {
        What::Policy {
            file,
            metadata,
            reference,
        } => (policy::artifact(file, metadata)?, reference),
        What::Image { binary, reference } => (image::artifact(binary)?, reference),
    };
    let protocol = if arguments.plain_http {
        ClientProtocol::Http
    } else {
        ClientProtocol::Https
    };
    let client = Client::new(ClientConfig {
        protocol,
        ..ClientConfig::default()
    });
    // Without TLS, others could read the login.
    let authority = if arguments.plain_http {
        RegistryAuth::Anonymous
    } else {
        login(reference)?
    };
    let Artifact {
        layer,
        config,
        manifest,
    } = artifact;
    client
        .push(reference, &[layer], config, &authority, Some(manifest))
        .await
        .with_context(|| format!("failed to push {reference}"))?;
    let digest = client.fetch_manifest_digest(reference, &authority).await?;
    println!("{}/{}@{digest}", reference.registry(), reference.repository());
    Ok(())
}

/// The login of docker, podman or kwctl for the registry; anonymous without one.
fn login(reference: &Reference) -> anyhow::Result<RegistryAuth> {
    match docker_credential::get_credential(reference.resolve_registry()) {
        Ok(DockerCredential::UsernamePassword(user, password)) => Ok(RegistryAuth::Basic(user, password)),
        Ok(DockerCredential::IdentityToken(token)) => Ok(RegistryAuth::Bearer(token)),
        Err(
            CredentialRetrievalError::ConfigNotFound
            | CredentialRetrievalError::ConfigReadError
            | CredentialRetrievalError::NoCredentialConfigured,
        ) => Ok(RegistryAuth::Anonymous),
        Err(error) => Err(error).context("failed to read the login in ~/.docker/config.json"),
    }
}
