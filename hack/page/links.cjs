// `make docs`: checks each link of the built site, and that each page has a way back and on. Argument: its folder.
'use strict';
const { existsSync, readFileSync, readdirSync, statSync } = require('node:fs');
const { dirname, join, normalize, relative } = require('node:path');

const site = process.argv[2];
// Pages that mdBook adds: all chapters in one, the list of pages, and the page for an address that does not exist.
const ADDED = ['404.html', 'print.html', 'toc.html'];

function files(folder) {
  return readdirSync(folder).map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? files(path) : path.endsWith('.html') ? [path] : []));
}

const decoded = (text) => decodeURIComponent(text.replace(/&amp;/g, '&').replace(/&#39;|&#x27;/g, "'"));
const content = (path) => readFileSync(path, 'utf8').replace(/<script[^]*?<\/script>|<!--[^]*?-->/g, '');
const anchors = (path) => new Set([...content(path).matchAll(/ (?:id|name)="([^"]*)"/g)].map((match) => decoded(match[1])));

/** What is wrong with a link of a page, if anything. */
function fault(page, link) {
  const [path, anchor] = decoded(link).split('#');
  const target = path ? normalize(join(dirname(page), path)) : page;
  if (!existsSync(target)) return 'no file';
  return anchor && target.endsWith('.html') && !anchors(target).has(anchor) ? 'no heading' : undefined;
}

const wrong = [];
let count = 0;
for (const page of files(site)) {
  const name = relative(site, page);
  if (ADDED.includes(name)) continue;
  const text = content(page);
  for (const [, link] of text.matchAll(/ (?:href|src)="([^"]*)"/g)) {
    if (/^[a-z]+:/.test(link)) continue;
    count += 1;
    const what = fault(page, link);
    if (what) wrong.push(`${name}: ${link}: ${what}`);
  }
  // The first chapter has no previous one, the last one no next; a page outside of the book leads to the first.
  const ways = [...text.matchAll(/ rel="(?:prev|next prefetch|next)"/g)].length;
  if (!ways && !text.includes('<a href="../index.html">')) wrong.push(`${name}: no way back and on`);
}
if (count < 500) wrong.push(`only ${count} links`);
if (wrong.length) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
console.log(`${count} links of the site lead somewhere`);
