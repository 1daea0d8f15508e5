//! A minimal waPC host. Unlike the host of policy-server, it counts the instructions of a call, and it measures a call
//! whose memory pages were touched before.

use std::time::{Duration, Instant};

use wasmtime_provider::wasmtime::{
    self, Caller, Config, Engine, Extern, InstancePre, Linker, Memory, Module, Store, TypedFunc,
};

use crate::Result;

const OPERATION: &[u8] = b"validate";
/// The page size of a Linux host.
const PAGE: usize = 4096;
/// The page size of WebAssembly.
const WASM_PAGE: usize = 64 << 10;

/// The input and the output of a call. The next call reuses it, so that its memory was touched before, too.
#[derive(Default)]
pub(crate) struct Call {
    payload: Vec<u8>,
    /// The result of each lookup.
    found: Vec<u8>,
    answer: Vec<u8>,
}

pub(crate) struct Bare {
    engine: Engine,
    guest: InstancePre<Call>,
}

impl Call {
    pub(crate) fn with(payload: &str, found: &str) -> Self {
        Self {
            payload: payload.into(),
            found: found.into(),
            answer: Vec::new(),
        }
    }

    /// The answer of the guest.
    pub(crate) fn answer(&self) -> &[u8] {
        &self.answer
    }
}

impl Bare {
    pub(crate) fn load(bytes: &[u8], config: &Config) -> Result<Self> {
        let engine = Engine::new(config)?;
        let module = Module::new(&engine, bytes)?;
        let mut linker = Linker::new(&engine);
        linker.func_wrap("wapc", "__guest_request", request)?;
        linker.func_wrap("wapc", "__guest_response", response)?;
        linker.func_wrap("wapc", "__host_call", look_up)?;
        linker.func_wrap("wapc", "__host_response_len", found_length)?;
        linker.func_wrap("wapc", "__host_response", found)?;
        // The guests under test need no other import.
        linker.define_unknown_imports_as_traps(&module)?;
        let guest = linker.instantiate_pre(&module)?;
        Ok(Self { engine, guest })
    }

    /// The number of instructions of a call; a bulk copy or fill of memory counts as one. The configuration must enable
    /// fuel.
    pub(crate) fn fuel(&self, call: Call) -> Result<u64> {
        let mut store = Store::new(&self.engine, call);
        store.set_fuel(u64::MAX)?;
        let call = self.start(&mut store, 0)?;
        let before = store.get_fuel()?;
        answer(&mut store, &call)?;
        Ok(before - store.get_fuel()?)
    }

    /// The time of a call in a fresh instance, with memory that was touched before.
    pub(crate) fn time(&self, call: &mut Call) -> Result<Duration> {
        let mut store = Store::new(&self.engine, std::mem::take(call));
        store.set_epoch_deadline(2);
        // Room for twice the input: enough for the answer and the data beside it.
        let data = store.data();
        let room = (data.payload.len() + data.found.len()) * 2 + (1 << 20);
        let guest = self.start(&mut store, room)?;
        let start = Instant::now();
        answer(&mut store, &guest)?;
        let time = start.elapsed();
        *call = store.into_data();
        Ok(time)
    }

    /// A fresh instance with `room` more bytes of memory, all of them touched.
    fn start(&self, store: &mut Store<Call>, room: usize) -> Result<TypedFunc<(u32, u32), u32>> {
        let instance = self.guest.instantiate(&mut *store)?;
        if room > 0 {
            let memory = instance.get_memory(&mut *store, "memory").ok_or("no memory")?;
            memory.grow(&mut *store, room.div_ceil(WASM_PAGE) as u64)?;
            for page in memory.data_mut(&mut *store).chunks_mut(PAGE) {
                page[0] = std::hint::black_box(page[0]);
            }
        }
        let init = instance.get_typed_func::<(), ()>(&mut *store, "wapc_init")?;
        init.call(&mut *store, ())?;
        Ok(instance.get_typed_func(&mut *store, "__guest_call")?)
    }
}

fn answer(store: &mut Store<Call>, guest: &TypedFunc<(u32, u32), u32>) -> Result<()> {
    let lengths = (OPERATION.len() as u32, u32::try_from(store.data().payload.len())?);
    let answered = guest.call(&mut *store, lengths)?;
    if answered != 1 || store.data().answer.is_empty() {
        return Err("no answer".into());
    }
    Ok(())
}

fn request(mut caller: Caller<'_, Call>, operation: u32, payload: u32) -> wasmtime::Result<()> {
    let memory = memory_of(&mut caller)?;
    let (data, call) = memory.data_and_store_mut(&mut caller);
    for (place, bytes) in [(operation as usize, OPERATION), (payload as usize, &call.payload)] {
        data[place..place + bytes.len()].copy_from_slice(bytes);
    }
    Ok(())
}

fn response(mut caller: Caller<'_, Call>, answer: u32, length: u32) -> wasmtime::Result<()> {
    let memory = memory_of(&mut caller)?;
    let (data, call) = memory.data_and_store_mut(&mut caller);
    call.answer.clear();
    call.answer
        .extend_from_slice(&data[answer as usize..][..length as usize]);
    Ok(())
}

/// Every lookup succeeds.
fn look_up(_: Caller<'_, Call>, _: u32, _: u32, _: u32, _: u32, _: u32, _: u32, _: u32, _: u32) -> u32 {
    1
}

fn found_length(caller: Caller<'_, Call>) -> wasmtime::Result<u32> {
    Ok(u32::try_from(caller.data().found.len())?)
}

fn found(mut caller: Caller<'_, Call>, place: u32) -> wasmtime::Result<()> {
    let memory = memory_of(&mut caller)?;
    let (data, call) = memory.data_and_store_mut(&mut caller);
    data[place as usize..][..call.found.len()].copy_from_slice(&call.found);
    Ok(())
}

fn memory_of(caller: &mut Caller<'_, Call>) -> wasmtime::Result<Memory> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    memory.ok_or_else(|| wasmtime::error::format_err!("no memory"))
}
