// The host's side of waPC for `make wasm-test`: a guest that links wapc-guest imports these, and Node must find them to load
// it at all. No test talks to a host here (the end-to-end tests do, in policy-server's engine), so a call is a mistake.
for (const name of [
  "__console_log", "__guest_error", "__guest_request", "__guest_response", "__host_call", "__host_error",
  "__host_error_len", "__host_response", "__host_response_len",
]) {
  exports[name] = () => { throw new Error(`${name}: there is no waPC host in these tests`); };
}
