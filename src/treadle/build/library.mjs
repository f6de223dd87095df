// NAME: a model compiled by treadle, as a WebAssembly module.
//
//   import { load } from "./NAME.mjs";
//   const model = await load(fetch("NAME.wasm"));            // or its bytes
//   const { y } = model.run({ x: { data: new Float32Array(6), shape: [3, 2] } });
//
// An output is { data, shape, dtype }. Elements of float16 and bfloat16 are their 16 bits.

const ARRAYS = {
  1: Float32Array, 2: Uint8Array, 3: Int8Array, 4: Uint16Array, 5: Int16Array, 6: Int32Array,
  7: BigInt64Array, 9: Uint8Array, 10: Uint16Array, 11: Float64Array, 12: Uint32Array,
  13: BigUint64Array, 16: Uint16Array,
};
const TENSOR = { bytes: 16, data: 0, shape: 4, rank: 8, dtype: 12 };
const RUN = { bytes: 40, size: 0, workspace: 4, iterations: 24, held: 32 };
const MOST_AXES = 32;

// A function of mathematics that a module asks for: that of JavaScript.
function mathematics(name) {
  const found = name === "fmod" ? (one, other) => one % other : Math[name];
  if (!found) throw new Error(`the module needs the function ${name}, which JavaScript does not have`);
  return found;
}

export async function load(source) {
  const given = await source;
  const bytes = given instanceof Response ? await given.arrayBuffer() : given;
  const module = await WebAssembly.compile(bytes);
  const wanted = WebAssembly.Module.imports(module).map(({ name }) => [name, mathematics(name)]);
  const instance = await WebAssembly.instantiate(module, { env: Object.fromEntries(wanted) });
  return new Library(instance.exports);
}

class Library {
  constructor(exports) {
    this.exports = exports;
    this.description = JSON.parse(this.#text(exports.NAME_describe()));
  }

  // The outputs of a run by name; `limits` may bound its `iterations` and the `bytes` loops hold.
  run(inputs, limits = {}) {
    const [{ inputs: formals, outputs: results }] = this.description.kernels;
    const held = [];
    try {
      return this.#run(inputs, limits, formals, results, held);
    } finally {
      for (const place of held) this.exports.free(place);
    }
  }

  #run(inputs, limits, formals, results, held) {
    const given = this.#memory(TENSOR.bytes * Math.max(formals.length, 1), held);
    const made = this.#memory(TENSOR.bytes * Math.max(results.length, 1), held);
    formals.forEach((formal, k) => this.#put(given + k * TENSOR.bytes, formal, inputs, held));
    for (let k = 0; k < results.length; k++) {
      this.#set(made + k * TENSOR.bytes + TENSOR.shape, this.#memory(8 * MOST_AXES, held));
    }
    this.#expect(this.exports.NAME_shapes(given, made));
    const isOwn = results.map((_, k) => this.#room(made + k * TENSOR.bytes, held));
    const run = this.#memory(RUN.bytes, held);
    new Uint8Array(this.exports.memory.buffer, run, RUN.bytes).fill(0);
    this.#set(run + RUN.size, RUN.bytes);
    this.#set(run + RUN.workspace, this.#memory(this.exports.NAME_workspace(given) + 1, held));
    this.#view().setBigInt64(run + RUN.iterations, BigInt(limits.iterations ?? 0), true);
    this.#view().setBigInt64(run + RUN.held, BigInt(limits.bytes ?? 0), true);
    this.#expect(this.exports.NAME_run(given, made, run));
    const outputs = results.map(({ name }, k) => {
      const place = made + k * TENSOR.bytes;
      if (!isOwn[k]) held.push(this.#get(place + TENSOR.data));
      return [name, this.#take(place)];
    });
    return Object.fromEntries(outputs);
  }

  #put(place, { name, number }, inputs, held) {
    if (!(name in inputs)) throw new Error(`the input "${name}" is missing`);
    const { data, shape } = inputs[name];
    const from = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const memory = this.#memory(from.length + 1, held);
    new Uint8Array(this.exports.memory.buffer, memory, from.length).set(from);
    const extents = this.#memory(8 * MOST_AXES, held);
    shape.forEach((extent, axis) => this.#view().setBigInt64(extents + 8 * axis, BigInt(extent), true));
    this.#set(place + TENSOR.data, memory);
    this.#set(place + TENSOR.shape, extents);
    this.#set(place + TENSOR.rank, shape.length);
    this.#set(place + TENSOR.dtype, inputs[name].dtype ?? number);
  }

  // Memory for an output whose shape is known; whether it is.
  #room(place, held) {
    const shape = this.#shape(place);
    if (shape.includes(-1)) return false;
    this.#set(place + TENSOR.data, this.#memory(this.#count(shape) * this.#array(place).BYTES_PER_ELEMENT + 1, held));
    return true;
  }

  #take(place) {
    const shape = this.#shape(place);
    const kind = this.#array(place);
    const view = new kind(this.exports.memory.buffer, this.#get(place + TENSOR.data), this.#count(shape));
    return { data: view.slice(), shape, dtype: this.#get(place + TENSOR.dtype) };
  }

  #shape(place) {
    const first = this.#get(place + TENSOR.shape);
    const rank = this.#get(place + TENSOR.rank);
    return Array.from({ length: rank }, (_, k) => Number(this.#view().getBigInt64(first + 8 * k, true)));
  }

  #array(place) {
    return ARRAYS[this.#get(place + TENSOR.dtype)];
  }

  #count(shape) {
    return shape.reduce((product, extent) => product * extent, 1);
  }

  #memory(bytes, held) {
    const place = this.exports.realloc(0, bytes);
    if (!place) throw new Error(`there is not enough memory for ${bytes} bytes`);
    held.push(place);
    return place;
  }

  #view() {
    return new DataView(this.exports.memory.buffer);
  }

  #get(place) {
    return this.#view().getUint32(place, true);
  }

  #set(place, value) {
    this.#view().setUint32(place, value, true);
  }

  #text(place) {
    const bytes = new Uint8Array(this.exports.memory.buffer, place);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  #expect(status) {
    if (status) throw new Error(this.#text(this.exports.treadle_reason(status)));
  }
}
