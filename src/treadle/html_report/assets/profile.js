// Where the time goes: of a node in its detail, of the whole run above the blocks.
const MOST_COSTS = 12;

function time(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const [unit, scale] = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]].find(([, size]) => seconds >= size) || ["ns", 1e-9];
  return `${number(Number((seconds / scale).toPrecision(3)))} ${unit}`;
}

function costOf(path) {
  if (!DATA.profile) return [];
  const { loops, operators } = DATA.profile;
  const parts = loops.filter((loop) => loop.path === path).map((loop) =>
    [["first", loop.first], ["steady", loop.steady], ["last", loop.last]].filter(([, seconds]) => seconds !== null)
      .reduce((words, [which, seconds]) => `${words}, ${which} ${time(seconds)}`, `${time(loop.seconds)}; ${plural(loop.iterations, "iteration")}`));
  if (!parts.length) parts.push(...operators.filter((each) => each.path === path).map((each) => `${time(each.seconds)} in ${plural(each.times, "time")}`));
  return parts.length ? [make("h3", {}, "Time in a run"), ...parts.map((words) => make("p", {}, words))] : [];
}

function profileTable() {
  if (!DATA.profile) return null;
  const { seconds, regions, loops, nests, operators, calls } = DATA.profile;
  const costs = [
    ...regions.map((each) => [each, `region: ${each.engine}`, each.operators]),
    ...loops.map((each) => [each, "loop", plural(each.iterations, "iteration")]),
    ...nests.map((each) => [{ ...each, path: each.loop }, "nest", each.words]),
    ...calls.map((each) => [{ ...each, path: each.loop }, "call out", `${each.operator}: ${each.why}`]),
    ...operators.map((each) => [each, each.engine, each.operator]),
  ].sort(([one], [other]) => other.seconds - one.seconds).slice(0, MOST_COSTS);
  const rows = costs.map(([each, kind, words]) => make("tr", {}, make("td", { class: "number" }, time(each.seconds)),
    make("td", {}, kind), make("td", {}, NODES.has(each.path) ? link(each.path, each.path) : each.path), make("td", {}, words)));
  return make("details", {}, make("summary", {}, `${time(seconds)} a run: where the time goes`),
    make("div", { class: "wide" }, make("table", {}, make("tbody", {}, rows))));
}
