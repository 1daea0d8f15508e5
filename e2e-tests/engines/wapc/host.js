// Runs policy.wasm in the waPC host for Node:
//   node host.js policy.wasm calls.json answers.json
// calls.json is a list of {operation, payload, exchanges}. Each call gets a fresh instance, whose lookups are answered
// from its exchanges in their order; another lookup than the next one is an error. answers.json gets, for each call,
// {answer}, or {error} if there was none. Payloads and answers are base64.
"use strict";
const { readFileSync, writeFileSync } = require("node:fs");
const { instantiate } = require("@wapc/host");

const [policy, calls, answers] = process.argv.slice(2);
const bytes = (base64) => new Uint8Array(Buffer.from(base64, "base64"));
const base64 = (bytes) => Buffer.from(bytes).toString("base64");

async function answer(code, { operation, payload, exchanges }) {
  const left = [...exchanges];
  let unexpected;
  // The guest gets the text of what is thrown, so it is no Error, which would add its name.
  const host = await instantiate(code, (binding, namespace, operation, payload) => {
    const asked = { binding, namespace, operation, payload: base64(payload) };
    const next = left.shift();
    for (const key of Object.keys(asked)) {
      if (!next || next[key] !== asked[key]) {
        unexpected = `expected ${JSON.stringify(next)}, but the guest asked ${JSON.stringify(asked)}`;
        throw unexpected;
      }
    }
    if (next.error !== null) throw next.error;
    return bytes(next.answer);
  });
  const found = base64(await host.invoke(operation, bytes(payload)));
  if (unexpected) throw unexpected;
  if (left.length) throw `the guest did not ask ${JSON.stringify(left)}`;
  return found;
}

async function main() {
  const code = readFileSync(policy);
  const all = [];
  for (const call of JSON.parse(readFileSync(calls, "utf8"))) {
    all.push(await answer(code, call).then((answer) => ({ answer }), (error) => ({ error: String(error) })));
  }
  writeFileSync(answers, JSON.stringify(all));
}

main();
