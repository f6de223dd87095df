// The page: its header, folding of blocks, selection, search and keyboard shortcuts.
const element = (id) => document.getElementById(id);
let chosen = null;

function factList(rows) {
  let before = "";
  return make("dl", { class: "facts" }, rows.flatMap(([word, text]) => {
    const shown = word === before ? "" : word;
    before = word;
    return [make("dt", {}, shown), make("dd", {}, text)];
  }));
}

function overview() {
  const parts = [factList(DATA.rows)];
  if (DATA.unplanned) parts.push(make("div", { class: "callout" }, `It cannot be run: ${DATA.unplanned}`));
  if (DATA.comparison) {
    const at = known(DATA.comparison.path);
    parts.push(make("div", { class: DATA.comparison.agrees ? "callout good" : "callout" },
      at ? make("span", {}, "First difference: ", link(at, DATA.comparison.path)) : "Comparison",
      make("pre", {}, DATA.comparison.words)));
  }
  if (DATA.nan) {
    const at = known(DATA.nan.step || DATA.nan.value);
    const where = at ? link(at, DATA.nan.value) : make("code", {}, DATA.nan.value);
    parts.push(make("div", { class: "callout" }, "NaN first appears in ", where, `, ${iterationWords(DATA.nan.iterations)}.`));
  }
  const engines = [...new Set(DATA.reasons.map(([engine]) => engine))];
  if (engines.length) parts.push(make("div", { class: "legend" }, engines.map((engine) => make("span", {}, make("i", { class: engine }), `runs in ${engine === "jit" ? "native code" : engine}`))));
  parts.push(profileTable());
  if (DATA.findings.length) {
    parts.push(make("details", DATA.findings.length <= 6 ? { open: "" } : {}, make("summary", {}, plural(DATA.findings.length, "finding")),
      make("ul", { class: "findings" }, DATA.findings.map((finding) => {
        const at = known(finding.path);
        return make("li", { class: finding.severity }, make("b", {}, finding.code), " ",
          at ? link(at, finding.path) : finding.path, ` ${finding.message}`, finding.hint ? make("small", {}, ` (${finding.hint})`) : null);
      }))));
  }
  element("overview").append(...parts.filter(Boolean));
}

// The section of a block: a line until it is opened.
function section(place) {
  const owner = place.owner && NODES.get(place.owner);
  const inside = make("div", { class: "inside", hidden: "" });
  const findings = place.block.nodes.filter((node) => FOUND.has(`${place.path}/${node.at}`)).length;
  const words = [owner ? owner.node.op : "", plural(place.block.nodes.length, "node"), findings ? `findings at ${findings}` : ""];
  const toggle = make("button", { type: "button", "aria-expanded": "false", onclick: () => setOpen(place, inside.hidden) },
    make("span", { class: "turn", "aria-hidden": "true" }, "▸"), make("span", { class: "path" }, place.path),
    make("span", { class: "meta" }, words.filter(Boolean).join(" · ")));
  place.toggle = toggle;
  place.inside = inside;
  return make("section", { class: "block", "data-block": place.path }, make("h2", {}, toggle), inside);
}

function setOpen(place, open) {
  place.toggle.setAttribute("aria-expanded", String(open));
  place.inside.hidden = !open;
  if (open && !place.inside.childElementCount) fill(place);
}

function fill(place) {
  const inner = place.block.nodes.flatMap((node) => (node.bodies || []).map(([suffix]) => `${place.path}/${node.at}${suffix}`));
  const found = FOUND.get(place.path);
  const own = owned(place);
  place.inside.append(...[
    own.length ? factList(own) : null,
    found ? findingItems(found) : null,
    place.block.drawing ? (place.block.nodes.length ? drawGraph(place) : null) : drawList(place),
    valueTable(place),
    ...inner.filter((path) => PLACES.has(path)).map((path) => section(PLACES.get(path))),
  ].filter(Boolean));
}

// What is said of the loop or branch around a block, or of a function's inputs.
function owned(place) {
  if (!place.owner) return [];
  const { node, place: outer } = NODES.get(place.owner);
  const written = `${outer.block.path}/${node.at}`;
  return DATA.facts[place.owner] || DATA.facts[written] || [];
}

// Open a block and those around it; the place.
function reveal(path) {
  const place = PLACES.get(path);
  if (place.owner) reveal(NODES.get(place.owner).place.path);
  if (place.inside.hidden) setOpen(place, true);
  return place;
}

function goTo(path) {
  const at = known(path);
  if (at === null) return;
  if (PLACES.has(at) && !NODES.has(at)) {
    const place = reveal(at);
    choose(null);
    place.toggle.scrollIntoView({ block: "start" });
    window.scrollBy(0, -64);
    place.toggle.focus({ preventScroll: true });
    return;
  }
  const { place } = NODES.get(at);
  reveal(place.path);
  choose(at);
  requestAnimationFrame(() => {
    const drawn = drawnAt(at);
    if (drawn) drawn.scrollIntoView({ block: "center", inline: "center" });
    if (drawn) drawn.focus({ preventScroll: true });
  });
}

const drawnAt = (path) => document.querySelector(`[data-path="${CSS.escape(path)}"]`);

function openBodies(path) {
  const { node } = NODES.get(path);
  if (node.bodies) goTo(path + node.bodies[0][0]);
}

function choose(path) {
  for (const each of document.querySelectorAll(".chosen, .near, .lit")) each.classList.remove("chosen", "near", "lit");
  chosen = path;
  const detail = element("detail");
  detail.classList.toggle("filled", path !== null);
  if (path === null) {
    detail.replaceChildren(make("p", { class: "hint" }, "Choose a node to see what it reads and makes. Keys: / to search, arrows to move, Enter to open bodies."));
    return;
  }
  detail.replaceChildren(...detailOf(path));
  detail.scrollTop = 0;
  const drawn = drawnAt(path);
  if (drawn) drawn.classList.add("chosen");
  for (const edge of NODES.get(path).place.edges || []) {
    if (edge.from !== drawn && edge.to !== drawn) continue;
    edge.line.classList.add("lit");
    for (const end of [edge.from, edge.to]) if (end !== drawn) end.classList.add("near");
  }
}

// Search.
const MOST_HITS = 50;

function search(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = [];
  if (wanted.length) for (const { path, node } of NODES.values()) {
    const text = `${node.op} ${path} ${node.out.map(([name]) => name).join(" ")}`.toLowerCase();
    if (wanted.every((word) => text.includes(word))) hits.push([path, node]);
    if (hits.length === MOST_HITS) break;
  }
  const list = element("hits");
  list.replaceChildren(...hits.map(([path, node], k) => make("li", { role: "option", "aria-selected": String(k === 0), "data-to": path,
    onmousedown: (event) => { event.preventDefault(); leaveSearch(path); } },
    node.op, " ", make("span", { class: "mono" }, (node.out[0] || [""])[0]), make("small", {}, path))));
  if (wanted.length && !hits.length) list.append(make("li", { class: "hint" }, "nothing is like this"));
  list.hidden = !wanted.length;
}

function leaveSearch(path) {
  element("hits").hidden = true;
  element("search").blur();
  if (path) goTo(path);
}

function moveHit(by) {
  const hits = [...document.querySelectorAll("#hits [data-to]")];
  const now = hits.findIndex((hit) => hit.getAttribute("aria-selected") === "true");
  const next = hits[(now + by + hits.length) % hits.length];
  hits.forEach((hit) => hit.setAttribute("aria-selected", String(hit === next)));
  if (next) next.scrollIntoView({ block: "nearest" });
}

element("search").addEventListener("input", (event) => search(event.target.value));
element("search").addEventListener("blur", () => { element("hits").hidden = true; });
element("search").addEventListener("focus", (event) => search(event.target.value));
element("search").addEventListener("keydown", (event) => {
  const hit = document.querySelector('#hits [aria-selected="true"]');
  const keys = { ArrowDown: () => moveHit(1), ArrowUp: () => moveHit(-1), Escape: () => leaveSearch(),
    Enter: () => leaveSearch(hit && hit.dataset.to) };
  if (!(event.key in keys)) return;
  event.preventDefault();
  event.stopPropagation();
  keys[event.key]();
});

// Keys.
function beside(by) {
  const drawn = drawnAt(chosen);
  const all = drawn ? [...drawn.parentNode.querySelectorAll("[data-path]")] : [];
  const top = (each) => Math.round(each.getBoundingClientRect().top);
  const left = (each) => each.getBoundingClientRect().left;
  const row = all.filter((each) => top(each) === top(drawn)).sort((a, b) => left(a) - left(b));
  const next = row[row.indexOf(drawn) + by];
  return next ? next.dataset.path : null;
}

function neighbour(key) {
  const { node, place } = NODES.get(chosen);
  if (key === "ArrowUp") return node.in.map((name) => makerOf(place, name)).find(Boolean);
  if (key === "ArrowDown") return node.out.flatMap(([name]) => readersOf(place, name))[0];
  return beside(key === "ArrowLeft" ? -1 : 1);
}

function switchTheme() {
  const root = document.documentElement;
  const is_dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = is_dark ? "light" : "dark";
}

function toggleKeys() {
  element("keys").hidden = !element("keys").hidden;
}

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key.startsWith("Arrow") && chosen) {
    event.preventDefault();
    const next = neighbour(event.key);
    if (next) goTo(next);
    return;
  }
  const at = event.target.closest("[data-path]");
  const keys = {
    "/": () => { event.preventDefault(); element("search").focus(); },
    "?": toggleKeys,
    t: switchTheme,
    Escape: () => { element("keys").hidden = true; choose(null); },
    Enter: () => at && (chosen === at.dataset.path ? openBodies(chosen) : choose(at.dataset.path)),
  };
  if (event.key in keys) keys[event.key]();
});
element("theme").addEventListener("click", switchTheme);
element("help").addEventListener("click", toggleKeys);

overview();
element("blocks").append(section(PLACES.get("main")));
setOpen(PLACES.get("main"), true);
choose(null);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
