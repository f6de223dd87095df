"""Replaces a cache that grows by Concat in a Loop by a buffer of a fixed size.

    loop(c): d = Concat(c, new)            loop(b, n): m = n + 1; d = ScatterElements(b, n, new)
             Softmax(q d') d         ->                Softmax(Where(position < m, q d', -inf)) d
    last c                                 Slice(last b, 0, last n)

`capacity` is the size along the axis that grew. A run that needs more fails with an index out of
range; runtimes that do not check indices report it by the output `PATH@overflow`.

Declines if an operator other than attention over the valid items reads the cache (`readers.py`),
and for loops inside bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treadle.ir import (
    Block,
    Branch,
    CarriedPort,
    Declaration,
    Leaf,
    Loop,
    Model,
    Step,
    Value,
    map_bodies,
    ports,
    reads,
    tensor,
    verified,
    walk_block,
)
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Change, Report
from treadle.passes.rewrites.finished import without_functions
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.named.static_cache.caches import Cache, caches_of, grows
from treadle.passes.rewrites.named.static_cache.readers import (
    Grown,
    Length,
    Reading,
    Unmasked,
    read,
)
from treadle.passes.rewrites.open_form import closed
from treadle.passes.rewrites.paths import chosen, mark, marked_path
from treadle.passes.rewrites.writer import Writer
from treadle.passes.simplify.captures import closure_convert, free_reads, to_implicit_captures
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.loop_rebuild import rebuild_loop
from treadle.passes.simplify.names import with_own_names

NAME = "static-cache"
_OLDEST = 11


@verified
def static_cache(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Replace the caches of loops by buffers of `options.capacity` items."""
    told = Obstacles(NAME)
    plain = without_functions(model, told, grows)
    told.refuse()
    marked = replace(plain, main=mark(plain.main))
    found = [marked_path(v.step) for v in walk_block(marked.main) if grows(v.step)]
    paths = chosen(found, options.paths, "loop with a cache")
    assert options.capacity is not None, "looked at where the arguments come in"
    work = _Work(PassContext.of(marked).trusting(), options.capacity, paths, told)
    block = to_implicit_captures(marked.main)
    for step in block.steps:
        work.step(step)
    told.refuse()
    if not work.done:
        return model, Report()
    claims = (*block.claims, *[Declaration(tensor("bool"))] * len(work.flags))
    after = replace(
        block,
        constants=(*block.constants, *work.outside.constants),
        steps=tuple(work.outside.steps),
        results=(*block.results, *work.flags),
        claims=claims if block.claims else (),
    )
    return closed(marked, closure_convert(with_own_names(after)), work.done)


@dataclass(slots=True)
class _Work:
    """The main block during the rewrite: its steps so far, and new outputs."""

    at: PassContext
    capacity: int
    paths: set[str]
    told: Obstacles
    outside: Writer = field(init=False)
    flags: list[Value] = field(default_factory=list)
    done: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outside = Writer(self.at)

    def step(self, step: Step) -> None:
        """Write one step of the main block."""
        self._look_inside(step)
        if not isinstance(step, Loop) or marked_path(step) not in self.paths:
            self.outside.steps.append(step)
            return
        path, known = marked_path(step), len(self.told.found)
        if self.at.opset < _OLDEST:
            self.told.add(path, "the opset has no ScatterElements", "convert it to opset 11")
        caches = [self._expected(cache, path) for cache in caches_of(step, self.at)]
        fitting = [cache for cache in caches if cache is not None and self._fits(step, cache, path)]
        if len(self.told.found) > known:
            return
        names = ", ".join(cache.port.param.name for cache in fitting)
        self.done.append(Change(NAME, path, f"{names}: {self.capacity} items"))
        _Buffers(step, fitting, self, path).write()

    def _look_inside(self, step: Step) -> None:
        def look(block: Block) -> Block:
            for inner in block.steps:
                if marked_path(inner) in self.paths and grows(inner):
                    what = "it is in a body: each of its runs would have an overflow of its own"
                    self.told.add(marked_path(inner), what, "extract the body first")
                map_bodies(inner, lambda _, body: look(body))
            return block

        if isinstance(step, Loop | Branch):
            map_bodies(step, lambda _, body: look(body))

    def _expected(self, cache: Cache | str, path: str) -> Cache | None:
        if isinstance(cache, str):
            self.told.add(path, cache, "declare the shapes, or specialize them")
            return None
        return cache

    def _fits(self, loop: Loop, cache: Cache, path: str) -> bool:
        trips = self.at.whole(loop.trip) or 0
        runs_all = ports(loop).next_condition is None
        first = cache.length if isinstance(cache.length, int) else 0
        wanted = first + (cache.items * max(trips, 0) if runs_all else 0)
        if wanted > self.capacity:
            what = f"{cache.port.param.name} grows to {wanted} items"
            self.told.add(path, what, f"give a capacity of {wanted} or more")
        return wanted <= self.capacity


@dataclass(slots=True)
class _Counter:
    """The number of valid items of caches with equal growth."""

    param: Value
    first: Value
    after: Value
    last: Value
    lengths: tuple[Length, Length]
    """Before the Concat of an iteration, and after it."""


@dataclass(slots=True)
class _Buffers:
    """One loop during the rewrite of its caches."""

    loop: Loop
    caches: Sequence[Cache]
    work: _Work
    path: str
    inside: Writer = field(init=False)
    counters: dict[object, _Counter] = field(default_factory=dict)
    grown: dict[Value, Grown] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inside = Writer(self.work.at)

    def write(self) -> None:
        """Write the loop, the steps before it, and the readers of its caches."""
        outside = self.work.outside
        positions = outside.constant(np.arange(self.work.capacity), "positions")
        own = {cache.port.param: self._counter(cache, positions) for cache in self.caches}
        starts = {c.port.param: self._start(c, own[c.port.param].first) for c in self.caches}
        by_concat = {id(cache.concat): cache for cache in self.caches}
        for cache in self.caches:
            before = own[cache.port.param].lengths[0]
            self.grown[cache.port.param] = Grown(cache.axis, before, zero=True)
        for step in self.loop.body.steps:
            cache_ = by_concat.get(id(step))
            if cache_ is not None and isinstance(step, Leaf):
                self._put(cache_, own[cache_.port.param])
            else:
                self._step(step)
        self._expect_nothing_else()
        self._rebuild(starts, own)

    def _counter(self, cache: Cache, positions: Value) -> _Counter:
        """The counter of a cache; caches with equal start and growth share one."""
        known = cache.length if cache.length is not None else cache.port.param
        key = (cache.items, known)
        if key not in self.counters:
            param = Value("valid_items", tensor("int64", 1))
            after = self.inside.leaf("Add", param, self.inside.ints(cache.items))
            valid = self.inside.leaf("Less", positions, after)
            first = self._length(cache)
            lengths = Length(param), Length(after, valid)
            counter = _Counter(param, first, after, Value("valid_items_last"), lengths)
            self.counters[key] = counter
        return self.counters[key]

    def _length(self, cache: Cache) -> Value:
        """The number of items before the loop, [1]."""
        outside, initial = self.work.outside, cache.port.initial
        assert initial is not None, "caches_of wants one"
        if isinstance(cache.length, int):
            return outside.ints(cache.length)
        return outside.slice(outside.leaf("Shape", initial), cache.axis, cache.axis + 1, 0)

    def _start(self, cache: Cache, length: Value) -> Value:
        """The initial buffer: the cache's items, and zeros.

        A cache of another length than the counter's becomes a buffer of another size.
        """
        outside, initial = self.work.outside, cache.port.initial
        dtype = self.work.at.dtype(initial)
        assert initial is not None
        assert dtype is not None
        shape = outside.leaf("Shape", initial)
        room = outside.leaf("Sub", outside.ints(self.work.capacity), length)
        marks = outside.constant(np.arange(cache.rank) == cache.axis, "of_cache")
        zeros = outside.full(outside.leaf("Where", marks, room, shape), 0, dtype)
        return outside.leaf("Concat", initial, zeros, axis=cache.axis)

    def _put(self, cache: Cache, counter: _Counter) -> None:
        """Write the new items behind the valid ones."""
        inside, (result,) = self.inside, cache.concat.results
        number = counter.param
        if cache.items > 1:
            number = inside.leaf("Add", number, inside.constant(np.arange(cache.items), "items"))
        shape = [1] * cache.rank
        shape[cache.axis] = cache.items
        number = inside.leaf("Reshape", number, inside.ints(*shape))
        places = inside.leaf("Expand", number, inside.leaf("Shape", cache.new))
        buffer = cache.port.param
        inside.leaf("ScatterElements", buffer, places, cache.new, result=result, axis=cache.axis)
        assert result is not None, "it is carried"
        self.grown[result] = Grown(cache.axis, counter.lengths[1], zero=True)

    def _step(self, step: Step) -> None:
        used = {value for value in reads(step) if value in self.grown}
        if isinstance(step, Loop | Branch):
            used |= free_reads(step) & self.grown.keys()
        if not used:
            self.inside.steps.append(step)
            return
        try:
            self.grown.update(_read(step, self.grown, self.work.at, self.inside))
        except Unmasked as why:
            self.work.told.add(
                marked_path(step), str(why), "mask it before a Softmax, or read the valid items"
            )

    def _expect_nothing_else(self) -> None:
        """Require that no grown values except the caches leave the body."""
        view = ports(self.loop)
        own = {cache.port.next for cache in self.caches}
        left = [port.next for port in view.carried if port.next not in own]
        left += [port.element for port in view.stacked]
        for value in left:
            if value in self.grown:
                what = f"it returns {value.name}, which has as many items as the cache"
                self.work.told.add(self.path, what, "stack a value that does not grow")

    def _rebuild(self, starts: Mapping[Value, Value], own: Mapping[Value, _Counter]) -> None:
        view, outside = ports(self.loop), self.work.outside
        body = replace(
            self.loop.body,
            steps=tuple(self.inside.steps),
            constants=(*self.loop.body.constants, *self.inside.constants),
        )
        carried: list[CarriedPort] = []
        behind: list[tuple[CarriedPort, Value]] = []
        for port in view.carried:
            if port.param not in starts:
                carried.append(port)
                continue
            last = Value(f"{port.param.name}_buffer")
            carried.append(port._replace(initial=starts[port.param], result=last))
            behind.append((port, last))
        counters = self.counters.values()
        carried += [CarriedPort(each.first, each.param, each.after, each.last) for each in counters]
        outside.steps.append(
            rebuild_loop(replace(self.loop, body=body), view._replace(carried=tuple(carried)))
        )
        axes = {cache.port.param: cache.axis for cache in self.caches}
        for port, last in behind:
            if port.result is not None:
                count, axis = own[port.param].last, axes[port.param]
                bounds = (outside.ints(0), count, outside.ints(axis))
                outside.leaf("Slice", last, *bounds, result=port.result)
        self._flag()

    def _flag(self) -> None:
        outside, flag = self.work.outside, Value(f"{self.path}@overflow")
        limit = outside.ints(self.work.capacity)
        over = [outside.leaf("Greater", each.last, limit) for each in self.counters.values()]
        while len(over) > 1:
            over = [outside.leaf("Or", over[0], over[1]), *over[2:]]
        none = outside.constant(np.zeros(0, np.int64), "no_axes")
        outside.leaf("Reshape", over[0], none, result=flag)
        self.work.flags.append(flag)


def _read(
    step: Step, grown: Mapping[Value, Grown], at: PassContext, to: Writer
) -> Mapping[Value, Grown]:
    if not isinstance(step, Leaf) or step.blocks:
        raise Unmasked("its body reads the cache")
    return read(Reading(step, grown, at, to))
