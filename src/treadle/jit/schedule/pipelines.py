"""Pipelines: loops that slice each other's stacked outputs run together, each on its own thread.

    layer 0     0..63   64..127   128..191
    layer 1             0..63     64..127    128..191
    layer 2                       0..63      64..127    128..191

A thread runs some iterations of a loop (a stage) once the loop before it has made the items that
they read. Loops with few operations become one loop instead (`stacked_loops.py`); these here have
large matrices, which stay in the cache of the thread that runs the stage. Each loop computes what
it would compute alone, so the results are the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, lcm

from treadle.jit.kernel.ir import (
    Block,
    Branch,
    HostCall,
    Loop,
    Node,
    Result,
    op_of,
)
from treadle.jit.schedule.carried_storage import Resizable
from treadle.jit.schedule.cost_model import per_stage
from treadle.jit.schedule.layouts.sliding_windows import SlidingWindow
from treadle.jit.schedule.layouts.windows import Window
from treadle.jit.schedule.loops.in_order import InOrder
from treadle.jit.schedule.loops.kernel_facts import KernelFacts
from treadle.jit.schedule.stacked_loops import (
    consumer_of,
    counts_are_equal,
    item_of,
    other_dependence,
)
from treadle.jit.schedule.storage import Storage

_TURN_NS = 50_000
"""The estimated nanoseconds of a stage's turn: handing over its items takes about 200."""
_MAX_STEPS = 64
_MAX_TURN_NS = 20_000_000
"""The longest turn: a run cannot stop within one."""


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """A loop of a pipeline: it runs `steps` iterations at a time, which take `nanoseconds` each.

    It needs items in multiples of `ahead`: products of sliced items are computed for as many
    iterations at once.
    """

    loop: Node
    steps: int
    ahead: int
    nanoseconds: float

    def __str__(self) -> str:
        """As `explain --schedule` prints it."""
        return f"{self.steps} iterations at a time"


@dataclass(frozen=True, eq=False, slots=True)
class Pipeline:
    """Loops that run together, each of which slices stacked outputs of the one before."""

    stages: tuple[Stage, ...]

    @property
    def loops(self) -> tuple[Node, ...]:
        """The loops in order."""
        return tuple(stage.loop for stage in self.stages)


@dataclass(frozen=True, eq=False, slots=True)
class Pipelines:
    """The pipelines of a kernel by their first loops.

    `declined` says of loops that slice a stacked output why they are no stage after its loop.
    """

    found: Mapping[Node, Pipeline]
    declined: Mapping[Node, str]

    @property
    def later(self) -> Collection[Node]:
        """The loops that run with an earlier one."""
        return {loop for pipeline in self.found.values() for loop in pipeline.loops[1:]}


def pipelines_of(facts: KernelFacts) -> Pipelines:
    """The pipelines of a kernel."""
    found: dict[Node, Pipeline] = {}
    declined: dict[Node, str] = {}
    taken: set[Node] = set()
    for node in facts.loops:
        if node not in taken:
            loops = _chain(facts, node, declined)
            if len(loops) > 1:
                found[node] = Pipeline(tuple(_stage(facts, loop) for loop in loops))
                taken.update(loops)
    return Pipelines(found, declined)


def _chain(facts: KernelFacts, first: Node, declined: dict[Node, str]) -> list[Node]:
    """The loop, and those after it that form a pipeline with it."""
    loops = [first]
    while (loop := consumer_of(loops[-1])) is not None:
        reason = _obstacle(facts, loops, loop)
        if reason:
            declined[loop] = reason
            break
        loops.append(loop)
    return loops


def _obstacle(facts: KernelFacts, before: Sequence[Node], loop: Node) -> str:
    """What keeps a loop from being the next stage after others; "" if nothing does."""
    kernel = facts.kernel
    if not kernel.parallel_threshold_ns or not facts.has_pool:
        return "the kernel uses one thread"
    if kernel.counts_loops or kernel.is_recorded:
        return "the kernel counts what its loops do"
    if not counts_are_equal(before[-1], loop):
        return "their numbers of iterations are not known to be equal"
    alone = (_obstacle_inside(facts, each) for each in (before[-1], loop))
    items = (_obstacle_of_item(facts, before, node) for node in _body(loop).nodes)
    rest = (other_dependence(each, loop, before) for each in before)
    return next((reason for reasons in (alone, items, rest) for reason in reasons if reason), "")


def _body(loop: Node) -> Block:
    return op_of(loop, Loop).body


def _obstacle_inside(facts: KernelFacts, loop: Node) -> str:
    """What in a loop keeps it from being a stage."""
    nodes = _body(loop).nodes
    if any(isinstance(node.op, Loop | Branch | HostCall) for node in nodes):
        return "a body has blocks of its own, or calls Python"
    if not all(node.is_static for node in nodes):
        return "the sizes of values in a body are not known"
    if not isinstance(facts.loops[loop].strategy, InOrder):
        return f"one of them runs as {facts.loops[loop].strategy}"
    moving = Window | SlidingWindow | Resizable
    if any(isinstance(each, moving) for each in facts.loops[loop].carried):
        return "a carried value is a window, or changes its extents"
    stage = _stage(facts, loop)
    if max(stage.steps, stage.ahead) * stage.nanoseconds > _MAX_TURN_NS:
        return "iterations take long, and a run stops between turns only"
    return ""


def _obstacle_of_item(facts: KernelFacts, before: Sequence[Node], node: Node) -> str:
    """What keeps an item from being read while the loop that stacks it still runs."""
    stacks = [stack for first in before if (stack := item_of(node, first)) is not None]
    if not stacks:
        return ""
    if any(extent != 1 for stack in stacks for extent in stack.element.shape[: stack.axis]):
        return "an item is no row of a stacked output"
    if facts.storage.storage_of[node.operands[0]] is Storage.REGISTERS:
        return "a stacked output is in registers"
    return ""


def _stage(facts: KernelFacts, loop: Node) -> Stage:
    nodes = _body(loop).nodes
    cost = 1 + sum(map(per_stage, nodes))
    together = [facts.distributed[node].steps for node in nodes if node in facts.distributed]
    steps = min(max(ceil(_TURN_NS / cost), 1), _MAX_STEPS)
    ahead = lcm(*together)
    return Stage(loop, ceil(steps / ahead) * ahead if steps > ahead else steps, ahead, cost)


def in_pipeline_order(nodes: Sequence[Node], found: Mapping[Node, Pipeline]) -> list[Node]:
    """The nodes of a block, with everything that the loops of a pipeline need before its first.

    Fusion must know this order: what is computed between the loops may not overwrite what they
    read.
    """
    ordered = list(nodes)
    for pipeline in (found[node] for node in nodes if node in found):
        first, last = (ordered.index(pipeline.loops[k]) for k in (0, -1))
        between = ordered[first + 1 : last]
        early = [node for node in between if not _is_of(node, pipeline)]
        late = [node for node in between if _is_of(node, pipeline)]
        ordered[first:last] = [*early, ordered[first], *late]
    return ordered


def _is_of(node: Node, pipeline: Pipeline) -> bool:
    """Whether a node is one of the loops, or a result of one."""
    is_result = isinstance(node.op, Result) and node.operands[0] in pipeline.loops
    return is_result or node in pipeline.loops
