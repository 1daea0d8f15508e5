//! The memory that a call takes in the guest. The host sets no limit, so the policy must limit itself.
//!
//! The engine behind waPC shows no memory, so this file has the parts of a waPC host that a call needs.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use wasmtime_provider::wasmtime::{self, Caller, Engine, Extern, Linker, Memory, Module, Store};

use crate::world::policy_host::policy_bytes;

/// The most that a call may add to the linear memory of a fresh instance: four bytes for each byte of its input, and a
/// page.
const PER_BYTE: usize = 4;
const PAGE: usize = 64 * 1024;

/// The lengths of the inputs, in bytes: a usual review, a large one, and two objects of 3 MiB.
const LENGTHS: [usize; 4] = [15 << 10, 128 << 10, 659 << 10, 6 << 20];

/// The content of a review.
#[derive(Clone, Copy, Debug)]
enum Filling {
    /// Annotations and managed fields of others.
    Unread,
    /// The same, with an escape in every other character.
    Escaped,
    /// Small values that are read: groups of the user.
    Groups,
    /// Annotations in our domain.
    Ours,
    /// A template with many labels.
    Labels,
    /// Many templates.
    Templates,
    /// A template with an unknown field full of small numbers.
    Numbers,
}

const FILLINGS: [Filling; 7] = [
    Filling::Unread,
    Filling::Escaped,
    Filling::Groups,
    Filling::Ours,
    Filling::Labels,
    Filling::Templates,
    Filling::Numbers,
];

impl Filling {
    /// True iff this much content is more than real objects have: the policy denies it before it takes memory.
    const fn is_refused(self, length: usize) -> bool {
        match self {
            Self::Unread | Self::Escaped => false,
            Self::Groups => length > LENGTHS[0],
            Self::Ours | Self::Labels | Self::Templates | Self::Numbers => true,
        }
    }

    /// A review of about this length in which a template grows, or nothing changes.
    fn review(self, length: usize, grows: bool) -> String {
        let half = length / 2;
        let repeated = |item: &dyn Fn(usize) -> String| {
            let each = item(10_000).len() + 1;
            (0..half / each).map(item).collect::<Vec<_>>().join(",")
        };
        let text = match self {
            Self::Unread => json!({"a": "x".repeat(half)}).to_string(),
            Self::Escaped => format!("{{\"a\":\"{}\"}}", "x\\n".repeat(half / 3)),
            Self::Groups => format!("[{}]", repeated(&|_| "\"g\"".to_owned())),
            Self::Ours => format!("{{{}}}", repeated(&|n| format!("\"claim-rollout.io/{n:06}\":\"\""))),
            Self::Labels => format!("{{{}}}", repeated(&|n| format!("\"l{n:06}\":\"\""))),
            Self::Templates => repeated(&|n| format!("{{\"metadata\":{{\"name\":\"d{n:06}\"}}}}")),
            Self::Numbers => format!("[{}]", repeated(&|_| "1".to_owned())),
        };
        let object = |size: &str| self.set(size).to_string().replace("\"FILLING\"", &text);
        let (old, new) = (object("10Gi"), object(if grows { "20Gi" } else { "10Gi" }));
        let groups = if matches!(self, Self::Groups) {
            text.as_str()
        } else {
            "[]"
        };
        format!(
            r#"{{"settings":{{"authority":"TrustSetEditors"}},"request":{{"uid":"1","kind":{{"group":"apps","version":"v1","kind":"StatefulSet"}},"operation":"UPDATE","name":"web","namespace":"shop","userInfo":{{"username":"alice","groups":{groups}}},"oldObject":{old},"object":{new}}}}}"#
        )
    }

    fn set(self, size: &str) -> Value {
        let mut template =
            json!({"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": size}}}});
        let mut annotations = json!({});
        let mut more = Value::Null;
        match self {
            Self::Unread | Self::Escaped | Self::Ours => annotations = json!("FILLING"),
            Self::Labels => template["metadata"]["labels"] = json!("FILLING"),
            Self::Numbers => template["spec"]["numbers"] = json!("FILLING"),
            Self::Templates => more = json!("FILLING"),
            Self::Groups => {}
        }
        let templates = if more.is_null() {
            json!([template])
        } else {
            json!([template, more])
        };
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "annotations": annotations},
            "spec": {"replicas": 3, "volumeClaimTemplates": templates},
        })
    }
}

/// The input of one call, and the answer of the guest.
#[derive(Default)]
struct Call {
    operation: Vec<u8>,
    payload: Vec<u8>,
    answer: Vec<u8>,
}

/// The policy, ready to be called.
struct Guest {
    engine: Engine,
    module: Module,
}

impl Guest {
    fn new() -> anyhow::Result<Self> {
        let engine = Engine::default();
        let module = Module::new(&engine, policy_bytes()?).map_err(|error| wrong(&error))?;
        Ok(Self { engine, module })
    }

    /// The answer to one payload, and by how many bytes the memory of a fresh instance grew.
    fn call(&self, payload: &[u8]) -> anyhow::Result<(Vec<u8>, usize)> {
        let call = Call {
            operation: b"validate".to_vec(),
            payload: payload.to_vec(),
            answer: Vec::new(),
        };
        let mut store = Store::new(&self.engine, call);
        let linker = linker(&self.engine).map_err(|error| wrong(&error))?;
        let instance = linker
            .instantiate(&mut store, &self.module)
            .map_err(|error| wrong(&error))?;
        let memory = instance.get_memory(&mut store, "memory").context("a memory")?;
        let init = instance.get_typed_func::<(), ()>(&mut store, "wapc_init");
        let init = init.map_err(|error| wrong(&error))?;
        init.call(&mut store, ()).map_err(|error| wrong(&error))?;
        let fresh = memory.data_size(&store);
        let lengths = (8, i32::try_from(payload.len())?);
        let validate = instance.get_typed_func::<(i32, i32), i32>(&mut store, "__guest_call");
        let validate = validate.map_err(|error| wrong(&error))?;
        let done = validate.call(&mut store, lengths).map_err(|error| wrong(&error))?;
        ensure!(done == 1, "the call failed");
        let grown = memory.data_size(&store) - fresh;
        Ok((store.into_data().answer, grown))
    }
}

/// The imports of a waPC guest. The policy needs no host call here.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<Call>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap(
        "wapc",
        "__guest_request",
        |mut caller: Caller<'_, Call>, operation: u32, payload: u32| -> wasmtime::Result<()> {
            let memory = memory(&mut caller)?;
            let (bytes, call) = memory.data_and_store_mut(&mut caller);
            for (at, from) in [(operation, &call.operation), (payload, &call.payload)] {
                bytes[at as usize..][..from.len()].copy_from_slice(from);
            }
            Ok(())
        },
    )?;
    linker.func_wrap(
        "wapc",
        "__guest_response",
        |mut caller: Caller<'_, Call>, at: u32, length: u32| -> wasmtime::Result<()> {
            let memory = memory(&mut caller)?;
            let (bytes, call) = memory.data_and_store_mut(&mut caller);
            call.answer = bytes[at as usize..][..length as usize].to_vec();
            Ok(())
        },
    )?;
    linker.func_wrap("wapc", "__guest_error", |_: u32, _: u32| {})?;
    linker.func_wrap("wapc", "__host_response", |_: u32| {})?;
    linker.func_wrap("wapc", "__host_response_len", || 0_u32)?;
    linker.func_wrap("wapc", "__host_error", |_: u32| {})?;
    linker.func_wrap("wapc", "__host_error_len", || 0_u32)?;
    linker.func_wrap("wapc", "__console_log", |_: u32, _: u32| {})?;
    let nobody = |_: u32, _: u32, _: u32, _: u32, _: u32, _: u32, _: u32, _: u32| 0_u32;
    linker.func_wrap("wapc", "__host_call", nobody)?;
    Ok(linker)
}

fn memory(caller: &mut Caller<'_, Call>) -> wasmtime::Result<Memory> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    memory.ok_or_else(|| wasmtime::Error::msg("expected a memory"))
}

/// wasmtime has its own error type.
fn wrong(error: &wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}

#[test]
fn call_takes_at_most_four_times_its_input_and_a_page() -> anyhow::Result<()> {
    let guest = Guest::new()?;
    let mut report = Vec::new();
    for filling in FILLINGS {
        for length in LENGTHS {
            for grows in [false, true] {
                let payload = filling.review(length, grows);
                let (answer, grown) = guest.call(payload.as_bytes())?;
                let line = format!(
                    "{filling:?}, {} bytes, {}: {} pages, {:.2} times the input",
                    payload.len(),
                    if grows { "grows" } else { "as it was" },
                    grown / PAGE,
                    grown as f64 / payload.len() as f64,
                );
                println!("{line}");
                // A denied review is not decoded; all others must be decoded, or nothing is measured.
                let refused = answer.starts_with(b"{\"accepted\":false");
                ensure!(
                    !refused || filling.is_refused(length),
                    "{line}: {}",
                    String::from_utf8_lossy(&answer)
                );
                if grown > PER_BYTE * payload.len() + PAGE {
                    report.push(line);
                }
            }
        }
    }
    ensure!(report.is_empty(), "too much memory:\n{}", report.join("\n"));
    Ok(())
}
