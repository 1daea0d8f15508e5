//! The engine of policy-server: wasmtime behind waPC.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use wapc::WapcHost;
use wasmtime_provider::wasmtime::{self, Config, Engine};
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use super::capabilities::Capabilities;

/// The clock of policy-server ticks once a second …
const TICK: Duration = Duration::from_secs(1);
/// … and interrupts a guest after `--policy-timeout`, by default two ticks.
const OF_POLICY_SERVER: u64 = 2;
/// For tests that are not about time: a slow machine may take longer, because the clock also runs while other processes
/// do.
const PATIENT: u64 = 25;

/// Compiles modules, and runs the clock for their instances.
pub(crate) struct Runtime {
    engine: Engine,
    ticks: u64,
}

/// A compiled module, ready to be instantiated.
#[derive(Clone)]
pub(crate) struct Module {
    pre: Arc<WasmtimeEngineProviderPre>,
    ticks: u64,
}

impl Runtime {
    /// A runtime that interrupts a guest as policy-server does.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Self::with(OF_POLICY_SERVER)
    }

    /// A runtime whose clock runs until the last of its modules is dropped.
    fn with(ticks: u64) -> anyhow::Result<Self> {
        let mut config = Config::new();
        config.wasm_function_references(true);
        config.epoch_interruption(true);
        let engine = Engine::new(&config).map_err(|error| wrong(&error))?;
        let weak = engine.weak();
        thread::spawn(move || {
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        });
        Ok(Self { engine, ticks })
    }

    /// Compiles a module once, for all entries and requests.
    pub(crate) fn compile(&self, bytes: &[u8]) -> anyhow::Result<Module> {
        let module = wasmtime::Module::new(&self.engine, bytes).map_err(|error| wrong(&error))?;
        let pre = WasmtimeEngineProviderBuilder::new()
            .engine(self.engine.clone())
            .module(module)
            .build_pre()?;
        Ok(Module {
            pre: Arc::new(pre),
            ticks: self.ticks,
        })
    }

    /// Compiles the shipped policy.
    pub(crate) fn load_policy(&self) -> anyhow::Result<Module> {
        self.compile(&policy_bytes()?)
    }
}

impl Module {
    /// Calls a fresh instance, so no state outlives a request.
    pub(crate) fn call(
        &self,
        operation: &str,
        payload: &[u8],
        capabilities: Arc<Capabilities>,
    ) -> Result<Vec<u8>, wapc::errors::Error> {
        let answer =
            move |call: HostCall<'_>| capabilities.answer(call.binding, call.namespace, call.operation, call.payload);
        self.call_answering(operation, payload, answer)
    }

    /// The same with another host that answers.
    pub(crate) fn call_answering(
        &self,
        operation: &str,
        payload: &[u8],
        answer: impl Fn(HostCall<'_>) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Result<Vec<u8>, wapc::errors::Error> {
        let deadlines = EpochDeadlines {
            wapc_init: self.ticks,
            wapc_func: self.ticks,
        };
        let instance = self.pre.rehydrate(Some(deadlines))?;
        let answer = move |_: u64, binding: &str, namespace: &str, operation: &str, payload: &[u8]| {
            let call = HostCall {
                binding,
                namespace,
                operation,
                payload,
            };
            answer(call).map_err(Into::into)
        };
        WapcHost::new(Box::new(instance), Some(Box::new(answer)))?.call(operation, payload)
    }
}

/// What a guest asks its host.
pub(crate) struct HostCall<'a> {
    pub(crate) binding: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) operation: &'a str,
    pub(crate) payload: &'a [u8],
}

/// The file of the shipped policy: the one that `CLAIM_ROLLOUT_POLICY` names, or `policy.wasm`.
pub(crate) fn policy_file() -> PathBuf {
    let named = std::env::var_os("CLAIM_ROLLOUT_POLICY");
    named.map_or_else(|| crate::world::repository::root().join("policy.wasm"), PathBuf::from)
}

/// The shipped policy.
pub(crate) fn policy_bytes() -> anyhow::Result<Vec<u8>> {
    let path = policy_file();
    std::fs::read(&path).with_context(|| format!("{}: expected a policy: `make policy.wasm` makes it", path.display()))
}

/// The shipped policy for tests that are not about time, compiled once for the whole program.
pub(crate) fn shared_policy() -> anyhow::Result<Module> {
    static SHARED: Mutex<Option<Module>> = Mutex::new(None);
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(module) = &*shared {
        return Ok(module.clone());
    }
    let module = Runtime::with(PATIENT)?.load_policy()?;
    Ok(shared.insert(module).clone())
}

/// wasmtime has its own error type.
fn wrong(error: &wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}
