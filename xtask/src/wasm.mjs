// Runs the module of crates/orogen-wasm: node wasm.mjs MODULE [NAME RECIPE SAMPLES]...
// Prints the hashes of each recipe, then of every operator; a line "== NAME" ends each answer.
import { readFileSync } from "node:fs";

const [path, ...jobs] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(path), {});
const wasm = instance.exports;
const answer = (length) => Buffer.from(wasm.memory.buffer, wasm.output(), length).toString();

for (let i = 0; i < jobs.length; i += 3) {
  const name = Buffer.from(jobs[i]);
  const bytes = Buffer.concat([name, readFileSync(jobs[i + 1])]);
  const at = wasm.input(bytes.length);
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
  process.stdout.write(`${answer(wasm.recipe(name.length, Number(jobs[i + 2])))}== ${jobs[i]}\n`);
}
for (let index = 0; ; index++) {
  const length = wasm.operator(index);
  if (length === 0) break;
  process.stdout.write(`${answer(length)}== operators\n`);
}
