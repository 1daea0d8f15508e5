// `make page-test`: the page docs/ask in a real browser, opened as a file. It gets cases of the admission table
// (cases.json, which a test of the quick ring keeps equal to the table), and must show the answers of the table.
'use strict';

const assert = require('node:assert/strict');
const { existsSync, mkdirSync, readFileSync } = require('node:fs');
const { join, resolve } = require('node:path');
const { pathToFileURL } = require('node:url');

const root = resolve(__dirname, '../..');
const executablePath = process.env.CHROMIUM || '/usr/bin/chromium';
if (!existsSync(executablePath)) {
  console.error(`Chromium is missing: expected ${executablePath}. Install it (apt-get install chromium), or set CHROMIUM to its path.`);
  process.exit(2);
}
const modules = join(root, 'target/page/node_modules');
const { chromium } = require(join(modules, 'playwright-core'));
const yaml = require(join(modules, 'js-yaml'));
const page_url = pathToFileURL(join(root, 'target/docs/src/ask/index.html')).href;
const read = (text) => yaml.load(text, { schema: yaml.CORE_SCHEMA });
const dump = (value) => yaml.dump(value, { noRefs: true });

/** A case of the table, typed by a user. */
function typed({ request, objects, settings }, write) {
  const review = objects.find((object) => object.spec?.resourceAttributes);
  return {
    live: request.oldObject ? write(request.oldObject) : '',
    fresh: write(request.object),
    objects: objects.map(write).join('\n---\n'),
    further: dump(settings),
    user: request.userInfo.username,
    manager: request.options.fieldManager,
    mayPatch: review ? review.status.allowed : true,
    // The objects of the table are whole.
    merge: false,
    plainSettings: true,
  };
}

async function ask(page, form) {
  const before = Number((await page.getAttribute('#answer', 'data-asked')) || 0);
  await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
  for (const id of ['live', 'fresh', 'objects', 'further', 'user', 'manager']) {
    if (form[id] !== undefined) await page.fill(`#${id}`, form[id]);
  }
  if (form.mayPatch !== undefined) await page.setChecked('#may-patch', form.mayPatch);
  if (form.merge !== undefined) await page.setChecked('#merge', form.merge);
  if (form.plainSettings) await page.selectOption('[name=defaultUpdatePolicy]', '');
  await page.click('button');
  await page.waitForFunction((count) => Number(document.getElementById('answer').dataset.asked || 0) > count, before);
  const text = async (id) => ((await page.$(id)) ? page.textContent(id) : undefined);
  const object = await text('#object');
  return {
    verdict: await text('#verdict'),
    message: await text('#message'),
    warnings: await page.$$eval('#warnings li', (items) => items.map((item) => item.textContent)),
    asked: await page.$$eval('#asked li', (items) => items.map((item) => item.textContent)),
    object: object === undefined ? undefined : read(object),
    added: await page.$$eval('#difference .added', (lines) => lines.map((line) => line.textContent).join('')),
  };
}

function compare(shown, { answer }) {
  assert.equal(shown.message, answer.message || '');
  assert.deepEqual(shown.warnings, answer.warnings || []);
  assert.deepEqual(shown.object, answer.mutated_object ?? undefined);
  if (!answer.accepted) assert.equal(shown.verdict, `Denied (${answer.code})`);
  else assert.match(shown.verdict, answer.mutated_object ? /^Staged$|^Passes, changed$/ : /^Passes unchanged/);
}

const SET = (name, size) => `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ${name}}
spec:
  selector: {matchLabels: {app: db}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: ${size}}}}
`;
/** What is pasted, and a part of the message. */
const FAULTS = [
  [{ fresh: '' }, 'New StatefulSet: paste the one'],
  [{ fresh: 'a: [1' }, 'New StatefulSet: neither YAML nor JSON'],
  [{ fresh: 'text' }, 'New StatefulSet: expected objects of Kubernetes, but found string'],
  [{ fresh: 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n' }, 'expected a StatefulSet of apps/v1, but found Pod of v1'],
  [{ fresh: `${SET('db', '1Gi')}---\n${SET('db', '2Gi')}` }, 'expected one StatefulSet, but found 2 objects'],
  [{ fresh: SET('web', '1Gi') }, 'the names differ: the live StatefulSet is db, the new one web'],
  [{ further: 'pvcChecks: Perhaps' }, 'Settings: '],
];

async function tableAnswers(page) {
  const cases = JSON.parse(readFileSync(join(__dirname, 'cases.json'), 'utf8'));
  assert.ok(cases.length >= 6, `${cases.length} cases`);
  for (const one of cases) {
    for (const write of [dump, (object) => JSON.stringify(object, null, 2)]) {
      await page.goto(page_url);
      compare(await ask(page, typed(one, write)), one);
    }
    console.log(`ok: ${one.sentence}`);
  }
}

async function faultsAreClear(page) {
  for (const [form, part] of FAULTS) {
    await page.goto(page_url);
    const shown = await ask(page, { live: SET('db', '1Gi'), fresh: SET('db', '2Gi'), ...form });
    assert.equal(shown.verdict, 'No answer yet');
    assert.ok(shown.message.includes(part), `expected ${part}, but found ${shown.message}`);
  }
  console.log(`ok: ${FAULTS.length} faults`);
}

async function exampleIsStaged(page) {
  await page.goto(page_url);
  const shown = await ask(page, {});
  assert.equal(shown.verdict, 'Staged');
  assert.match(shown.warnings[0], /staged data 10Gi -> 20Gi; 3 PVCs will be updated in place/);
  assert.match(shown.added, /claim-rollout\.io\/staged/);
  assert.ok(shown.asked.includes('PersistentVolumeClaim data-db-2: not found'), shown.asked.join('; '));
  // Without a live one, and a List of one with JSON inside, as kubectl prints it.
  const created = await ask(page, { live: '', fresh: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [read(SET('db', '1Gi'))] }) });
  assert.match(created.verdict, /^Passes unchanged/);
  // A PVC whose class does not grow.
  const pvc = 'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data-db-2, labels: {app: db}}\nspec: {accessModes: [ReadWriteOnce], storageClassName: fast, volumeMode: Filesystem, resources: {requests: {storage: 10Gi}}}\nstatus: {phase: Bound, capacity: {storage: 10Gi}}\n';
  await page.goto(page_url);
  const missing = await ask(page, { objects: pvc });
  assert.ok(missing.warnings.some((line) => line.includes('storage class fast does not exist')), missing.warnings.join('; '));
  console.log('ok: the example of the page');
}

/** Looks at the page at two widths in two themes. `SCREENS=FOLDER` keeps the pictures. */
async function fits(browser) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [400, 1280]) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      await page.goto(page_url);
      await ask(page, {});
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `at ${width} px the page is ${wide} px wide`);
      const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(back === 'rgb(255, 255, 255)', colorScheme === 'light', back);
      if (process.env.SCREENS) {
        mkdirSync(process.env.SCREENS, { recursive: true });
        await page.screenshot({ path: join(process.env.SCREENS, `${colorScheme}-${width}.png`), fullPage: true });
      }
      await page.close();
    }
  }
  console.log('ok: two widths, two themes');
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    const wrong = [];
    page.on('pageerror', (error) => wrong.push(error.message));
    page.on('console', (message) => { if (message.type() === 'error') wrong.push(message.text()); });
    page.on('request', (request) => { if (!request.url().startsWith('file:')) wrong.push(`left the page: ${request.url()}`); });
    await tableAnswers(page);
    await faultsAreClear(page);
    await exampleIsStaged(page);
    await fits(browser);
    assert.deepEqual(wrong, []);
  } finally {
    await browser.close();
  }
}

main().catch((error) => { console.error(error); process.exit(1); });
