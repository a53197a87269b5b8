// chromium.mjs PACKAGE FOLDER NAME SECONDS make, or merge OTHER...: as node.mjs, in a page.
import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, servePackage } from '../../bindings/js/test/browser/pages.js';
import { leaveStages, requestOf } from './node.mjs';

const [module, folder, speaker, now, verb, ...others] = process.argv.slice(2);
const site = await servePackage(dirname(resolve(module))), browser = await launch();
try {
  const tab = await browser.newPage();
  await tab.goto(site.address);
  // Bytes cross to the page and back as arrays of numbers.
  const source = readFileSync(fileURLToPath(new URL('./speaker.js', import.meta.url)), 'utf8');
  const given = JSON.stringify(requestOf(folder, speaker, now, verb, others), (_, value) => (value instanceof Uint8Array ? { bytes: [...value] } : value));
  const stages = await tab.evaluate(async ({ name, source, given }) => {
    const { speak } = await import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
    const { request, frames } = JSON.parse(given, (_, value) => (Array.isArray(value?.bytes) ? new Uint8Array(value.bytes) : value));
    return speak(await import(`/${name}`), request, frames).map((stage) => ({ ...stage, frame: [...stage.frame] }));
  }, { name: basename(module), source, given });
  leaveStages(folder, speaker, stages.map((stage) => ({ ...stage, frame: Uint8Array.from(stage.frame) })));
} finally {
  await browser.close();
  site.close();
}
