//! Pushes and pulls artifacts. Everything is pushed under its digest first; tags come last, so that nobody who pulls a
//! tag gets a part of a release.
//!
//! crane could do this, but then everybody who pushes their own build needs Go. It is the other client in the tests: it
//! reads what this one has pushed.

use anyhow::{Context as _, bail, ensure};
use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::manifest::OciDescriptor;
use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, RegistryOperation};

use crate::artifact::{Artifact, Blob, INDEX, MANIFEST};
use crate::layout::Named;

/// A client, with the login of each registry.
pub(crate) struct Registry {
    client: Client,
    plain_http: bool,
    /// Used instead of the host in references.
    instead: Option<String>,
}

impl Registry {
    /// With `instead`, references keep their path, but the host is this one.
    pub(crate) fn new(plain_http: bool, instead: Option<String>) -> Self {
        let protocol = if plain_http {
            ClientProtocol::Http
        } else {
            ClientProtocol::Https
        };
        let client = Client::new(ClientConfig {
            protocol,
            ..ClientConfig::default()
        });
        Self {
            client,
            plain_http,
            instead,
        }
    }

    /// Pushes a release, checks that all of it can be pulled again, and then sets the tags. Returns the references with
    /// their digests.
    ///
    /// # Errors
    /// If a tag exists and is another artifact: a release never changes.
    pub(crate) async fn release(&self, all: &[Named]) -> anyhow::Result<Vec<String>> {
        for named in all {
            let (reference, authority) = self.reference(&named.reference)?;
            // Some registries deny questions about a repository that does not exist yet. Before the tags are set, the
            // question is asked again.
            let found = self.tagged(&reference, &authority).await.ok().flatten();
            unchanged(&reference, found.as_deref(), &named.artifact)?;
        }
        self.store(all).await?;
        self.verify(all, false).await?;
        for named in all {
            let (reference, authority) = self.reference(&named.reference)?;
            let found = self.tagged(&reference, &authority).await?;
            unchanged(&reference, found.as_deref(), &named.artifact)?;
        }
        let pushed = self.tag(all).await?;
        self.verify(all, true).await?;
        Ok(pushed)
    }

    /// Pushes an artifact, whatever its tag names now. Returns the reference with its digest.
    pub(crate) async fn replace(&self, named: Named) -> anyhow::Result<Vec<String>> {
        let all = [named];
        self.store(&all).await?;
        self.tag(&all).await
    }

    /// Pushes everything under its digest.
    async fn store(&self, all: &[Named]) -> anyhow::Result<()> {
        for named in all {
            let (reference, authority) = self.reference(&named.reference)?;
            self.client
                .auth(&reference, &authority, RegistryOperation::Push)
                .await?;
            self.push(&reference, &named.artifact)
                .await
                .with_context(|| format!("failed to push {reference}"))?;
        }
        Ok(())
    }

    /// Sets the tags of what is stored.
    async fn tag(&self, all: &[Named]) -> anyhow::Result<Vec<String>> {
        let mut tagged = Vec::new();
        for named in all {
            let (reference, _) = self.reference(&named.reference)?;
            let manifest = &named.artifact.manifest;
            let pushing = self.push_manifest(&reference, manifest).await;
            pushing.with_context(|| format!("failed to tag {reference}"))?;
            tagged.push(format!("{reference}@{}", manifest.digest));
        }
        Ok(tagged)
    }

    /// Pulls everything by its digest, and with `tags` by its tag, and compares every byte.
    pub(crate) async fn verify(&self, all: &[Named], tags: bool) -> anyhow::Result<()> {
        for named in all {
            let (reference, authority) = self.reference(&named.reference)?;
            self.client
                .auth(&reference, &authority, RegistryOperation::Pull)
                .await?;
            let verifying = self.pull(&reference, &named.artifact, &authority).await;
            verifying.with_context(|| format!("failed to verify {reference}"))?;
            if tags {
                let found = self.tagged(&reference, &authority).await?;
                let expected = &named.artifact.manifest.digest;
                ensure!(
                    found.as_ref() == Some(expected),
                    "{reference}: expected {expected}, but found {found:?}"
                );
            }
        }
        Ok(())
    }

    /// The reference with the host that is used, and its login. Without TLS, others could read the login.
    fn reference(&self, reference: &str) -> anyhow::Result<(Reference, RegistryAuth)> {
        let (_, path) = reference
            .split_once('/')
            .context("expected a registry in the reference")?;
        let reference: Reference = match &self.instead {
            Some(host) => format!("{host}/{path}").parse()?,
            None => reference.parse()?,
        };
        let authority = if self.plain_http {
            RegistryAuth::Anonymous
        } else {
            login(&reference)?
        };
        Ok((reference, authority))
    }

    /// The digest of what the tag names now.
    async fn tagged(&self, reference: &Reference, authority: &RegistryAuth) -> anyhow::Result<Option<String>> {
        match self.client.fetch_manifest_digest(reference, authority).await {
            Ok(digest) => Ok(Some(digest)),
            Err(OciDistributionError::ImageManifestNotFoundError(_)) => Ok(None),
            Err(OciDistributionError::ServerError { code: 404, .. }) => Ok(None),
            Err(OciDistributionError::RegistryError { envelope, .. })
                if envelope.errors.iter().all(|error| UNKNOWN.contains(&error.code)) =>
            {
                Ok(None)
            }
            Err(error) => Err(error).with_context(|| format!("failed to ask for {reference}")),
        }
    }

    /// Pushes what the manifest lists, and then the manifest under its digest.
    async fn push(&self, reference: &Reference, artifact: &Artifact) -> anyhow::Result<()> {
        for child in &artifact.children {
            Box::pin(self.push(reference, child)).await?;
        }
        for blob in &artifact.blobs {
            if self.client.blob_exists(reference, &blob.digest).await? {
                continue;
            }
            match self.client.push_blob(reference, blob.bytes.clone(), &blob.digest).await {
                // Some registries answer without a location although they have stored the blob.
                Err(OciDistributionError::RegistryNoLocationError)
                    if self.client.blob_exists(reference, &blob.digest).await? => {}
                pushed => drop(pushed?),
            }
        }
        // A digest in the place of the tag, which is where the client expects the end of the URL.
        let (registry, repository) = (reference.registry().to_owned(), reference.repository().to_owned());
        let by_digest = Reference::with_tag(registry, repository, artifact.manifest.digest.clone());
        self.push_manifest(&by_digest, &artifact.manifest).await
    }

    async fn push_manifest(&self, reference: &Reference, manifest: &Blob) -> anyhow::Result<()> {
        let media_type = manifest.media_type.parse()?;
        let pushing = self
            .client
            .push_manifest_raw(reference, manifest.bytes.clone(), media_type);
        pushing.await?;
        Ok(())
    }

    async fn pull(&self, reference: &Reference, artifact: &Artifact, authority: &RegistryAuth) -> anyhow::Result<()> {
        for child in &artifact.children {
            Box::pin(self.pull(reference, child, authority)).await?;
        }
        let manifest = &artifact.manifest;
        let by_digest = reference.clone_with_digest(manifest.digest.clone());
        let pulling = self.client.pull_manifest_raw(&by_digest, authority, &[MANIFEST, INDEX]);
        let (found, _) = pulling.await?;
        ensure!(
            found.as_ref() == manifest.bytes.as_slice(),
            "{}: other bytes",
            manifest.digest
        );
        for blob in &artifact.blobs {
            let descriptor = OciDescriptor {
                media_type: blob.media_type.clone(),
                digest: blob.digest.clone(),
                size: i64::try_from(blob.bytes.len())?,
                ..OciDescriptor::default()
            };
            let mut found = Vec::new();
            self.client.pull_blob(reference, &descriptor, &mut found).await?;
            ensure!(found == blob.bytes, "{}: other bytes", blob.digest);
        }
        Ok(())
    }
}

/// The codes for a tag or repository that does not exist.
const UNKNOWN: [OciErrorCode; 3] = [
    OciErrorCode::ManifestUnknown,
    OciErrorCode::NameUnknown,
    OciErrorCode::NotFound,
];

/// Fails if the tag names another artifact.
fn unchanged(reference: &Reference, found: Option<&str>, artifact: &Artifact) -> anyhow::Result<()> {
    let expected = &artifact.manifest.digest;
    match found {
        Some(found) if found != expected => {
            bail!("{reference} is already {found}, but this release has {expected}: use another version")
        }
        _ => Ok(()),
    }
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
        Err(error) => bail!("failed to read the login in ~/.docker/config.json: {error}"),
    }
}
