"""Decides which engine runs which step, and gathers the steps into regions.

    for every block, outermost first:
        ask the engines, in the order of preference, for every step      Engine.judge
        plan an If branch by branch where an engine takes loops in it
        give small steps near a loop to the loop's engine                region_growing.py
        partition the steps of one engine into groups as large as possible  partition.py
        leave groups not worth a call to interp                 offload_cost.py
        have the engine prepare each group; halve a group it refuses     Engine.prepare
        give the other steps to interp, and plan their bodies the same way

The order of preference is by expected time: an engine is asked for a step only when the engines
before it have declined the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from treadle.errors import Unsupported
from treadle.ir import Block, Branch, Loop, Model, Step, bodies, step_path
from treadle.plan.engines import Engine, Verdict
from treadle.plan.fallback import LazyFallback
from treadle.plan.offload_cost import worth_offloading
from treadle.plan.partition import Group, partition
from treadle.plan.region_growing import steps_to_absorb
from treadle.plan.region_io import Known, UseMap, constants_in_body, constants_in_scope, region_io
from treadle.plan.regions import BlockPlan, Plan, Region

INTERP = "interp"
"""The engine that runs the remaining steps; engines listed after it are never asked."""

_MOST_ROUNDS = 4


Declined = Mapping[tuple[str, Step], str]
"""Steps that the named engine declined after preparing them, each with the reason."""


def plan(
    model: Model,
    engines: Sequence[Engine],
    *,
    inside: bool = False,
    declined: Declined | None = None,
) -> Plan:
    """Plan the regions of every block of the model, each prepared by its engine.

    `engines` are in the order of preference; interp takes the rest. `inside`: a listener or a limit
    must observe every iteration, so a step with bodies goes only to an engine that supports this.
    `declined` are the steps that engines declined in an earlier run.
    """
    planning = _Planning(model, _asked(engines), inside, model.main, declined=declined or {})
    return Plan(model, _plan_block(planning, model.main, "main", {}))


def _asked(engines: Sequence[Engine]) -> tuple[Engine, ...]:
    names = [engine.name for engine in engines]
    return tuple(engines[: names.index(INTERP)] if INTERP in names else engines)


def with_fallbacks(model: Model, engines: Sequence[Engine], region: Region) -> Region:
    """The region of a plan with these engines, with its fallbacks, which are made on first use."""
    return _with_fallbacks(_Planning(model, _asked(engines), False, model.main), region)


def _with_fallbacks(planning: _Planning, region: Region) -> Region:
    otherwise, meanwhile = _otherwise(planning, region), _meanwhile(planning, region)
    return replace(region, otherwise=otherwise, meanwhile=meanwhile)


def interp_only(block: Block, path: str = "main", reason: str = "") -> BlockPlan:
    """The plan in which interp runs everything, bodies included, without asking an engine."""
    planning = _Planning(Model(block), (), True, block, reason)
    return _plan_block(planning, block, path, {})


@dataclass(frozen=True, slots=True)
class _Planning:
    model: Model
    engines: tuple[Engine, ...]
    inside: bool
    root: Block
    unasked: str = "no other engine was asked"
    alone: bool = False
    declined: Declined = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The engine chosen for a step, None for interp, and the reason.

    `joins` names the engines that would run it together with others, `links` those that would
    between two loops, `feeds` those that would before a loop; `instead` is the choice for the step
    alone if it has joined others; `refusal` is the reason of the last engine that declined the
    single step.
    """

    engine: Engine | None
    reason: str
    joins: Mapping[str, Callable[[], bool]] = field(default_factory=dict)
    links: Mapping[str, Callable[[], bool]] = field(default_factory=dict)
    feeds: Mapping[str, Callable[[], bool]] = field(default_factory=dict)
    instead: _Choice | None = None
    refusal: str = ""

    @property
    def name(self) -> str:
        return self.engine.name if self.engine else INTERP


@dataclass(frozen=True, slots=True)
class _Work:
    """One block during planning."""

    planning: _Planning
    block: Block
    path: str
    known: Known
    choices: list[_Choice]

    @property
    def is_main(self) -> bool:
        return self.block is self.planning.root


def _plan_block(planning: _Planning, block: Block, path: str, outer: Known) -> BlockPlan:
    choices = [_choose(planning, step) for step in block.steps]
    if not planning.alone:
        choices = _joined(planning, block, choices)
    work = _Work(planning, block, path, constants_in_scope(block, outer), choices)
    return BlockPlan(block, path, tuple(_regions(work)))


def _choose(planning: _Planning, step: Step) -> _Choice:
    refusals: list[str] = []
    refusal = ""
    joins: dict[str, Callable[[], bool]] = {}
    links: dict[str, Callable[[], bool]] = {}
    feeds: dict[str, Callable[[], bool]] = {}
    opens = ""
    for engine in planning.engines:
        verdict = _verdict(planning, engine, step)
        if verdict.takes:
            if opens:
                return _Choice(None, f"planned branch by branch: {opens} takes loops in them")
            before = refusals if any(bodies(step)) else ()
            return _Choice(engine, "; ".join((*before, verdict.reason)), joins, links, feeds)
        refusals.append(verdict.reason)
        if verdict.links is not None:
            links[engine.name] = verdict.links
        if verdict.feeds is not None:
            feeds[engine.name] = verdict.feeds
        if verdict.joins is not None:
            joins[engine.name] = verdict.joins
        else:
            refusal = verdict.reason
        if not opens and isinstance(step, Branch) and _takes_loops(planning, engine, step):
            opens = engine.name
    return _Choice(
        None, "; ".join(refusals) or planning.unasked, joins, links, feeds, refusal=refusal
    )


def _takes_loops(planning: _Planning, engine: Engine, branch: Branch) -> bool:
    """Whether an engine that declines an If takes a loop in one of its branches."""
    for step in (step for _, block in bodies(branch) for step in block.steps):
        if isinstance(step, Loop) and _verdict(planning, engine, step).takes:
            return True
        if isinstance(step, Branch) and _takes_loops(planning, engine, step):
            return True
    return False


def _verdict(planning: _Planning, engine: Engine, step: Step) -> Verdict:
    why = planning.declined.get((engine.name, step))
    if why is not None:
        return Verdict(False, why)
    return engine.judge(step, planning.model, inside=planning.inside)


def _joined(planning: _Planning, block: Block, choices: list[_Choice]) -> list[_Choice]:
    """The choices, with small steps near an engine's steps given to the same engine."""
    for engine in planning.engines:
        own = [k for k, choice in enumerate(choices) if choice.engine is engine]
        if not own:
            continue
        joins, links, feeds = (
            [k for k, test in enumerate(tests) if test is not None and test()]
            for tests in (
                [choice.joins.get(engine.name) for choice in choices],
                [choice.links.get(engine.name) for choice in choices],
                [choice.feeds.get(engine.name) for choice in choices],
            )
        )
        joined = steps_to_absorb(block, own, joins, links, feeds)
        choices = [
            replace(choice, engine=engine, reason="absorbed into the loop's region", instead=choice)
            if k in joined
            else choice
            for k, choice in enumerate(choices)
        ]
    return choices


def _regions(work: _Work) -> list[Region]:
    """The regions of the block, in order.

    A step that its engine declines alone goes to interp, and the rest is partitioned again, so one
    unsupported step among a thousand leaves at most two regions around it.
    """
    for _ in range(_MOST_ROUNDS):
        regions, refused = _try(replace(work, choices=_worthwhile(work)))
        if not refused:
            break
        for position, reason in refused.items():
            work.choices[position] = _Choice(None, reason, refusal=reason)
    return regions


def _try(work: _Work) -> tuple[list[Region], dict[int, str]]:
    uses = UseMap.of(work.block)
    regions: list[Region] = []
    refused: dict[int, str] = {}
    for name, positions in _groups(work.block, work.choices):
        if name == INTERP:
            regions += _interpreted(work, uses, positions)
        else:
            regions += _prepared(work, uses, positions, refused)
    return regions, refused


def _prepared(
    work: _Work, uses: UseMap, positions: Sequence[int], refused: dict[int, str]
) -> Iterator[Region]:
    """Prepare the group as one region, or as several if its engine declines it."""
    engine = work.choices[positions[0]].engine
    assert engine is not None
    region = replace(
        _region(work, uses, positions), next_best_engine=_rival(work, engine, positions)
    )
    try:
        runnable = engine.prepare(region, work.planning.model)
        yield _with_fallbacks(work.planning, replace(region, runnable=runnable))
    except Unsupported as refusal:
        if len(positions) == 1:
            refused[positions[0]] = refusal.why
            yield from _interpreted(work, uses, positions)
            return
        middle = len(positions) // 2
        yield from _prepared(work, uses, positions[:middle], refused)
        yield from _prepared(work, uses, positions[middle:], refused)


def _rival(work: _Work, engine: Engine, positions: Sequence[int]) -> str:
    """The next engine that takes the steps with bodies.

    "" if it is interp or there are no bodies.
    """
    steps = [work.block.steps[position] for position in positions]
    whole = [step for step in steps if any(bodies(step))]
    later = work.planning.engines[work.planning.engines.index(engine) + 1 :]
    for rival in later:
        if whole and all(_verdict(work.planning, rival, step).takes for step in whole):
            return rival.name
    return ""


def _otherwise(given: _Planning, region: Region) -> LazyFallback:
    """The engines after this one, if any; after the last one, the plan of the bodies' steps.

    With no further engine the fallback is interp. A region that absorbed steps is first tried
    without them.
    """
    block = region.block()
    engines = given.engines
    later = tuple(engine for engine in engines if engine.name != region.engine)
    is_last = engines[-1].name == region.engine

    def make() -> BlockPlan:
        if region.absorbed:
            planning = replace(given, alone=True, root=block)
            return _plan_block(planning, block, region.path, {})
        if not is_last:
            planning = replace(given, engines=later, root=block)
            return _plan_block(planning, block, region.path, {})
        opened = [step for step in region.steps if any(bodies(step))]
        if not opened:
            return interp_only(block, region.path, f"{region.engine} declined it on this data")
        refused = {(region.engine, step): f"{region.engine} declined it" for step in opened}
        declined = {**given.declined, **refused}
        planning = replace(given, inside=True, root=block, declined=declined)
        return _plan_block(planning, block, region.path, {})

    return LazyFallback(make)


def _meanwhile(given: _Planning, region: Region) -> LazyFallback:
    """The other engines, for as long as this one has no code."""
    block = region.block()
    later = tuple(engine for engine in given.engines if engine.name != region.engine)

    def make() -> BlockPlan:
        return _plan_block(replace(given, engines=later, root=block), block, region.path, {})

    return LazyFallback(make)


def _interpreted(work: _Work, uses: UseMap, positions: Sequence[int]) -> Iterator[Region]:
    """Regions of interp: consecutive leaves together, a step with bodies alone."""
    steps = work.block.steps

    def key(position: int) -> int:
        return position if any(bodies(steps[position])) else -1

    for alone, run in groupby(positions, key):
        region = replace(_region(work, uses, tuple(run)), engine=INTERP)
        yield region if alone < 0 else replace(region, bodies=_bodies(work, alone))


def _bodies(work: _Work, position: int) -> dict[str, BlockPlan]:
    step = work.block.steps[position]
    path = step_path(work.path, step, position)
    return {
        name: _plan_block(
            work.planning, body, f"{path}.{name}", constants_in_body(step, name, work.known)
        )
        for name, body in bodies(step)
    }


def _region(work: _Work, uses: UseMap, positions: Sequence[int]) -> Region:
    border = region_io(work.block, positions, uses, work.known)
    chosen = [work.choices[position] for position in positions]
    return Region(
        path=work.path,
        engine=chosen[0].name,
        reason="; ".join(dict.fromkeys(choice.reason for choice in chosen)),
        steps=tuple(work.block.steps[position] for position in positions),
        inputs=border.inputs,
        outputs=border.outputs,
        constants=border.constants,
        absorbed=tuple(work.block.steps[k] for k in positions if work.choices[k].instead),
        refusals=_refusals(work, positions),
    )


def _refusals(work: _Work, positions: Sequence[int]) -> dict[Step, str]:
    """Why the last engine that takes single steps declined these."""
    left = [position for position in positions if work.choices[position].engine is None]
    return {work.block.steps[k]: work.choices[k].refusal for k in left if work.choices[k].refusal}


def _worthwhile(work: _Work) -> list[_Choice]:
    """The choices, with regions that are not worth a call left to interp."""
    choices = _in_company(work)
    groups = _groups(work.block, choices)
    if work.is_main and len(groups) == 1:
        return choices
    for name, positions in groups:
        steps = [work.block.steps[position] for position in positions]
        if name == INTERP or worth_offloading(steps):
            continue
        words = f"{len(steps)} small steps: numpy runs them faster than one call of {name}"
        for position in positions:
            choices[position] = _Choice(None, words, refusal=choices[position].refusal)
    return choices


def _in_company(work: _Work) -> list[_Choice]:
    """The choices, without absorbed steps that ended up in a group of their own."""
    choices = list(work.choices)
    for _, positions in _groups(work.block, choices):
        if all(choices[position].instead for position in positions):
            for position in positions:
                choices[position] = choices[position].instead or choices[position]
    return choices


def _groups(block: Block, choices: Sequence[_Choice]) -> list[Group]:
    joined = {k for k, choice in enumerate(choices) if choice.instead}
    return partition(block, [choice.name for choice in choices], joined)
