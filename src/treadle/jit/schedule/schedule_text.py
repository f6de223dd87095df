"""A schedule as text: for each loop its strategy, what others lack, its storage and dependences.

    loop 0: in order
      not tiling: reduce is not elementwise
      at most 13 ns an iteration
      storage of carried values: buffer, updated in place
      carried 0 float32[8]: affine, reads 0 at (i0), last read by add
      parallel: 0.0
      not sunk into it: exp: float32[?]: exp is quicker for many iterations at once
      nest: mul, add: float32[8], in place of carried 0, vectors along all axes
    main: nest: neg: float32[8], vectors along all axes
    whole numbers in fewer bits than 64: 3 nodes
    values: 3 in registers, 2 in nests, 1 inline, 4 in buffers

`schedule/dependence_text.py` has the words of dependences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from treadle.jit.kernel.ir import ArgTopK, Block, Elementwise, Loop, Node, Reduce, Result, op_of
from treadle.jit.kernel.traversal import word_of, words_of
from treadle.jit.schedule.carried_storage import SingleBuffer, show_storage
from treadle.jit.schedule.dependence import dependence_of
from treadle.jit.schedule.dependence_text import dependence_lines
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.index_set_splitting import count
from treadle.jit.schedule.loops.kernel_facts import LoopSchedule
from treadle.jit.schedule.loops.register_tiling import RegisterTiling
from treadle.jit.schedule.schedule import Schedule
from treadle.jit.schedule.stacked_loops import consumer_of, obstacle
from treadle.jit.schedule.steps.copies import is_computed_copy
from treadle.jit.schedule.storage import Storage

_PLACES = {
    Storage.REGISTERS: "in registers",
    Storage.NEST: "in fused nests",
    Storage.INLINE: "computed where they are read",
    Storage.BUFFER: "in buffers",
}


def show_schedule(schedule: Schedule) -> str:
    """The schedule of a kernel as text."""
    return "\n".join(_lines(schedule))


def _lines(schedule: Schedule) -> Iterator[str]:
    for number, (node, found) in enumerate(schedule.loops.items()):
        yield f"loop {number}{_path(node)}: {found.strategy}"
        yield from (f"  {line}" for line in _loop(node, found, schedule))
    bodies = {node.op.body for node in schedule.loops if isinstance(node.op, Loop)}
    for block, steps in schedule.blocks.items():
        if block not in bodies:
            lines = *_nests(steps, None, schedule), *_reused(block, schedule)
            yield from (f"{block.name}: {line}" for line in lines)
    yield from schedule.functions.words()
    if schedule.kernel.narrowed:
        yield f"whole numbers in fewer bits than 64: {schedule.kernel.narrowed} nodes"
    places = Counter(schedule.storage.storage_of.values())
    words = [f"{places[kind]} {name}" for kind, name in _PLACES.items() if places[kind]]
    yield f"values: {', '.join(words)}"


def _path(node: Node) -> str:
    assert isinstance(node.op, Loop)
    return f" at {node.op.path}" if node.op.path else ""


def _pipeline(node: Node, consumer: Node | None, schedule: Schedule) -> Iterator[str]:
    """The stage of a loop in a pipeline, and why its consumer is no stage after it."""
    for pipeline in schedule.pipelines.found.values():
        for number, stage in enumerate(pipeline.stages):
            if stage.loop is node:
                yield f"pipeline: stage {number + 1} of {len(pipeline.stages)}, {stage}"
    declined = schedule.pipelines.declined
    if consumer is not None and consumer in declined:
        yield f"not a pipeline with the loop that slices its output: {declined[consumer]}"


def _nests(steps: Sequence[Step], loop: Loop | None, schedule: Schedule) -> Iterator[str]:
    """The fused nests, products, reductions and copies of a block; `loop`: of its body."""
    for step in steps:
        timing = schedule.timing_of(step)
        timed = () if timing is None else timing.words()
        if isinstance(step, Nest):
            yield _line("nest", _nest_words(step, loop, schedule), timed)
        elif step in schedule.products:
            yield _line("product", [words_of([step])], schedule.products[step].words(), timed)
        elif step in schedule.forms:
            nest = ["in the nest before it"] * (step in schedule.epilogues.values())
            words = words_of([step]), *schedule.forms[step].words(), *nest
            yield _line(_KINDS[type(step.op)], words, _loops(step, schedule), timed)
        elif schedule.order.is_read_in_place(step):
            yield f"read in the memory of the data: {words_of([step])}"
        elif is_computed_copy(step, schedule.order):
            yield _line("copy", [words_of([step])], schedule.computed(step).words(), timed)
        elif step in schedule.parallelism:
            yield _line("copy", [words_of([step])], _loops(step, schedule), timed)
        elif timing is not None and not isinstance(step.op, Loop):
            yield _line("step", [words_of([step])], timed)


def _line(kind: str, *words: Iterable[str]) -> str:
    return f"{kind}: {', '.join(chain(*words))}"


_KINDS = {ArgTopK: "search", Reduce: "reduction"}


def _loops(node: Node, schedule: Schedule) -> Iterator[str]:
    """The safepoints and threads of a reduction or Concat in memory."""
    if node in schedule.parallelism:
        yield from schedule.parallelism[node].chunk_words()
        yield from schedule.parallelism[node].sharing_words()


def _nest_words(nest: Nest, loop: Loop | None, schedule: Schedule) -> Iterator[str]:
    yield words_of(nest.nodes)
    if nest.pieces is not None:
        yield f"in {count(nest.pieces)} pieces"
    if loop is not None:
        yield from (f"in place of carried {loop.states.index(s)}" for s in nest.in_place.values())
    if nest in schedule.changed:
        yield from schedule.changed[nest].words()
    yield from schedule.parallelism_of(nest).words()
    yield from ["written once with its equals"] * (nest in schedule.functions.once)


def _loop(node: Node, found: LoopSchedule, schedule: Schedule) -> Iterator[str]:
    assert isinstance(node.op, Loop)
    yield from (f"not {name}: {reason}" for name, reason in found.declined.items())
    has_loops = any(isinstance(each.op, Loop) for each in node.op.body.nodes)
    yield f"{schedule.iterations[node]}{', without the loops in it' * has_loops}"
    timing = schedule.timing_of(node)
    yield from [", ".join(timing.words())] if timing is not None else ()
    if found.carried:
        words = (_storage_words(node, number, schedule) for number in range(len(found.carried)))
        yield f"storage of carried values: {'; '.join(words)}"
    yield from dependence_lines(dependence_of(node.op))
    consumer = consumer_of(node)
    reason = "" if consumer is None else obstacle(node, consumer)
    yield from [f"not one with the loop that slices its output: {reason}"] * bool(reason)
    yield from _pipeline(node, consumer, schedule)
    for product, made in schedule.distributed.items():
        if product.home is node.op.body:
            yield f"distributed: {words_of([product])}, {made.steps} iterations at once"
    for part in schedule.storage.readers.get(node, ()):
        if part in schedule.growing:
            stacked = op_of(part, Result).number - len(node.op.states)
            yield f"stacked {stacked} {schedule.growing[part]}"
    yield from (f"packed before it: {packing}" for packing in schedule.packings.get(node, ()))
    for producer, (loop, why) in schedule.unsunk_producers.items():
        if loop is node:
            yield f"not sunk into it: {words_of([producer])}: {why}"
    if isinstance(found.strategy, RegisterTiling):
        computed = [each for each in node.op.body.nodes if isinstance(each.op, Elementwise)]
        if computed:
            yield f"in every iteration of a tile: {words_of(computed)}"
        return
    yield from _nests(schedule.steps_of(node.op.body), node.op, schedule)
    inside = [each for each in schedule.concats.into if each.home is node.op.body]
    yield from (f"computed in the memory of its concat: {words_of([each])}" for each in inside)
    yield from _reused(node.op.body, schedule)


def _storage_words(node: Node, number: int, schedule: Schedule) -> str:
    """The storage of a carried value, and how its next value gets there."""
    loop = op_of(node, Loop)
    state, after, reused = loop.states[number], loop.nexts[number], schedule.reused
    kept = schedule.order.carried[state]
    if isinstance(schedule.loops[node].strategy, RegisterTiling) and not state.is_single:
        return "registers, from and to memory once for each tile"
    if not isinstance(kept, SingleBuffer) or after is state:
        return show_storage(kept)
    saved = ", saved before others are" if after in reused.saved else ""
    if state in reused.updated:
        return f"{show_storage(kept)}, updated in place"
    copied = schedule.copied(after, loop.body).words()
    return ", ".join((show_storage(kept), f"the next value is copied{saved}", *copied))


def _reused(block: Block, schedule: Schedule) -> Iterator[str]:
    """Scatters, and results of loops and branches, that take over the memory of a value."""
    for node, old in schedule.reused.taken.items():
        if node.home is block and schedule.storage.storage_of[node] is Storage.BUFFER:
            yield f"in the memory of {word_of(old)}: {words_of([node])}"
