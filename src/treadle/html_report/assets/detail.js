// What is said of a chosen node, and of a value over iterations.
const MOST_READERS = 12;
const number = (value) => (value === null ? "" : Number(value.toPrecision(4)).toString());

// A line of the mean, with the least and the greatest around it.
function spark(points, low, high) {
  const known = [...low, ...high].filter((each) => each !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const count = Math.max(points.length - 1, 1);
  const at = (value, k) => `${((k / count) * 100).toFixed(2)} ${(31 - (28 * (value - least)) / (most - least || 1)).toFixed(2)}`;
  const drawn = make("svg", { class: "spark", viewBox: "0 0 100 34", preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const part of runs(points)) {
    const there = part.map((k) => at(high[k], k)).join("L");
    const back = [...part].reverse().map((k) => at(low[k], k)).join("L");
    drawn.append(make("path", { class: "band", d: `M${there}L${back}z` }));
    const line = part.map((k) => at(points[k], k)).join("L");
    drawn.append(make("path", { class: "mean", d: part.length > 1 ? `M${line}` : `M${line}h.5` }));
  }
  return drawn;
}

// The numbers of neighbouring points that are there.
function runs(points) {
  const found = [];
  points.forEach((point, k) => {
    if (point === null) return;
    const last = found[found.length - 1];
    if (last && last[last.length - 1] === k - 1) last.push(k);
    else found.push([k]);
  });
  return found;
}

function heat(series) {
  if (!series.heat) return null;
  return make("img", { class: "heat", src: `data:image/png;base64,${series.heat}`, alt: "elements over iterations" });
}

const iterationWords = (numbers) => (numbers.length ? `iteration ${numbers.join(", ")}` : "outside loops");

function rangeWords(series) {
  if (!series.range) return "no finite number";
  const [low, high] = series.range;
  return low === high ? number(low) : `${number(low)} … ${number(high)}`;
}

function nanWords(series) {
  return series.nan ? make("span", { class: "nan" }, `NaN from ${iterationWords(series.nan)}`) : "";
}

function valueItem(place, name, word, paths) {
  const series = seriesOf(place, name);
  const grown = growthOf(place, name);
  return make("li", {}, make("div", {}, make("code", {}, name || "(absent)"), " ", make("span", { class: "type" }, typeOf(place, name))),
    paths.length ? make("div", {}, make("span", { class: "hint" }, `${word} `),
      paths.flatMap((path, k) => [k ? ", " : "", link(path, opOf(path))])) : null,
    series ? make("div", {}, spark(series.mean, series.low, series.high), heat(series),
      make("p", { class: "hint" }, `${plural(series.times, "time")}, ${rangeWords(series)} `, nanWords(series))) : null,
    grown ? make("div", {}, spark(grown, grown.map(() => 0), grown), make("p", { class: "hint" }, "largest error in each iteration")) : null);
}

const link = (path, words) => make("button", { type: "button", class: "link", onclick: () => goTo(path) }, words);
const opOf = (path) => `${NODES.get(path).node.op} ${NODES.get(path).node.at.replace(/.*_/, "#")}`;

function findingItems(findings) {
  return make("ul", { class: "findings" }, findings.map((finding) => make("li", { class: finding.severity },
    make("b", {}, finding.code), ` ${finding.message}`, finding.hint ? make("small", {}, ` (${finding.hint})`) : null)));
}

function detailOf(path) {
  const { node, place } = NODES.get(path);
  const engine = engineOf(path);
  const found = FOUND.get(path) || [];
  const inputs = [...new Set(node.in)].filter(Boolean);
  return [
    make("div", { class: "head" }, make("div", {}, make("h2", {}, node.op), make("div", { class: "place mono" }, path)),
      make("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => choose(null) }, "✕")),
    (node.bodies || []).map(([suffix, inner]) => make("button", { type: "button", class: "open", onclick: () => goTo(path + suffix) },
      `open ${suffix.slice(1) || DATA.blocks[inner].path}`)),
    found.length ? [make("h3", {}, "Findings"), findingItems(found)] : [],
    DATA.comparison && DATA.comparison.path === path ? [make("h3", {}, "Comparison"), make("p", {}, "The first difference is here.")] : [],
    engine ? [make("h3", {}, "Engine"), make("p", { class: "engine" }, make("i", { class: engine[0] }), `${engine[0]}: ${engine[1]}`)] : [],
    costOf(path),
    node.attributes ? [make("h3", {}, "Attributes"), make("code", {}, node.attributes)] : [],
    inputs.length ? [make("h3", {}, "Reads"), make("ul", { class: "ports" }, inputs.map((name) => {
      const maker = makerOf(place, name);
      return valueItem(place, name, "from", maker ? [maker] : []);
    }))] : [],
    node.out.length ? [make("h3", {}, "Makes"), make("ul", { class: "ports" }, node.out.map(([name]) =>
      valueItem(place, name, "for", readersOf(place, name).slice(0, MOST_READERS))))] : [],
  ].flat(2);
}

// The values of a block over iterations, as a table.
function valueTable(place) {
  const names = [...new Set([...place.block.params, ...place.block.nodes.flatMap((node) => node.out)].map(([name]) => name))];
  const rows = names.map((name) => [name, seriesOf(place, name)]).filter(([, series]) => series);
  if (!rows.length) return null;
  const body = make("tbody");
  const table = make("table", {}, make("thead", {}, make("tr", {}, ["value", "mean, in its range", "elements", "range", ""].map((word) => make("th", {}, word)))), body);
  const fill = () => body.append(...rows.slice(body.childElementCount, body.childElementCount + STEP).map(([name, series]) => {
    const maker = makerOf(place, name);
    return make("tr", {}, make("td", {}, maker ? link(maker, make("code", {}, short(name, 24))) : make("code", {}, short(name, 24))),
      make("td", {}, spark(series.mean, series.low, series.high)), make("td", {}, heat(series)),
      make("td", { class: "number" }, rangeWords(series)), make("td", {}, nanWords(series)));
  }));
  return make("details", { class: "values", ontoggle: (event) => event.target.open && !body.childElementCount && fill() },
    make("summary", {}, `${plural(rows.length, "value")} over iterations`), make("div", { class: "wide" }, table));
}
