"""Forms of what a loop counts, collects and takes: counters, tensors and lists, rows by Slice.

A Scan is made a Loop first (`form_loops.scan_as_loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.form_edits import (
    Draft,
    Nodes,
    extents,
    node,
    put_around,
    rename_reads,
    replace,
    set_nodes,
    value,
)  # fmt: skip
from benchmarks.form_operators import FORMS, form
from benchmarks.form_rules import Form

__all__ = ["FORMS"]

_MOST = 2**63 - 1

Counted = tuple[onnx.NodeProto, onnx.GraphProto]


def _first_as_loop(draft: Draft) -> None:
    FORMS["Scan as Loop with Gather"](draft)


def counted_loops(draft: Draft) -> Iterator[Counted]:
    """Loops of the main graph with a trip count and no other condition."""
    for graph, loop, body in draft.loops("Loop"):
        goes_on = {each.output[0]: each for each in body.node}.get(body.output[0].name)
        plain = goes_on is not None and list(goes_on.input) == [body.input[1].name]
        if graph is draft.model.graph and loop.input[0] and plain:
            yield loop, body


def composed(name: str, *parts: Form) -> None:
    """The form that consists of several, one after the other; the last must fit."""

    @form(name)
    def apply(draft: Draft) -> bool:
        return [part(draft) for part in parts][-1]


def _counting(*, single: bool = True, down: bool = False, decides: bool = False) -> Form:
    """A counter is carried and read in place of the iteration number."""

    def apply(draft: Draft) -> bool:
        _first_as_loop(draft)
        changed = False
        for loop, body in counted_loops(draft):
            _count(draft, loop, body, single, down, decides)
            changed = True
        return changed

    return apply


def _count(
    draft: Draft, loop: onnx.NodeProto, body: onnx.GraphProto, single: bool, down: bool,
    decides: bool,
) -> None:  # fmt: skip
    k, after, place, last, start, less = (
        draft.fresh(n) for n in ("k", "after", "place", "last", "start", "less")
    )
    rename_reads(body, {body.input[0].name: place})
    one, axis, trips = draft.constant(1 if single else [1]), draft.constant([0]), loop.input[0]
    number = k if single else draft.fresh("number")
    before = [one, axis] if single else [one, axis, node("Squeeze", [k, axis.output[0]], [number])]
    if down:
        before += [node("Sub", [trips, number], [place])]
    else:
        before += [node("Identity", [number], [place])]
    nodes = [*before, *body.node, node("Sub" if down else "Add", [k, one.output[0]], [after])]
    if decides:
        end = draft.constant(0) if down else None
        left, right = (end.output[0], after) if end else (after, trips)
        whole = draft.fresh("whole")
        nodes += [end] if end else []
        nodes += [node("Less", [left, right], [less if single else whole])]
        nodes += [] if single else [node("Squeeze", [whole, axis.output[0]], [less])]
    set_nodes(body, nodes)
    shape = [] if single else [1]
    body.input.insert(2, value(k, TensorProto.INT64, shape))
    body.output.insert(1, value(after, TensorProto.INT64, shape))
    zero, outer = draft.constant(0), draft.constant([0])
    begin = trips if down else zero.output[0]
    made = [zero, outer]
    if not single:
        made.append(node("Unsqueeze", [begin, outer.output[0]], [start]))
        begin = start
    loop.input.insert(2, begin)
    loop.output.insert(0, last)
    if decides:
        body.output[0].name = less
        goes, most = draft.fresh("goes"), draft.constant(_MOST)
        made += [most, node("Less", [zero.output[0], trips], [goes])]
        loop.input[0], loop.input[1] = most.output[0], goes
    put_around(draft.model.graph, loop, made, [])


form("a counter carried")(_counting())
form("a counter of rank 1 carried")(_counting(single=False))
form("a counter carried that goes down")(_counting(down=True))
form("while a carried counter is less")(_counting(decides=True))
form("while a counter of rank 1 is less")(_counting(decides=True, single=False))
form("while a counter is above zero")(_counting(decides=True, down=True))
composed("rows by Slice", FORMS["Scan as Loop with Gather"], FORMS["Gather as Slice"])
composed("rows by GatherND", FORMS["Scan as Loop with Gather"], FORMS["Gather as GatherND"])
composed(
    "rows by Slice at a carried counter",
    FORMS["a counter of rank 1 carried"], FORMS["Gather as Slice"],
)  # fmt: skip


@form("rows out of a list")
def rows_of_a_list(draft: Draft) -> bool:
    """Scan inputs as sequences, of which each iteration takes one tensor."""
    known = set(draft.feed)
    _first_as_loop(draft)
    numbers = {body.input[0].name for _, body in counted_loops(draft)}
    made: dict[str, str] = {}

    def rule(each: onnx.NodeProto) -> Nodes | None:
        if each.op_type != "Gather" or each.input[0] not in known or each.input[1] not in numbers:
            return None
        name = made.setdefault(each.input[0], draft.fresh("list"))
        return [node("SequenceAt", [name, each.input[1]], each.output)]

    changed = replace(draft, rule)
    lists = [
        node("SplitToSequence", [source], [name], keepdims=0, axis=0)
        for source, name in made.items()
    ]
    set_nodes(draft.model.graph, [*lists, *draft.model.graph.node])
    return changed


Collect = Callable[[Draft, str, str, Sequence[int], str], tuple[Nodes, str, Nodes, Nodes]]
"""Nodes before the loop and the initial value's name, nodes of the body, nodes after the loop."""


def _collecting(collect: Collect, *, is_list: bool = False) -> Form:
    """Stacked outputs are collected in carried values."""

    def apply(draft: Draft) -> bool:
        _first_as_loop(draft)
        found = list(_stacked(draft))
        for at, k, shape in found:
            loop, body = list(counted_loops(draft))[at]
            _collect(draft, loop, body, k, shape, collect, is_list)
        return bool(found)

    return apply


def _stacked(draft: Draft) -> Iterator[tuple[int, int, list[int]]]:
    """Number of a loop, of its stacked output, and the shape of the output's elements."""
    types = draft.types()
    for at, (loop, body) in enumerate(counted_loops(draft)):
        for k in range(len(loop.input) - 2, len(body.output) - 1):
            shape = extents(types.get(body.output[k + 1].name, onnx.TypeProto()))
            if loop.output[k] and shape is not None and all(isinstance(e, int) for e in shape):
                yield at, k, shape


def _collect(
    draft: Draft, loop: onnx.NodeProto, body: onnx.GraphProto, k: int, shape: Sequence[int],
    collect: Collect, is_list: bool,
) -> None:  # fmt: skip
    """Carry stacked output k; a state is put before the stacked outputs."""
    states = len(loop.input) - 2
    info, result = body.output[k + 1], loop.output[k]
    element = info.type.tensor_type.elem_type
    before, start, inside, after = collect(
        draft, info.name, loop.input[0], shape, body.input[0].name
    )
    names = [draft.fresh("filled"), draft.fresh("longer"), draft.fresh("whole")]
    rename = {"OLD": names[0], "NEW": names[1], "LAST": names[2], "RESULT": result}
    kind = value("", element, [None, *shape]).type
    if is_list:
        kind = helper.make_sequence_type_proto(value("", element, shape).type)
    for each in [*before, *inside, *after]:
        each.input[:] = [rename.get(n, n) for n in each.input]
        each.output[:] = [rename.get(n, n) for n in each.output]
        for given in each.attribute:
            if each.op_type == "SequenceEmpty":
                given.i = element
            elif given.name == "value" and each.op_type == "ConstantOfShape":
                zero = np.zeros(1, helper.tensor_dtype_to_np_dtype(element))
                given.t.CopyFrom(numpy_helper.from_array(zero))
    set_nodes(body, [*body.node, *inside])
    del body.output[k + 1]
    del loop.output[k]
    body.input.append(onnx.ValueInfoProto(name=names[0], type=kind))
    body.output.insert(states + 1, onnx.ValueInfoProto(name=names[1], type=kind))
    loop.input.append(start)
    loop.output.insert(states, names[2])
    put_around(draft.model.graph, loop, before, after)


def _scatter(op: str) -> Collect:
    def collect(
        draft: Draft, name: str, trips: str, shape: Sequence[int], i: str
    ) -> tuple[Nodes, str, Nodes, Nodes]:
        axis, inner, rest = draft.constant([0]), draft.constant([0]), draft.constant(list(shape))
        one, both = draft.constant([1]), draft.constant([0, 1])
        start, count, whole, place, row, wide = (
            draft.fresh(n) for n in ("start", "count", "whole", "place", "row", "wide")
        )
        zero = helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0])
        before = [
            axis, rest, node("Unsqueeze", [trips, axis.output[0]], [count]),
            node("Concat", [count, rest.output[0]], [whole], axis=0),
            node("ConstantOfShape", [whole], [start], value=zero),
        ]  # fmt: skip
        put = [inner, one, both, node("Unsqueeze", [name, inner.output[0]], [row])]
        if op == "ScatterND":
            put += [
                node("Unsqueeze", [i, both.output[0]], [place]),
                node("ScatterND", ["OLD", place, row], ["NEW"]),
            ]
        else:
            of, flat = draft.fresh("of"), draft.fresh("flat")
            ones = draft.constant([1] * (len(shape) + 1))
            put += [
                ones, node("Shape", [row], [of]), node("Reshape", [i, ones.output[0]], [flat]),
                node("Expand", [flat, of], [wide]),
                node("ScatterElements", ["OLD", wide, row], ["NEW"], axis=0),
            ]  # fmt: skip
        return before, start, put, [node("Identity", ["LAST"], ["RESULT"])]

    return collect


def _grown(
    draft: Draft, name: str, trips: str, shape: Sequence[int], i: str
) -> tuple[Nodes, str, Nodes, Nodes]:
    whole, axis = draft.constant([0, *shape]), draft.constant([0])
    start, row = draft.fresh("start"), draft.fresh("row")
    zero = helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0])
    before = [whole, node("ConstantOfShape", [whole.output[0]], [start], value=zero)]
    put = [
        axis, node("Unsqueeze", [name, axis.output[0]], [row]),
        node("Concat", ["OLD", row], ["NEW"], axis=0),
    ]  # fmt: skip
    return before, start, put, [node("Identity", ["LAST"], ["RESULT"])]


def _listed(
    draft: Draft, name: str, trips: str, shape: Sequence[int], i: str
) -> tuple[Nodes, str, Nodes, Nodes]:
    start = draft.fresh("start")
    before = [node("SequenceEmpty", [], [start], dtype=TensorProto.FLOAT)]
    after = [node("ConcatFromSequence", ["LAST"], ["RESULT"], axis=0, new_axis=1)]
    return before, start, [node("SequenceInsert", ["OLD", name], ["NEW"])], after


form("outputs put by ScatterND")(_collecting(_scatter("ScatterND")))
form("outputs put by ScatterElements")(_collecting(_scatter("ScatterElements")))
form("outputs appended by Concat")(_collecting(_grown))
form("outputs put into a list")(_collecting(_listed, is_list=True))
