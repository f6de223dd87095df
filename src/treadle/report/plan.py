"""Describes a plan: the nested regions, the engine of each and the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from treadle.ir import Step, bodies, step_path
from treadle.messages import visible
from treadle.plan import BlockPlan, CompilationReport, Plan, Region
from treadle.report.body import count_operators, show_operators, summarize_body
from treadle.report.text import indented, plural

Others = Mapping[str, Plan]
"""Plans of other kinds of runs, keyed by their description: "runs that ..."."""


def explain(plan: Plan, others: Others | None = None) -> str:
    """The regions of the plan, bodies indented below the step that runs them; then other plans."""
    lines = list(_show_plan(plan))
    for runs, other in (others or {}).items():
        lines += ["", f"{runs}:", *indented(_show_plan(other))]
    return "\n".join(lines)


def _show_plan(plan: Plan) -> Iterator[str]:
    engines = engine_counts(plan)
    counts = ", ".join(f"{plural(n, 'region')} by {engine}" for engine, n in engines.items())
    yield counts or "nothing to run"
    yield from _show_block(plan.main)


def plan_data(plan: Plan) -> dict[str, object]:
    """The regions as plain data."""
    return {"engines": engine_counts(plan), "regions": list(map(_region_data, plan.main.regions))}


def engine_counts(plan: Plan) -> dict[str, int]:
    """The number of regions of each engine, the greatest first."""
    return dict(Counter(region.engine for region in _regions(plan.main)).most_common())


def _regions(block: BlockPlan) -> Iterator[Region]:
    for region in block.regions:
        yield region
        for body in region.bodies.values():
            yield from _regions(body)


def _show_block(block: BlockPlan) -> Iterator[str]:
    if not block.regions:
        yield f"{block.path}: no nodes"
    positions = {step: number for number, step in enumerate(block.block.steps)}
    for region in block.regions:
        yield f"{_where(region, positions)}  {region.engine}: {region.reason}"
        yield from indented([_held(region), *_accounts(region)])
        for body in region.bodies.values():
            yield from indented(_show_block(body))


def _where(region: Region, positions: Mapping[Step, int]) -> str:
    """The path of a step that is alone in its region, else that of the block."""
    step = region.steps[0]
    if len(region.steps) > 1 or step not in positions:
        return region.path
    return step_path(region.path, step, positions[step])


def _held(region: Region) -> str:
    nodes = f"{plural(len(region.steps), 'node')}: {show_operators(count_operators(region.steps))}"
    inner = sum(summarize_body(body).nodes for step in region.steps for _, body in bodies(step))
    return f"{nodes}; {plural(inner, 'node')} in bodies" if inner else nodes


def _accounts(region: Region) -> Iterator[str]:
    """The engine's reports on the region in the runs so far, or that there was none."""
    for account in accounts(region):
        yield visible(f"for {account.title}:")
        yield from indented(account.facts)
    for account in _foreseen(region):
        yield from account.facts


def compilations(plan: Plan) -> list[CompilationReport]:
    """The engines' reports on all regions so far."""
    return [account for region in _regions(plan.main) for account in accounts(region)]


def seconds_compiling(plan: Plan) -> float:
    """The seconds engines spent on compiling for the plan; code from a cache counts as 0."""
    made = [each.data for each in compilations(plan)]
    return sum(float(str(data.get("seconds", 0))) for data in made if not data.get("was_kept"))


def accounts(region: Region) -> Sequence[CompilationReport]:
    """The reports of the region's engine so far; none if it makes no reports."""
    return () if region.runnable is None else region.runnable.traits.reports()


def _foreseen(region: Region) -> Sequence[CompilationReport]:
    """The engine's prediction for a region that has not run yet."""
    traits = None if region.runnable is None else region.runnable.traits
    if traits is None or traits.predicted_report is None or traits.reports():
        return ()
    return (traits.predicted_report(),)


def show_code(plan: Plan, kind: str, others: Others | None = None) -> str:
    """The code compiled in the runs so far: "kernel", "schedule" or "llvm".

    For a region that has not run, the code is compiled from types alone; for a plan without any run
    only if the other plans have none either. "" if no engine has code.
    """
    plans = {"": plan, **(others or {})}
    made = {runs: each for runs, each in plans.items() if any(map(accounts, _regions(each.main)))}
    shown = (made or {"": plan}).items()
    return "\n".join(line for runs, each in shown for line in _codes(each.main, kind, runs))


def _codes(block: BlockPlan, kind: str, runs: str) -> Iterator[str]:
    positions = {step: number for number, step in enumerate(block.block.steps)}
    for region in block.regions:
        for account in (*accounts(region), *_foreseen(region)):
            which = f" in {runs}" if runs else ""
            yield visible(f"# {_where(region, positions)}{which} for {account.title}")
            yield account.code(kind) or "\n".join(f"# {fact}" for fact in account.facts)
        for body in region.bodies.values():
            yield from _codes(body, kind, runs)


def _region_data(region: Region) -> dict[str, object]:
    return {
        "path": region.path,
        "engine": region.engine,
        "reason": region.reason,
        "nodes": len(region.steps),
        "operators": count_operators(region.steps),
        "inputs": [value.name for value in region.inputs],
        "outputs": [value.name for value in region.outputs],
        "made": [{"for": each.title, **each.data} for each in accounts(region)],
        "bodies": {
            name: {"path": body.path, "regions": list(map(_region_data, body.regions))}
            for name, body in region.bodies.items()
        },
    }
