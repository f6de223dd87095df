// Every case of a file as a WebAssembly module, in one program:
//
//   node tools/wasm_cases.mjs CASES.json
//
// A case is { name, module, wasm, inputs, outputs }; an array is { name, dtype, shape, data: base64 }.
import { readFileSync } from "node:fs";

const cases = JSON.parse(readFileSync(process.argv[2]));
const kinds = { float32: Float32Array, float64: Float64Array };
const close = { float32: [1e-4, 1e-5], float64: [1e-7, 1e-9] };

function differs(found, wanted) {
  const bytes = Buffer.from(wanted.data, "base64");
  if (found.shape.join() !== wanted.shape.join()) return `shape ${found.shape}, wanted ${wanted.shape}`;
  const kind = kinds[wanted.dtype];
  if (!kind) {
    const own = Buffer.from(found.data.buffer, found.data.byteOffset, found.data.byteLength);
    return own.equals(bytes) ? "" : "whole numbers differ";
  }
  const expected = new kind(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const [relative, absolute] = close[wanted.dtype];
  for (let k = 0; k < expected.length; k++) {
    const [one, other] = [found.data[k], expected[k]];
    if (Object.is(one, other) || one === other) continue;
    if (!(Math.abs(one - other) <= absolute + relative * Math.abs(other))) return `${k}: ${one}, wanted ${other}`;
  }
  return "";
}

let failures = 0;
for (const { name, module, wasm, inputs, outputs } of cases) {
  let said = "";
  try {
    const { load } = await import(module);
    const model = await load(readFileSync(wasm));
    const given = Object.fromEntries(inputs.map(({ name, data, shape }) => [
      name, { data: new Uint8Array(Buffer.from(data, "base64")), shape },
    ]));
    const found = model.run(given);
    model.run(given);
    for (const wanted of outputs) said ||= differs(found[wanted.name], wanted);
    if (inputs.length) {
      const [{ name: first }] = inputs;
      const wrong = { ...given, [first]: { data: given[first].data, shape: [...given[first].shape, 1] } };
      let refused = false;
      try { model.run(wrong); } catch { refused = true; }
      if (!refused) said ||= "a rank more is not refused";
    }
  } catch (error) {
    said = String(error);
  }
  if (said) failures += 1;
  console.log(`${name.padEnd(42)} ${said || "right"}`);
}
console.log(`${cases.length - failures} of ${cases.length} right`);
process.exit(failures ? 1 : 0);
