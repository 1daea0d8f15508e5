// A waPC host in the browser. @wapc/host from npm is written for bundlers and keeps one instance; a policy needs a new
// instance for each call, and a page that is opened as a file needs a classic script. The protocol is eight imports.
'use strict';

/* exported PolicyHost */
class PolicyHost {
  /** Compiles the module once. `answer(operation, request)` answers the policy, or throws its error. */
  static async load(bytes, answer) {
    return new PolicyHost(await WebAssembly.compile(bytes), answer);
  }

  constructor(module, answer) {
    this.module = module;
    this.answer = answer;
  }

  /** Calls an operation of the policy with an object, in an instance of its own. Returns the object that it answers. */
  async call(operation, payload) {
    const text = new TextEncoder(), plain = new TextDecoder();
    const [name, message] = [text.encode(operation), text.encode(JSON.stringify(payload))];
    let memory, response, fault;
    let answered = new Uint8Array(), failed = new Uint8Array();
    const read = (at, length) => new Uint8Array(memory.buffer, at, length).slice();
    const write = (at, bytes) => new Uint8Array(memory.buffer).set(bytes, at);
    const wapc = {
      __guest_request: (atName, atMessage) => { write(atName, name); write(atMessage, message); },
      __guest_response: (at, length) => { response = read(at, length); },
      __guest_error: (at, length) => { fault = plain.decode(read(at, length)); },
      __host_call: (_binding, _bindingLength, _namespace, _namespaceLength, at, length, atRequest, requestLength) => {
        try {
          const request = JSON.parse(plain.decode(read(atRequest, requestLength)));
          answered = text.encode(JSON.stringify(this.answer(plain.decode(read(at, length)), request)));
          return 1;
        } catch (error) {
          failed = text.encode(error.message);
          return 0;
        }
      },
      __host_response_len: () => answered.length,
      __host_response: (at) => write(at, answered),
      __host_error_len: () => failed.length,
      __host_error: (at) => write(at, failed),
      __console_log: () => {},
    };
    const instance = await WebAssembly.instantiate(this.module, { wapc });
    memory = instance.exports.memory;
    (instance.exports.wapc_init || instance.exports._start)();
    if (instance.exports.__guest_call(name.length, message.length) !== 1) {
      throw new Error(fault || 'the policy ended without an answer');
    }
    return JSON.parse(plain.decode(response));
  }
}
