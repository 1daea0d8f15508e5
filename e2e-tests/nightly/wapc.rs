//! The policy in a waPC host of another project, the one for Node: `make wapc` installs it and runs this.
//!
//! Our own host answers each call first, and the lookups that it hears, with their answers, are what the other host
//! answers from. Both must give the same bytes.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::cluster::reviews::fixtures;
use crate::world::policy_host::{Capabilities, HostCall, Module, policy_file, shared_policy};
use crate::world::repository::root;

/// A call of the guest.
#[derive(Serialize)]
struct Call {
    operation: &'static str,
    payload: String,
    exchanges: Vec<Exchange>,
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    expected: Vec<u8>,
}

/// A lookup of the guest; the answer, or the error.
#[derive(Clone, Serialize)]
struct Exchange {
    binding: String,
    namespace: String,
    operation: String,
    payload: String,
    answer: Option<String>,
    error: Option<String>,
}

/// What the other host found.
#[derive(Debug, Deserialize, PartialEq)]
struct Found {
    answer: Option<String>,
    error: Option<String>,
}

impl Call {
    /// A call, with the answer of our own host.
    fn new(
        name: &str,
        module: &Module,
        operation: &'static str,
        payload: &[u8],
        host: Capabilities,
    ) -> anyhow::Result<Self> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&heard);
        let answering = move |call: HostCall<'_>| {
            let answer = host.answer(call.binding, call.namespace, call.operation, call.payload);
            let exchange = Exchange {
                binding: call.binding.to_owned(),
                namespace: call.namespace.to_owned(),
                operation: call.operation.to_owned(),
                payload: STANDARD.encode(call.payload),
                answer: answer.as_ref().ok().map(|bytes| STANDARD.encode(bytes)),
                error: answer.as_ref().err().cloned(),
            };
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
            answer
        };
        let expected = module.call_answering(operation, payload, answering)?;
        let exchanges = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Self {
            operation,
            payload: STANDARD.encode(payload),
            exchanges,
            name: format!("{operation}: {name}"),
            expected,
        })
    }
}

/// All operations of the policy, with every recorded review and its settings.
fn calls() -> anyhow::Result<Vec<Call>> {
    let module = shared_policy()?;
    let mut calls = vec![Call::new("", &module, "protocol_version", b"", Capabilities::none())?];
    for fixture in fixtures()? {
        let name = &*fixture.sentence;
        let settings = fixture.settings.to_string().into_bytes();
        calls.push(Call::new(
            name,
            &module,
            "validate_settings",
            &settings,
            Capabilities::none(),
        )?);
        let payload = fixture.payload().unwrap_or_else(|| fixture.body.clone());
        let host = fixture.cluster().host();
        calls.push(Call::new(name, &module, "validate", &payload, host)?);
    }
    Ok(calls)
}

#[test]
#[ignore = "needs the waPC host for Node: make wapc"]
fn node_host_gives_the_answers_of_our_host() -> anyhow::Result<()> {
    let modules = std::env::var_os("NODE_PATH").context("NODE_PATH: make wapc sets it")?;
    let (calls, folder) = (calls()?, tempfile::tempdir()?);
    let [input, output] = ["calls.json", "answers.json"].map(|file| folder.path().join(file));
    std::fs::write(&input, serde_json::to_vec(&calls)?)?;
    let script = root().join("e2e-tests/engines/wapc/host.js");
    let mut node = Command::new("node");
    let ended = node
        .arg(script)
        .args([&policy_file(), &input, &output])
        .env("NODE_PATH", modules)
        .output()?;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));

    let found: Vec<Found> = serde_json::from_slice(&std::fs::read(&output)?)?;
    assert_eq!(found.len(), calls.len());
    for (call, found) in calls.iter().zip(&found) {
        let expected = Found {
            answer: Some(STANDARD.encode(&call.expected)),
            error: None,
        };
        assert_eq!(found, &expected, "{}", call.name);
    }
    let asking = calls.iter().filter(|call| !call.exchanges.is_empty()).count();
    let failing = calls
        .iter()
        .flat_map(|call| &call.exchanges)
        .filter(|exchange| exchange.error.is_some())
        .count();
    println!(
        "{} calls alike, {asking} of them with lookups, {failing} failed lookups",
        calls.len()
    );
    assert!(calls.len() >= 200 && asking >= 30 && failing >= 10);
    Ok(())
}
