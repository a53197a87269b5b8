// node.mjs PACKAGE FOLDER NAME SECONDS make, or merge OTHER...; PACKAGE is a file of a built package.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { speak } from './speaker.js';

/** What a speaker in JavaScript is asked, from the files of same_bytes.py. */
export function requestOf(folder, speaker, now, verb, others) {
  const asked = JSON.parse(readFileSync(join(folder, 'forms.json'), 'utf8'));
  const text = readFileSync(join(folder, 'keys')), keys = [];
  for (let at = 0, end; (end = text.indexOf(10, at)) >= 0; at = end + 1) keys.push(new Uint8Array(text.subarray(at, end)));
  const frameOf = (form, whose) => new Uint8Array(readFileSync(join(folder, `${form}.${whose}.own`)).subarray(32));
  const frames = verb === 'make' ? null : Object.fromEntries(Object.keys(asked.forms).map((form) => [form, [speaker, ...others].map((name) => frameOf(form, name))]));
  return { request: { asked, keys, speaker, now: Number(now) }, frames };
}

export function leaveStages(folder, speaker, stages) {
  for (const { form, stage, digest, frame } of stages)
    writeFileSync(join(folder, `${form}.${speaker}.${stage}`), Buffer.concat([Buffer.from(digest), frame]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [module, folder, speaker, now, verb, ...others] = process.argv.slice(2);
  const roost = await import(pathToFileURL(resolve(module)));
  const { request, frames } = requestOf(folder, speaker, now, verb, others);
  leaveStages(folder, speaker, speak(roost, request, frames));
}
