// The page: reads the form, asks the policy, and shows the answer.
'use strict';

/* global jsyaml, PolicyHost, POLICY, readObjects, readSet, admissionRequest, cluster, difference */

const element = (id) => document.getElementById(id);
/** Longer objects are shown without a difference, which takes memory for each pair of lines. */
const MOST_LINES = 4000;
const yaml = (value) => jsyaml.dump(value, { lineWidth: -1, noRefs: true });

function settings() {
  const chosen = {};
  for (const select of document.querySelectorAll('#settings select')) {
    if (select.value) chosen[select.name] = JSON.parse(select.value);
  }
  const [further, ...more] = readObjects(element('further').value, 'Further settings');
  if (more.length) throw new Error('Further settings: expected one object, but found several');
  return { ...chosen, ...further };
}

function part(title, className, ...children) {
  const section = document.createElement('section');
  section.className = className;
  const heading = document.createElement('h3');
  heading.textContent = title;
  section.append(heading, ...children);
  return section;
}

function paragraph(text, id) {
  const one = document.createElement('p');
  one.id = id;
  one.textContent = text;
  return one;
}

function verdict(title, className, message, meaning) {
  const section = part(title, `verdict ${className}`, paragraph(message, 'message'), paragraph(meaning, 'meaning'));
  section.querySelector('h3').id = 'verdict';
  return section;
}

function list(lines, id) {
  const all = document.createElement('ul');
  all.id = id;
  for (const line of lines) {
    const item = document.createElement('li');
    item.textContent = line;
    all.append(item);
  }
  return all;
}

function drawn(before, after) {
  const block = document.createElement('pre');
  block.id = 'difference';
  block.tabIndex = 0;
  const [old, fresh] = [yaml(before), yaml(after)];
  const isLong = [old, fresh].some((text) => text.split('\n').length > MOST_LINES);
  for (const [sign, line] of isLong ? [[' ', 'The object is too long to compare.']] : difference(old, fresh)) {
    const row = document.createElement('span');
    row.className = { '-': 'removed', '+': 'added' }[sign] || 'same';
    row.textContent = `${sign} ${line}\n`;
    block.append(row);
  }
  return block;
}

function whole(object) {
  const details = document.createElement('details');
  const summary = document.createElement('summary');
  summary.textContent = 'The whole object';
  const block = document.createElement('pre');
  block.id = 'object';
  block.tabIndex = 0;
  block.textContent = yaml(object);
  details.append(summary, block);
  return details;
}

const STAGED = 'claim-rollout.io/staged';

/** The kind of the answer, in a word, and in a sentence. */
function headline(request, answer) {
  if (!answer.accepted) return ['denied', `Denied (${answer.code ?? 400})`, ''];
  const staged = (object) => object?.metadata?.annotations?.[STAGED];
  const mutated = answer.mutated_object;
  if (!mutated) return ['passes', 'Passes unchanged', 'The policy changes nothing. The API server decides.'];
  if (staged(mutated) && staged(mutated) !== staged(request.oldObject)) {
    return ['staged', 'Staged', 'The request succeeds. The live templates stay as they are, and the change waits in an annotation.'];
  }
  return ['passes', 'Passes, changed', 'The request succeeds with the changes below.'];
}

function show(request, answer, asked) {
  const parts = [];
  const [className, title, meaning] = headline(request, answer);
  parts.push(verdict(title, className, answer.message || '', meaning));
  if (answer.warnings?.length) parts.push(part('The requester sees', 'warnings', list(answer.warnings, 'warnings')));
  if (answer.mutated_object) {
    parts.push(part('What the policy changes in the request', 'changes', drawn(request.object, answer.mutated_object), whole(answer.mutated_object)));
  }
  if (asked.length) {
    const note = asked.some((line) => line.endsWith(': not found')) ? 'The policy treats what is not found as missing in the cluster: list it to see more.' : '';
    parts.push(part('What the policy asked the API server', 'asked', list(asked, 'asked'), paragraph(note, 'note')));
  }
  element('answer').replaceChildren(...parts);
}

function complain(error) {
  element('answer').replaceChildren(verdict('No answer yet', 'error', error.message, ''));
}

let host;
let answerer;

async function ask() {
  const answer = element('answer');
  answer.setAttribute('aria-busy', 'true');
  try {
    const live = readSet(element('live').value, 'Live StatefulSet');
    const fresh = readSet(element('fresh').value, 'New StatefulSet');
    if (!fresh) throw new Error('New StatefulSet: paste the one that you want to apply');
    const chosen = settings();
    const request = admissionRequest(live, fresh, {
      user: element('user').value, manager: element('manager').value, merge: element('merge').checked,
    });
    const asked = [];
    answerer = cluster(readObjects(element('objects').value, 'PVCs and StorageClasses'), request.namespace, element('may-patch').checked, asked);
    host ??= await PolicyHost.load(Uint8Array.from(atob(POLICY), (character) => character.charCodeAt(0)), (...call) => answerer(...call));
    const checked = await host.call('validate_settings', chosen);
    if (!checked.valid) throw new Error(`Settings: ${checked.message}`);
    show(request, await host.call('validate', { request, settings: chosen }), asked);
  } catch (error) {
    complain(error);
  }
  answer.removeAttribute('aria-busy');
  answer.dataset.asked = String(Number(answer.dataset.asked || 0) + 1);
}

element('ask').addEventListener('submit', (event) => { event.preventDefault(); ask(); });
