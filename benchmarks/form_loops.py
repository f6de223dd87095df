"""Forms of a loop: its states, slices and condition, and a Scan written as a Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.form_edits import (
    Draft,
    extents,
    node,
    number,
    set_nodes,
    value,
)  # fmt: skip
from benchmarks.form_rules import FORMS, form

__all__ = ["FORMS"]


@form("Scan as Loop with Gather")
def scan_as_loop(draft: Draft) -> bool:
    """A top-level forward Scan along first axes as a Loop that gathers its rows."""
    changed = False
    graph = draft.model.graph
    for where, scan, body in draft.loops("Scan"):
        plain = len(scan.attribute) == 2
        if where is not graph or not plain:
            continue
        _as_loop(draft, scan, body)
        changed = True
    return changed


def _as_loop(draft: Draft, scan: onnx.NodeProto, body: onnx.GraphProto) -> None:
    slices = number(scan, "num_scan_inputs", 0)
    states = len(scan.input) - slices
    sources, items = scan.input[states:], body.input[states:]
    i, going, still = (draft.fresh(n) for n in ("i", "going", "still"))
    gathers = [
        node("Gather", [source, i], [item.name], axis=0)
        for source, item in zip(sources, items, strict=True)
    ]
    set_nodes(body, [*gathers, *body.node, node("Identity", [going], [still])])
    carried = [value(i, TensorProto.INT64, []), value(going, TensorProto.BOOL, [])]
    carried += list(body.input[:states])
    del body.input[:]
    body.input.extend(carried)
    body.output.insert(0, value(still, TensorProto.BOOL, []))
    graph = draft.model.graph
    zero = draft.constant([0])
    one = draft.constant([1])
    shape, length, trips = (draft.fresh(n) for n in ("shape", "length", "trips"))
    before = [
        zero, one, node("Shape", [sources[0]], [shape]),
        node("Slice", [shape, zero.output[0], one.output[0]], [length]),
        node("Squeeze", [length, zero.output[0]], [trips]),
    ]  # fmt: skip
    loop = node("Loop", [trips, "", *scan.input[:states]], scan.output, body=body)
    place = next(k for k, each in enumerate(graph.node) if each is scan or each == scan)
    set_nodes(graph, [*graph.node[:place], *before, loop, *graph.node[place + 1 :]])


@form("condition in place of a trip count")
def by_condition(draft: Draft) -> bool:
    """A Loop of a fed trip count as a Loop whose condition says when that is reached."""
    changed = False
    for graph, loop, body in draft.loops("Loop"):
        if graph is not draft.model.graph or not loop.input[0] or loop.input[1]:
            continue
        one = draft.constant(1)
        after, less, start = (draft.fresh(n) for n in ("after", "less", "start"))
        written = [
            *body.node, one, node("Add", [body.input[0].name, one.output[0]], [after]),
            node("Less", [after, loop.input[0]], [less]),
        ]  # fmt: skip
        old = body.output[0].name
        if not any(
            each.op_type == "Identity" and each.output[0] == old and
            each.input[0] == body.input[1].name for each in body.node
        ):  # fmt: skip
            both = draft.fresh("both")
            written.append(node("And", [less, old], [both]))
            less = both
        set_nodes(body, written)
        body.output[0].name = less
        zero = draft.constant(0)
        loop.input[1] = start
        before = [zero, node("Less", [zero.output[0], loop.input[0]], [start])]
        loop.input[0] = ""
        set_nodes(graph, [*before, *graph.node])
        changed = True
    return changed


@form("batch first")
def batch_first(draft: Draft) -> bool:
    """A Scan slices and stacks its tensors of rank 3 along axis 1."""
    changed = False
    types = draft.types()
    graph = draft.model.graph
    inputs = {info.name: info for info in graph.input}
    for where, scan, _body in draft.loops("Scan"):
        slices = number(scan, "num_scan_inputs", 0)
        states = len(scan.input) - slices
        sources = list(scan.input[states:])
        if where is not graph or len(scan.attribute) != 2:
            continue
        turned_in = [int(s in inputs and len(extents(types[s]) or ()) in (2, 3)) for s in sources]
        results = list(scan.output[states:])
        turned_out = [int(len(extents(types[r]) or ()) in (2, 3)) for r in results]
        if not any(turned_in + turned_out):
            continue
        for k, name in enumerate(sources):
            if turned_in[k]:
                scan.input[states + k] = draft.add_input(name, np.swapaxes(draft.feed[name], 0, 1))
        after = []
        for k, name in enumerate(results):
            if turned_out[k] and name:
                made = draft.fresh(name)
                scan.output[states + k] = made
                perm = [1, 0, 2][: len(extents(types[name]))]
                after.append(node("Transpose", [made], [name], perm=perm))
        scan.attribute.append(helper.make_attribute("scan_input_axes", turned_in))
        if turned_out:
            scan.attribute.append(helper.make_attribute("scan_output_axes", turned_out))
        place = next(k for k, each in enumerate(graph.node) if each == scan)
        set_nodes(graph, [*graph.node[: place + 1], *after, *graph.node[place + 1 :]])
        changed = True
    return changed


@form("states with one axis more")
def states_wider(draft: Draft) -> bool:
    """Each state has an axis of extent 1 in front."""
    return _states(draft, lambda shape: len(shape) > 0, "Squeeze", "Unsqueeze", lambda s: [1, *s])


@form("states with one axis less")
def states_narrower(draft: Draft) -> bool:
    """States of shape [1, n] are [n]."""
    return _states(
        draft, lambda shape: len(shape) > 1 and shape[0] == 1, "Unsqueeze", "Squeeze",
        lambda s: s[1:],
    )  # fmt: skip


def _states(
    draft: Draft, fits: Callable[[list], bool], enter: str, leave: str,
    reshape: Callable[[list], list],
) -> bool:  # fmt: skip
    """Give states another shape: `enter` makes the old of the new in the body, `leave` the new."""
    types = draft.types()
    changed = False
    for op, skip, skipped in (("Scan", 0, 0), ("Loop", 2, 1)):
        for graph, loop, body in draft.loops(op):
            states = len(body.output) - skipped
            states = min(states, len(loop.input) - skip - number(loop, "num_scan_inputs", 0))
            before, after = [], []
            for k in range(states):
                info = body.input[skip + k]
                shape = extents(types.get(info.name, onnx.TypeProto()))
                if shape is None or not fits(shape):
                    continue
                changed = True
                axis, first, inner, last, out = _names(draft)
                before += [axis, node(leave, [loop.input[skip + k], axis.output[0]], [first])]
                loop.input[skip + k] = first
                element = types[info.name].tensor_type.elem_type
                old = info.name
                info.CopyFrom(value(inner, element, reshape(shape)))
                inside = draft.constant([0])
                final = body.output[skipped + k].name
                set_nodes(
                    body,
                    [
                        inside, node(enter, [inner, inside.output[0]], [old]), *body.node,
                        node(leave, [final, inside.output[0]], [out]),
                    ],
                )  # fmt: skip
                body.output[skipped + k].CopyFrom(value(out, element, reshape(shape)))
                result = loop.output[k]
                if result:
                    loop.output[k] = last
                    after.append(node(enter, [last, axis.output[0]], [result]))
            if before:
                place = next(k for k, each in enumerate(graph.node) if each == loop)
                nodes = [*graph.node[:place], *before, loop, *after, *graph.node[place + 1 :]]
                set_nodes(graph, nodes)
    return changed


def _names(draft: Draft) -> tuple[onnx.NodeProto, str, str, str, str]:
    names = [draft.fresh(n) for n in ("first", "inner", "last", "out")]
    return draft.constant([0]), names[0], names[1], names[2], names[3]


@form("two states stacked")
def states_stacked(draft: Draft) -> bool:
    """States of one type and shape in one tensor, along a new first axis."""
    return _joined(draft, stacked=True)


@form("two states side by side")
def states_side_by_side(draft: Draft) -> bool:
    """States of one type and shape in one tensor, along their last axis."""
    return _joined(draft, stacked=False)


def _joined(draft: Draft, *, stacked: bool) -> bool:
    types = draft.types()
    changed = False
    for op, skip, skipped in (("Scan", 0, 0), ("Loop", 2, 1)):
        for graph, loop, body in draft.loops(op):
            states = len(loop.input) - skip - number(loop, "num_scan_inputs", 0)
            infos = body.input[skip : skip + states]
            shapes = [extents(types[info.name]) for info in infos]
            alike = len({(str(s), types[i.name].tensor_type.elem_type)
                         for s, i in zip(shapes, infos, strict=True)}) == 1  # fmt: skip
            rank = len(shapes[0] or ()) if shapes else 0
            if states < 2 or not alike or (rank == 0 and not stacked) or graph not in (
                draft.model.graph,
            ):  # fmt: skip
                continue
            _join(draft, graph, loop, body, states, skip, skipped, shapes[0], stacked)
            changed = True
    return changed


def _join(
    draft: Draft, graph: onnx.GraphProto, loop: onnx.NodeProto, body: onnx.GraphProto,
    states: int, skip: int, skipped: int, shape: list, stacked: bool,
) -> None:  # fmt: skip
    """Carry the first `states` states of a loop as one tensor."""
    element = body.input[skip].type.tensor_type.elem_type
    inner, out, first, last = (draft.fresh(n) for n in ("inner", "out", "first", "last"))
    wide = [states, *shape] if stacked else [*shape[:-1], states * shape[-1]]
    names = [info.name for info in body.input[skip : skip + states]]
    results = [info.name for info in body.output[skipped : skipped + states]]
    outer = list(loop.output[:states])
    apart, together = (_unstack, _stack) if stacked else (_split, _concat)
    set_nodes(
        body, [*apart(draft, inner, names), *body.node, *together(draft, results, out)]
    )  # fmt: skip
    starts = list(loop.input[skip : skip + states])
    _exchange(body.input, skip, states, value(inner, element, wide))
    _exchange(body.output, skipped, states, value(out, element, wide))
    _exchange(loop.input, skip, states, first)
    _exchange(loop.output, 0, states, last)
    place = next(k for k, each in enumerate(graph.node) if each == loop)
    outer = [name or draft.fresh("unread") for name in outer]
    set_nodes(
        graph,
        [
            *graph.node[:place], *together(draft, starts, first), loop,
            *apart(draft, last, outer), *graph.node[place + 1 :],
        ],
    )  # fmt: skip


def _exchange(fields: object, start: int, count: int, new: object) -> None:
    kept = [*fields[:start], new, *fields[start + count :]]
    del fields[:]
    fields.extend(kept)


def _unstack(draft: Draft, whole: str, names: Sequence[str]) -> list[onnx.NodeProto]:
    made = []
    for place, name in enumerate(names):
        at = draft.constant(place)
        made += [at, node("Gather", [whole, at.output[0]], [name], axis=0)]
    return made


def _stack(draft: Draft, names: Sequence[str], whole: str) -> list[onnx.NodeProto]:
    axis = draft.constant([0])
    wide = [draft.fresh("wide") for _ in names]
    made = [axis]
    made += [node("Unsqueeze", [n, axis.output[0]], [w]) for n, w in zip(names, wide, strict=True)]
    return [*made, node("Concat", wide, [whole], axis=0)]


def _split(draft: Draft, whole: str, names: Sequence[str]) -> list[onnx.NodeProto]:
    return [node("Split", [whole], names, axis=-1, num_outputs=len(names))]


def _concat(draft: Draft, names: Sequence[str], whole: str) -> list[onnx.NodeProto]:
    return [node("Concat", names, [whole], axis=-1)]
