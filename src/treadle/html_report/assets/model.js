// The data of the page, and every node by its path.
const DATA = JSON.parse(document.getElementById("data").textContent);
const MOST_PLACES = 200000; // functions that call each other could be written out without end

// A place is a block where it stands: {path, block, owner} with owner the path of the node around it.
const PLACES = new Map(); // path -> place
const NODES = new Map(); // path -> {path, node, place, index}
const CANONICAL = new Map(); // the path in a function -> its first path in the model

function enter(path, number, owner) {
  const block = DATA.blocks[number];
  const place = { path, block, owner };
  PLACES.set(path, place);
  block.nodes.forEach((node, index) => {
    if (NODES.size > MOST_PLACES) return;
    const at = `${path}/${node.at}`;
    NODES.set(at, { path: at, node, place, index });
    const written = `${block.path}/${node.at}`;
    if (!CANONICAL.has(written)) CANONICAL.set(written, at);
    for (const [suffix, inner] of node.bodies || []) enter(at + suffix, inner, at);
  });
}
enter("main", 0, null);

// The nearest path of a node or block at or around a path; null where there is none.
function known(path) {
  for (let at = path; at; at = shorter(at)) {
    if (NODES.has(at) || PLACES.has(at)) return at;
    if (CANONICAL.has(at)) return CANONICAL.get(at);
  }
  return null;
}

function shorter(path) {
  const cut = Math.max(path.lastIndexOf("/"), path.lastIndexOf("."));
  return cut < 0 ? "" : path.slice(0, cut);
}

const FOUND = new Map(); // path of a node or block -> its findings
for (const finding of DATA.findings) {
  const at = known(finding.path);
  if (at !== null) FOUND.set(at, [...(FOUND.get(at) || []), finding]);
}
const RANKS = ["error", "warning", "advice"];

function worst(path) {
  const severities = (FOUND.get(path) || []).map((finding) => finding.severity);
  return RANKS.find((severity) => severities.includes(severity));
}

// [engine, reason] of a node, or of the nearest around it that runs as a whole; null if none does.
function engineOf(path) {
  for (let at = path; at; at = shorter(at)) {
    if (at in DATA.engines) return DATA.reasons[DATA.engines[at]];
  }
  return null;
}

// Who makes a value of a block, and who reads it.
function makerOf(place, name) {
  if (!place.makers) {
    place.makers = new Map();
    place.readers = new Map();
    place.block.nodes.forEach((node, index) => {
      for (const [made] of node.out) place.makers.set(made, index);
      for (const read of new Set(node.in)) {
        if (!place.readers.has(read)) place.readers.set(read, []);
        place.readers.get(read).push(index);
      }
    });
    place.types = new Map([...place.block.params, ...place.block.nodes.flatMap((node) => node.out)]);
  }
  const index = place.makers.get(name);
  return index === undefined ? null : `${place.path}/${place.block.nodes[index].at}`;
}

function readersOf(place, name) {
  makerOf(place, name);
  return (place.readers.get(name) || []).map((index) => `${place.path}/${place.block.nodes[index].at}`);
}

function typeOf(place, name) {
  makerOf(place, name);
  return place.types.get(name) || place.block.constants[name] || "";
}

const seriesOf = (place, name) => (DATA.series || {})[`${place.path}/${name}`];
const growthOf = (place, name) => ((DATA.comparison || {}).growth || {})[`${place.path}/${name}`];

// An element with attributes, listeners (on...), and children: nodes or text.
function make(tag, attributes, ...children) {
  const made = SVG_TAGS.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}
const SVG_TAGS = new Set(["svg", "g", "rect", "text", "path", "circle", "title", "defs", "marker"]);

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
