//! A guest in the engine of policy-server.

use std::hint::black_box;
use std::time::Duration;

use serde_json::Value;
use wapc::WapcHost;
use wasmtime_provider::wasmtime::{Engine, Module};
use wasmtime_provider::{WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use crate::Result;
use crate::fixtures::{Edit, Size, review};
use crate::module::{self, DEADLINES};
use crate::pairs::timed;

/// A compiled module. Every call gets a fresh instance.
pub(crate) struct Guest {
    /// The environment variable with the path of the module, for messages.
    name: &'static str,
    pub(crate) bytes: Vec<u8>,
    engine: Engine,
    pre: WasmtimeEngineProviderPre,
}

impl Guest {
    pub(crate) fn load(name: &'static str) -> Result<Self> {
        let bytes = module::read(name)?;
        let config = module::policy_server();
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, &bytes)?;
        let pre = WasmtimeEngineProviderBuilder::new()
            .engine(engine.clone())
            .module(module)
            .enable_epoch_interruptions(DEADLINES)
            .build_pre()
            .map_err(|error| format!("{name}: {error}"))?;
        Ok(Self {
            name,
            bytes,
            engine,
            pre,
        })
    }

    pub(crate) fn compile_once(&self) -> Result<Duration> {
        let (module, time) = timed(|| Module::new(&self.engine, &self.bytes));
        black_box(module?);
        Ok(time)
    }

    /// The time of a request with a fresh instance, as in policy-server.
    pub(crate) fn request(&self, payload: &[u8]) -> Result<Duration> {
        let (answer, time) = timed(|| self.start().map(|host| host.call("validate", payload)));
        black_box(answer?.map_err(|error| self.fault(&error))?);
        Ok(time)
    }

    /// The answer of a fresh instance, and the time of the call alone.
    pub(crate) fn call(&self, payload: &[u8]) -> Result<(Vec<u8>, Duration)> {
        let host = self.start()?;
        let (answer, time) = timed(|| host.call("validate", payload));
        Ok((answer.map_err(|error| self.fault(&error))?, time))
    }

    /// A fresh instance after `wapc_init`.
    fn start(&self) -> Result<WapcHost> {
        let engine = self.pre.rehydrate(Some(DEADLINES))?;
        // Not an error: a guest could take it for an answer and go on.
        let no_host_calls = |_, _: &str, _: &str, operation: &str, _: &[u8]| -> Result<Vec<u8>> {
            panic!("a lookup ({operation}), although the settings disable all")
        };
        Ok(WapcHost::new(Box::new(engine), Some(Box::new(no_host_calls)))?)
    }

    fn fault(&self, error: &wapc::errors::Error) -> String {
        format!("{}: {error}", self.name)
    }

    /// The answer without its members that are null: an earlier build leaves them out.
    fn answer(&self, review: &Value) -> Result<Value> {
        let mut answer: Value = serde_json::from_slice(&self.call(&serde_json::to_vec(review)?)?.0)?;
        if let Some(members) = answer.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        Ok(answer)
    }

    /// Returns an error if the answer is not the one of another guest.
    pub(crate) fn answers_like(&self, other: &Self, size: Size, edit: Edit) -> Result<()> {
        let review = review(size, edit);
        let [expected, found] = [other.answer(&review)?, self.answer(&review)?];
        let Some(path) = difference(&expected, &found, "") else {
            return Ok(());
        };
        let [expected, found] = [&expected, &found].map(|answer| answer.pointer(&path).unwrap_or(&Value::Null));
        let names = (self.name, other.name, size.name);
        Err(format!("{names:?}: the answers differ at {path}: expected {expected}, but found {found}").into())
    }

    /// Returns an error if the answer is not the expected one.
    pub(crate) fn check(&self, size: Size, edit: Edit) -> Result<()> {
        let review = review(size, edit);
        let answer = self.answer(&review)?;
        let request = &review["request"];
        let fault = match (edit, &answer["mutated_object"]) {
            _ if answer["accepted"] != true => Some(format!("not accepted: {}", answer["message"])),
            (Edit::Image, Value::Null) => None,
            (Edit::Image, _) => Some("mutated, although no template changed".to_owned()),
            (Edit::Grow, mutated) => staged_fault(request, mutated),
        };
        fault.map_or(Ok(()), |fault| {
            Err(format!("{}, {}: {fault}", self.name, size.name).into())
        })
    }
}

/// The first fault of an object with a staged growth: it must have the old templates, the staged change and its phase,
/// and otherwise be equal to the object of the request.
fn staged_fault(request: &Value, mutated: &Value) -> Option<String> {
    let mut rest = mutated.clone();
    let mut removed = |key: &str| {
        let annotations = rest.pointer_mut("/metadata/annotations")?.as_object_mut()?;
        annotations.remove(key)?.as_str().map(str::to_owned)
    };
    if !removed("claim-rollout.io/staged").is_some_and(|staged| staged.contains("20Gi")) {
        return Some("the staged change does not have the growth".to_owned());
    }
    if removed("claim-rollout.io/phase").is_none() {
        return Some("no phase with the staged change".to_owned());
    }
    let mut expected = request["object"].clone();
    expected["spec"]["volumeClaimTemplates"] = request["oldObject"]["spec"]["volumeClaimTemplates"].clone();
    let path = difference(&expected, &rest, "")?;
    Some(format!("differs from the request at {path}"))
}

/// The first path with different values.
fn difference(expected: &Value, found: &Value, path: &str) -> Option<String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected
                .keys()
                .chain(found.keys())
                .find_map(|key| match (expected.get(key), found.get(key)) {
                    (Some(expected), Some(found)) => difference(expected, found, &format!("{path}/{key}")),
                    _ => Some(format!("{path}/{key}")),
                })
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            pairs.find_map(|(n, (expected, found))| difference(expected, found, &format!("{path}/{n}")))
        }
        _ => (expected != found).then(|| path.to_owned()),
    }
}
