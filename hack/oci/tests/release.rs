//! A small release, built and pushed to a registry on this machine: `make oci-test` sets the variables. Its programs for
//! Linux are headers of ELF files, because only their processors matter here.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The tree.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name}: `make oci-test` sets it"))
}

/// A registry in memory, stopped when dropped.
struct Registry {
    process: Child,
    host: String,
}

impl Registry {
    fn start() -> Self {
        let mut process = Command::new(variable("CRANE"))
            .args(["registry", "serve", "--address", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("crane");
        let mut log = BufReader::new(process.stderr.take().expect("a log"));
        let mut line = String::new();
        log.read_line(&mut line).expect("a line");
        let port = line.trim().rsplit(' ').next().expect("a port").to_owned();
        // The registry must be able to write its log until the end.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self {
            process,
            host: format!("127.0.0.1:{port}"),
        }
    }

    /// What crane prints, for a reference in the organisation.
    fn crane(&self, command: &str, reference: &str) -> Vec<u8> {
        let reference = format!("{}/claim-rollout/{reference}", self.host);
        let mut crane = Command::new(variable("CRANE"));
        let output = crane.args(command.split(' ')).arg(&reference).output().expect("crane");
        assert!(
            output.status.success(),
            "{command} {reference}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    fn json(&self, command: &str, reference: &str) -> Value {
        serde_json::from_slice(&self.crane(command, reference)).expect("JSON")
    }

    fn oci(&self, arguments: &[&str]) -> Result<String, String> {
        oci(&[&["--plain-http", "--registry", &self.host], arguments].concat())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Runs the tool in the tree; the output, or the error.
fn oci(arguments: &[&str]) -> Result<String, String> {
    oci_at("1760000000", arguments)
}

/// The same with another date of the commit.
fn oci_at(epoch: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_oci"))
        .args(arguments)
        .env("SOURCE_DATE_EPOCH", epoch)
        .current_dir(ROOT)
        .output()
        .expect("oci");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

/// The header of a static program.
fn program(machine: u8) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01".to_vec();
    file.resize(64, 0);
    file[18] = machine;
    file
}

/// Builds a release of two platforms of Linux into `out`, and one of macOS.
fn build(folder: &Path, out: &str) -> PathBuf {
    build_at("1760000000", folder, out)
}

fn build_at(epoch: &str, folder: &Path, out: &str) -> PathBuf {
    let (bin, out) = (folder.join("bin"), folder.join(out));
    for (platform, content) in [
        ("linux-amd64", program(62)),
        ("linux-arm64", program(183)),
        ("darwin-arm64", b"for macOS".to_vec()),
    ] {
        std::fs::create_dir_all(bin.join(platform)).expect("a folder");
        std::fs::write(bin.join(platform).join("claim-rollout"), content).expect("a file");
    }
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (plugin, helm, policy) = (variable("PLUGIN"), variable("HELM"), variable("CLAIM_ROLLOUT_POLICY"));
    let platforms = "linux-arm64,linux-amd64,darwin-arm64";
    let man = variable("MAN");
    let arguments = [
        "build",
        "--platforms",
        platforms,
        "--plugin",
        &plugin,
        "--man",
        &man,
        "--helm",
        &helm,
    ];
    let places = ["--policy", &policy, "--binaries", &text(&bin), "--out", &text(&out)];
    assert_eq!(oci_at(epoch, &[&arguments[..], &places].concat()), Ok(String::new()));
    out
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn release_is_pushed_whole_and_never_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (build(folder.path(), "one"), build(folder.path(), "other"));
    let sums = read(one.join("release/checksums.txt"));
    assert_eq!(
        sums,
        read(other.join("release/checksums.txt")),
        "equal files make an equal release"
    );
    let version = oci(&["check-version"]).expect("a version");
    let version = version.trim();

    let registry = Registry::start();
    let layout = one.join("oci");
    let layout = layout.to_str().expect("UTF-8");
    assert!(registry.oci(&["verify", layout]).is_err(), "nothing is pushed yet");
    let pushed = registry.oci(&["push", layout]).expect("pushed");
    let images = read(one.join("release/images.txt"));
    assert_eq!(pushed, images.replace("ghcr.io/", &format!("{}/", registry.host)));
    assert_eq!(
        registry.oci(&["push", layout]),
        Ok(pushed),
        "the same again changes nothing"
    );
    assert_eq!(registry.oci(&["verify", layout]), Ok(String::new()));

    let image = format!("claim-rollout:{version}");
    let before = registry.crane("digest", &image);
    let later = build_at("1760000001", folder.path(), "later").join("oci");
    let error = registry
        .oci(&["push", later.to_str().expect("UTF-8")])
        .expect_err("another release");
    assert!(
        error.contains("is already sha256:") && error.contains("use another version"),
        "{error}"
    );
    assert_eq!(registry.crane("digest", &image), before);

    // Whoever builds their own pushes the same tag again.
    let reference = format!("{}/claim-rollout/{image}", registry.host);
    let policy = variable("CLAIM_ROLLOUT_POLICY");
    let own = ["policy", &policy, "--metadata", "policy-metadata.yml", &reference];
    let pushed = registry.oci(&own).expect("pushed");
    let digest = String::from_utf8(registry.crane("digest", &image)).expect("UTF-8");
    assert_eq!(pushed, format!("{reference}@{digest}"));
}

#[test]
fn artifacts_have_the_formats_of_their_readers() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = build(folder.path(), "dist");
    let version = oci(&["check-version"]).expect("a version");
    let version = version.trim();
    let registry = Registry::start();
    registry
        .oci(&["push", out.join("oci").to_str().expect("UTF-8")])
        .expect("pushed");

    let image = format!("claim-rollout:{version}");
    registry.crane("validate --remote", &image);
    let index = registry.json("manifest", &image);
    let platforms: Vec<String> = index["manifests"]
        .as_array()
        .expect("manifests")
        .iter()
        .map(|entry| format!("{}/{}", entry["platform"]["os"], entry["platform"]["architecture"]).replace('"', ""))
        .collect();
    assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
    for entry in index["manifests"].as_array().expect("manifests") {
        let digest = entry["digest"].as_str().expect("a digest");
        let config = registry.json("config", &format!("claim-rollout@{digest}"));
        assert_eq!(config["architecture"], entry["platform"]["architecture"]);
        assert_eq!(config["config"]["User"], "65532:65532");
        assert_eq!(config["created"], "2025-10-09T08:53:20Z");
    }
    for (reference, config, layer) in [
        (
            format!("policy:v{version}"),
            "application/vnd.wasm.config.v1+json",
            "application/vnd.wasm.content.layer.v1+wasm",
        ),
        (
            format!("charts/claim-rollout:{version}"),
            "application/vnd.cncf.helm.config.v1+json",
            "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
        ),
    ] {
        let manifest = registry.json("manifest", &reference);
        assert_eq!(manifest["config"]["mediaType"], config, "{reference}");
        assert_eq!(manifest["layers"][0]["mediaType"], layer, "{reference}");
        let annotation = |key: &str| manifest["annotations"][format!("org.opencontainers.image.{key}")].clone();
        assert_eq!(annotation("version"), version, "{reference}");
        assert_eq!(annotation("created"), "2025-10-09T08:53:20Z", "{reference}");
        assert_eq!(
            annotation("source"),
            "https://github.com/claim-rollout/claim-rollout",
            "{reference}"
        );
    }
}

#[test]
fn files_name_what_is_released_and_its_checksums() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = build(folder.path(), "dist").join("release");
    let mut names: Vec<String> = std::fs::read_dir(&files)
        .expect("a folder")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    let version = oci(&["check-version"]).expect("a version");
    let chart = format!("claim-rollout-{}.tgz", version.trim());
    let expected = [
        "checksums.txt",
        &chart,
        "claim-rollout-darwin-arm64.tar.gz",
        "claim-rollout-linux-amd64.tar.gz",
        "claim-rollout-linux-arm64.tar.gz",
        "claim-rollout.yaml",
        "images.txt",
        "install-builtin.yaml",
        "install-kubewarden.yaml",
        "policy.wasm",
        "sbom-claim-rollout.spdx.json",
        "sbom-policy.wasm.spdx.json",
    ];
    let mut sorted = expected;
    sorted.sort_unstable();
    assert_eq!(names, sorted);

    let sums = read(files.join("checksums.txt"));
    assert_eq!(sums.lines().count(), names.len() - 1, "{sums}");
    let krew = read(files.join("claim-rollout.yaml"));
    assert!(!krew.contains("{{"), "{krew}");
    for platform in ["linux-amd64", "linux-arm64", "darwin-arm64"] {
        let file = format!("claim-rollout-{platform}.tar.gz");
        let sum = sums
            .lines()
            .find_map(|line| line.strip_suffix(&format!("  {file}")))
            .expect("a sum");
        let uri = format!("/v{}/{file}\n    sha256: {sum}\n", version.trim());
        assert!(krew.contains(&uri), "expected {uri} in {krew}");
    }
    assert!(!krew.contains("windows"), "{krew}");

    let images = read(files.join("images.txt"));
    let digest = |name: &str| {
        let line = images
            .lines()
            .find(|line| line.starts_with(&format!("ghcr.io/claim-rollout/{name}:")));
        format!(
            "ghcr.io/claim-rollout/{name}@{}",
            line.expect(name).split_once('@').expect("a digest").1
        )
    };
    let (kubewarden, builtin) = (
        read(files.join("install-kubewarden.yaml")),
        read(files.join("install-builtin.yaml")),
    );
    assert!(
        kubewarden.contains(&format!("module: registry://{}\n", digest("policy"))),
        "{kubewarden}"
    );
    for manifest in [&kubewarden, &builtin] {
        assert!(manifest.contains(&digest("claim-rollout")), "{manifest}");
        assert!(!manifest.contains("registry.example.com"), "{manifest}");
    }
    assert!(!builtin.contains("kind: ClusterAdmissionPolicy"), "{builtin}");

    for (file, has, lacks) in [
        ("sbom-claim-rollout.spdx.json", "kube-client", "proptest"),
        ("sbom-policy.wasm.spdx.json", "wapc-guest", "kube-client"),
    ] {
        let bill: Value = serde_json::from_str(&read(files.join(file))).expect("JSON");
        let packages = bill["packages"].as_array().expect("packages");
        let named = |name: &str| packages.iter().any(|package| package["name"] == name);
        assert!(named(has) && !named(lacks), "{file}: {} packages", packages.len());
    }
}

#[test]
fn tag_of_another_version_is_an_error() {
    let error = oci(&["check-version", "--tag", "v99.0.0"]).expect_err("another version");
    assert!(error.contains("the tag: expected v"), "{error}");
    assert!(error.contains("but found v99.0.0"), "{error}");
}
