"""Unrolls loops into straight-line code.

    y = Loop(2, x) { s -> s + x }     ->     s0 = x + x;  y = s0 + x

Inner loops go first. A value that depends on the iteration number of an outer loop becomes constant
when that loop is unrolled, so the work is repeated until no more loops can be unrolled. Declines,
for all loops together, if a selected loop has an obstacle (`refusals.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from treadle.infer import certain_facts
from treadle.ir import (
    Block,
    Branch,
    Declaration,
    Loop,
    Model,
    Step,
    Value,
    bodies,
    defining_steps,
    map_bodies,
    tensor,
    verified,
    walk_block,
)
from treadle.limits import poll
from treadle.passes.expand_scan8 import expand_scan8
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Change, Report
from treadle.passes.rewrites.finished import finished, without_functions, without_unread_constants
from treadle.passes.rewrites.paths import chosen, loop_paths, mark, marked_path
from treadle.passes.rewrites.unroll.copies import ITERATION, Known
from treadle.passes.rewrites.unroll.counted import counted_line
from treadle.passes.rewrites.unroll.frozen import Frozen, frozen_line
from treadle.passes.rewrites.unroll.line import Line
from treadle.passes.rewrites.unroll.partial import partial_line
from treadle.passes.rewrites.unroll.refusals import (
    changing_shapes,
    common_refusals,
    count_refusals,
    freezing_refusals,
    is_told,
    partial_refusals,
    unknown_count,
)
from treadle.passes.rewrites.unroll.trips import Trips, trips_of
from treadle.passes.simplify import simplify
from treadle.passes.simplify.captures import closure_convert, replaced, to_implicit_captures
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.invariant_carries import carried_to_invariant
from treadle.passes.simplify.names import with_output_names, with_own_names
from treadle.passes.simplify.trip_count import infer_trip_counts
from treadle.passes.to_onnx_loops import to_onnx_loops

NAME = "unroll"
_EXTRAS = 4
"""The estimated number of steps of an iteration besides those of the body."""


@dataclass(frozen=True, slots=True)
class Unrolling:
    """The options of unrolling: see `treadle.unroll`."""

    loops: tuple[str, ...] = ("*",)
    most: int | None = None
    padded: bool = False
    truncate: bool = False
    max_nodes: int = 100_000
    by: int | None = None


@verified
def unroll(model: Model, how: Unrolling) -> tuple[Model, Report]:
    """Unroll the selected loops; returns the model and the report."""
    told = Obstacles(NAME)
    plain = prepared(model, told)
    told.refuse()
    paths = chosen(loop_paths(plain.main), how.loops, "loop")
    if not paths:
        return model, Report()
    counted = simplify(plain, (carried_to_invariant, infer_trip_counts))[0]
    current, done = counted, list[Change]()
    while True:
        poll()
        work = _Round(how, paths, PassContext.of(current))
        main = work.run(current.main)
        if not work.at.done:
            break
        done += work.at.done
        current = replace(current, main=main)
        if how.by is not None:
            work.told.refuse()
            return to_onnx_loops(finished(current, PassContext.of(current))), Report(tuple(done))
    _refuse_rest(current.main, paths, work.told)
    after = without_unread_constants(finished(current, work.at), plain)
    return after, Report(tuple(done))


def prepared(model: Model, told: Obstacles) -> Model:
    """The model with its loops in ONNX's forms in the main block, and paths on all steps."""
    inlined = expand_scan8(without_functions(model, told, lambda step: isinstance(step, Loop)))
    inlined = to_onnx_loops(inlined) if _is_foreign(inlined) else inlined
    return replace(inlined, main=mark(inlined.main))


def _is_foreign(model: Model) -> bool:
    steps = [visit.step for visit in walk_block(model.main)]
    return any(isinstance(step, Loop) and step.info.domain for step in steps)


def _refuse_rest(block: Block, paths: Collection[str], told: Obstacles) -> None:
    left = [path for path in loop_paths(block) if path in paths]
    known = {finding.path for finding in told.found}
    for path in left:
        if path not in known and not any(
            _is_around(path, each) or _is_around(each, path) for each in known
        ):
            told.add(path, "the loop is inside a step that is neither a loop nor a branch")
    told.refuse()


def _is_around(path: str, other: str) -> bool:
    return other.startswith(f"{path}.")


@dataclass(slots=True)
class _Round:
    """One walk over the open model; only obstacles of the last round are reported."""

    how: Unrolling
    paths: Collection[str]
    at: PassContext
    told: Obstacles = field(default_factory=lambda: Obstacles(NAME))
    by: Known = field(default_factory=dict)
    outputs: list[Value] = field(default_factory=list)
    grown: list[tuple[Loop, list[Value]]] = field(default_factory=list)
    nodes: int = 0

    def run(self, main: Block) -> Block:
        """The main block, closed, after this round."""
        before = to_implicit_captures(main)
        self.nodes = _size(before)
        after = self._block(before, {}, is_main=True)
        after = with_output_names(before, after, self.at)
        after = _with_outputs(after, self.outputs)
        if self.grown:
            self._expect_told_shapes(closure_convert(after))
        return closure_convert(with_own_names(after))

    def _block(self, block: Block, makers: dict[Value, Step], *, is_main: bool = False) -> Block:
        steps: list[Step] = []
        by: Known = {}
        constants = list(block.constants)
        known = {**makers, **defining_steps(block)} if not is_main else defining_steps(block)
        for step in block.steps:
            if isinstance(step, Loop | Branch):
                step = map_bodies(step, lambda _, body: self._block(body, known))
            line = self._line(step, known, is_main) if isinstance(step, Loop) else None
            if line is None:
                steps.append(step)
                continue
            steps += line.steps()
            constants += line.writer.constants
            by.update(line.replaced)
        self.by.update(by)
        return replaced(replace(block, steps=tuple(steps), constants=tuple(constants)), by)

    def _line(self, loop: Loop, makers: dict[Value, Step], is_main: bool) -> Line | None:
        """The straight-line code of a loop, or None if it stays."""
        path = marked_path(loop)
        if path not in self.paths:
            return None
        if self._waits(loop, path):
            return None
        told = Obstacles(NAME)
        trips = trips_of(loop, makers, self.at)
        common_refusals(loop, self.at, told)
        count = self._count(loop, trips, is_main, told)
        if self.how.by is not None and trips.exact != 0:
            told = Obstacles(NAME)
            common_refusals(loop, self.at, told)
            partial_refusals(loop, trips, self.at, told)
            count = self.how.by
        size = count * (_size(loop.body) + _EXTRAS) if not told.found else 0
        if self.nodes + size > self.how.max_nodes:
            what = f"{count} iterations make about {self.nodes + size:,} nodes of the model"
            help_ = f"raise max_nodes, which is {self.how.max_nodes:,}, or unroll fewer loops"
            told.add(path, what, help_)
        if told.found:
            self.told.found += [each for each in told.found if each not in self.told.found]
            return None
        self.nodes += size
        return self._written(loop, path, trips, count)

    def _waits(self, loop: Loop, path: str) -> bool:
        """Whether the loop must wait: its shapes change, and it is inside a loop to unroll."""
        is_inner = any(path.startswith(f"{outer}.") for outer in self.paths)
        return is_inner and bool(changing_shapes(loop, self.at))

    def _count(self, loop: Loop, trips: Trips, is_main: bool, told: Obstacles) -> int:
        """The number of iterations to write; obstacles are recorded."""
        how = self.how
        if self._is_exact(trips):
            count_refusals(loop, trips, self.at, told)
            return trips.exact or 0
        most = min((n for n in (trips.most, how.most) if n is not None), default=None)
        if most is None:
            unknown_count(loop, told)
            return 0
        freezing_refusals(loop, trips, self.at, told)
        path = marked_path(loop)
        if most == 0:
            told.add(path, "most leaves no iteration of a loop that may have some", "raise most")
        if trips.most is not None and most < trips.most and not how.truncate:
            what = f"it may run {trips.most:,} times, which is more than most={most}"
            told.add(path, what, "raise most, or pass truncate=True")
        if (how.padded or how.truncate) and not is_main:
            what = "its additional results cannot be outputs of the model: the loop is in a body"
            told.add(path, what, "unroll the loops around it too")
        return most

    def _is_exact(self, trips: Trips) -> bool:
        most = self.how.most
        return trips.exact is not None and (most is None or trips.exact <= most)

    def _written(self, loop: Loop, path: str, trips: Trips, count: int) -> Line:
        if self.how.by is not None and trips.exact != 0:
            self.at.note(NAME, path, f"{count} iterations each time")
            return partial_line(loop, count, trips.exact, self.at)
        if self._is_exact(trips):
            self.at.note(NAME, path, f"{count} iterations")
            line = counted_line(loop, count, self.at)
            if changing_shapes(loop, self.at):
                self.grown.append((loop, line.between))
            return line
        self.at.note(NAME, path, f"at most {count} iterations")
        is_bounded = trips.most is not None and trips.most <= count
        how = Frozen(count, self.how.padded, self.how.truncate, is_bounded)
        frozen = frozen_line(loop, trips, how, self.at)
        if self.how.padded:
            self._output(loop, frozen.line, "trips", frozen.trips, "int64")
        if frozen.unfinished is not None:
            self._output(loop, frozen.line, "unfinished", frozen.unfinished, "bool")
        return frozen.line

    def _output(self, loop: Loop, line: Line, what: str, value: Value, kind: str) -> None:
        """Add the value to the outputs as LOOP@what; a copied loop adds its iterations."""
        iteration = dict(loop.info.metadata).get(ITERATION)
        path = marked_path(loop) + (f"[{iteration}]" if iteration else "")
        output = Value(f"{path}@{what}", tensor(kind))
        line.leaf("Identity", value, result=output)
        self.outputs.append(output)

    def _expect_told_shapes(self, main: Block) -> None:
        """Refuse loops whose carried values change to an unknown shape."""
        assert self.at.model is not None, "a round begins with a model"
        facts = certain_facts(replace(self.at.model, main=main))
        after = replace(self.at, facts=facts)
        for loop, between in self.grown:
            for value in between:
                if value in facts and not is_told(after.shape(_last(value, self.by))):
                    what = (
                        f"the shape of {value.name} is not known, and as a carried value it changes"
                    )
                    self.told.add(marked_path(loop), what, "specialize the extents it depends on")
        self.told.refuse()


def _last(value: Value, by: Known) -> Value:
    found: Value | None = value
    while found in by:
        found = by[found]
    assert found is not None, "a loop's result is not left out"
    return found


def _with_outputs(block: Block, outputs: Sequence[Value]) -> Block:
    """The block with additional results."""
    claims = (*block.claims, *(Declaration(value.declared) for value in outputs))
    results = (*block.results, *outputs)
    return replace(block, results=results, claims=claims if block.claims else ())


def _size(block: Block) -> int:
    """The number of steps of the block and its bodies."""
    return sum(1 + sum(_size(body) for _, body in bodies(step)) for step in block.steps)
