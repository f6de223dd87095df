// A block as a drawing, or, where it has no places for its nodes, as a list with a filter.
const NODE = { width: 156, height: 44 };
const PORT = { width: 132, height: 36 };
const MARGIN = 16;
const STEP = 200; // rows of a list that are added at once

function cut(text, longest) {
  if (text.length <= longest) return text;
  const head = Math.ceil((longest - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (longest - 1 - head))}`;
}

// The last part of a name: exporters write their scopes in front, the same for all.
const short = (name, longest) => cut(name.slice(name.lastIndexOf("/") + 1) || name, longest);

function drawGraph(place) {
  const { size, vertices, edges } = place.block.drawing;
  const [width, height] = [size[0] + 2 * MARGIN, size[1] + 2 * MARGIN];
  const drawn = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Graph of ${place.path}` });
  drawn.append(make("defs", {}, make("marker",
    { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" },
    make("path", { d: "M0 0 8 4 0 8z", class: "edge-tip" }))));
  const shapes = vertices.map((vertex) => drawVertex(place, vertex));
  place.edges = edges.map(([from, to, names, bends]) => {
    const line = make("path", { class: bends ? "edge" : "edge far", "marker-end": "url(#tip)",
      d: route(vertices[from], vertices[to], bends || []) }, make("title", {}, `${names}  ${typeOf(place, names)}`));
    return { from: shapes[from], to: shapes[to], line };
  });
  drawn.append(...place.edges.map((edge) => edge.line), ...shapes);
  return zoomed(drawn, width, height);
}

function route([kind, , , x, y], [toKind, , , toX, toY], bends) {
  const points = [[x, y + (kind === "node" ? NODE : PORT).height / 2]];
  for (let k = 0; k < bends.length; k += 2) points.push([bends[k], bends[k + 1]]);
  points.push([toX, toY - (toKind === "node" ? NODE : PORT).height / 2]);
  const moved = points.map(([a, b]) => [a + MARGIN, b + MARGIN]);
  let drawn = `M${moved[0]}`;
  for (let k = 1; k < moved.length; k++) {
    const [[a, b], [c, d]] = [moved[k - 1], moved[k]];
    drawn += a === c ? `L${c} ${d}` : `C${a} ${(b + d) / 2} ${c} ${(b + d) / 2} ${c} ${d}`;
  }
  return drawn;
}

function drawVertex(place, [kind, index, label, x, y]) {
  return kind === "node" ? drawNode(place, index, x, y) : drawPort(place, kind, index, label, x, y);
}

function drawNode(place, index, x, y) {
  const node = place.block.nodes[index];
  const path = `${place.path}/${node.at}`;
  const [left, top] = [x + MARGIN - NODE.width / 2, y + MARGIN - NODE.height / 2];
  const engine = engineOf(path);
  const severity = worst(path);
  const is_culprit = DATA.comparison && DATA.comparison.path === path;
  return make("g", { class: `node${is_culprit ? " culprit" : ""}`, transform: `translate(${left} ${top})`, tabindex: 0,
    role: "button", "aria-label": `${node.op} ${path}`, "data-path": path,
    onclick: () => choose(path), ondblclick: () => openBodies(path) },
    make("title", {}, `${node.op}  ${path}`),
    make("rect", { class: "box", width: NODE.width, height: NODE.height, rx: 5 }),
    make("rect", { class: `bar ${engine ? engine[0] : ""}`, x: 0, y: 8, width: 3, height: NODE.height - 16, rx: 1.5 }),
    make("text", { x: 12, y: 19 }, cut(node.op, node.bodies ? 12 : 18)),
    make("text", { class: "name", x: 12, y: 34 }, short((node.out[0] || [""])[0], 20)),
    node.bodies ? make("text", { class: "opens", x: NODE.width - 8, y: 19 }, "open ▸") : null,
    severity ? make("circle", { class: `flag ${severity}`, cx: NODE.width, cy: 0, r: 5 }) : null);
}

function drawPort(place, kind, index, label, x, y) {
  const name = kind === "param" ? place.block.params[index][0] : place.block.results[index];
  const [left, top] = [x + MARGIN - PORT.width / 2, y + MARGIN - PORT.height / 2];
  return make("g", { class: "port", transform: `translate(${left} ${top})` },
    make("title", {}, `${label} ${name}  ${typeOf(place, name)}`),
    make("rect", { width: PORT.width, height: PORT.height, rx: PORT.height / 2 }),
    make("text", { class: "role", x: PORT.width / 2, y: 14 }, label),
    make("text", { x: PORT.width / 2, y: 27 }, short(name, 17)));
}

// The drawing in a frame that scrolls, fitted to its width unless that makes it too small to read.
function zoomed(drawn, width, height) {
  const frame = make("div", { class: "graph", tabindex: -1 }, drawn);
  let scale = 1;
  const set = (wanted) => {
    scale = Math.min(2, Math.max(0.25, wanted));
    drawn.setAttribute("width", width * scale);
    drawn.setAttribute("height", height * scale);
  };
  const fit = () => set(Math.min(1, Math.max(0.6, (frame.clientWidth || width) / width)));
  const button = (label, title, act) => make("button", { type: "button", title, "aria-label": title, onclick: act }, label);
  requestAnimationFrame(fit);
  return make("div", { class: "canvas" }, make("div", { class: "zoom" },
    button("−", "Smaller", () => set(scale / 1.25)), button("+", "Larger", () => set(scale * 1.25)),
    button("⤢", "Fit the width", () => set((frame.clientWidth || width) / width))), frame);
}

function drawList(place) {
  const { nodes } = place.block;
  const rows = make("ol", { class: "rows" });
  const more = make("button", { type: "button", class: "more" });
  let shown = [];
  const add = () => {
    const from = rows.childElementCount;
    rows.append(...shown.slice(from, from + STEP).map((index) => drawRow(place, index)));
    more.hidden = rows.childElementCount >= shown.length;
    more.textContent = `${rows.childElementCount.toLocaleString("en")} of ${plural(shown.length, "node")} are shown; show more`;
  };
  const filter = (words) => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (node) => `${node.op} ${node.at} ${node.in.join(" ")} ${node.out.flat().join(" ")}`.toLowerCase();
    shown = nodes.map((_, index) => index).filter((index) => wanted.every((word) => text(nodes[index]).includes(word)));
    rows.replaceChildren();
    add();
  };
  more.addEventListener("click", add);
  filter("");
  const field = make("input", { type: "search", class: "filter", placeholder: `Filter ${plural(nodes.length, "node")}`,
    "aria-label": `Filter the nodes of ${place.path}`, oninput: () => filter(field.value) });
  return make("div", {}, field, make("div", { class: "canvas" }, rows, more));
}

function drawRow(place, index) {
  const node = place.block.nodes[index];
  const path = `${place.path}/${node.at}`;
  return make("li", { tabindex: 0, "data-path": path, onclick: () => choose(path), ondblclick: () => openBodies(path) },
    make("span", {}, node.op), make("span", { class: "mono" }, node.out.map(([name]) => name).join(", ")),
    make("span", { class: "mono" }, (node.out[0] || ["", ""])[1]));
}
