"""Forms of what is carried and sliced in another shape or type.

States transposed, in halves and in double; two inputs sliced as one; items as rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto

from benchmarks.form_edits import (
    Draft,
    Nodes,
    attribute,
    extents,
    node,
    put_around,
    set_nodes,
    value,
)  # fmt: skip
from benchmarks.form_rules import Form
from benchmarks.form_structure import all_loops, is_tensor, scans
from benchmarks.form_values import FORMS, form

__all__ = ["FORMS"]

_FLOAT, _DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
_LARGE = 2**16
"""The elements of a table from which it is not brought into another form."""


class Parts(NamedTuple):
    """A state in another form: nodes, and the names, element types and shapes of its parts."""

    nodes: Nodes
    names: Sequence[str]
    kinds: Sequence[tuple[int, Sequence[int | str]]]


Apart = Callable[[Draft, str, onnx.TypeProto], Parts | None]
Whole = Callable[[Draft, Sequence[str], str], Nodes]


def _states(draft: Draft, apart: Apart, whole: Whole) -> bool:
    """Carry each state that `apart` has parts of as these, and `whole` makes it of them."""
    changed = False
    for loop, body, states, skip, skipped in all_loops(draft):
        for k in reversed(range(states)):
            info = body.input[skip + k]
            is_whole = not is_tensor(info) or _is_table(body, skipped + k, info.type)
            first = None if is_whole else apart(draft, loop.input[skip + k], info.type)
            after = apart(draft, body.output[skipped + k].name, info.type) if first else None
            if first is None or after is None:
                continue
            inner = [draft.fresh(info.name) for _ in first.names]
            last = [draft.fresh("last") for _ in first.names]
            result = loop.output[k]
            set_nodes(body, [*whole(draft, inner, info.name), *body.node, *after.nodes])
            _exchange(
                body.input,
                skip + k,
                [value(n, *t) for n, t in zip(inner, first.kinds, strict=True)],
            )
            _exchange(
                body.output,
                skipped + k,
                [value(n, *t) for n, t in zip(after.names, first.kinds, strict=True)],
            )
            changed = True
            place = next(i for i, each in enumerate(draft.model.graph.node) if each == loop)
            _exchange(loop.input, skip + k, list(first.names))
            _exchange(loop.output, k, last)
            made = whole(draft, last, result) if result else []
            nodes = [*draft.model.graph.node[:place], *first.nodes, loop, *made]
            set_nodes(draft.model.graph, [*nodes, *draft.model.graph.node[place + 1 :]])
            loop = draft.model.graph.node[place + len(first.nodes)]
            given = attribute(loop, "body")
            assert given is not None
            body = given.g
    return changed


def _is_table(body: onnx.GraphProto, output: int, kind: onnx.TypeProto) -> bool:
    """Whether iterations change some rows of a large state.

    To convert the first and the last of these is more work than the loop's.
    """
    made = {name: each.op_type for each in body.node for name in each.output}
    is_scattered = made.get(body.output[output].name) in ("ScatterND", "ScatterElements")
    return is_scattered and prod(known_shape(kind) or ()) > _LARGE


def _exchange(fields: object, place: int, new: Sequence[object]) -> None:
    kept = [*fields[:place], *new, *fields[place + 1 :]]
    del fields[:]
    fields.extend(kept)


def known_shape(kind: onnx.TypeProto) -> list[int] | None:
    """A shape that is known; None if it is not."""
    shape = extents(kind)
    known = shape is not None and all(isinstance(extent, int) for extent in shape)
    return [int(extent) for extent in shape or ()] if known else None


def _transposed(draft: Draft, name: str, kind: onnx.TypeProto) -> Parts | None:
    shape = known_shape(kind)
    if shape is None or len(shape) < 2:
        return None
    made, perm = draft.fresh("turned"), list(reversed(range(len(shape))))
    return Parts(
        [node("Transpose", [name], [made], perm=perm)], [made],
        [(kind.tensor_type.elem_type, shape[::-1])],
    )  # fmt: skip


def _turned_back(_: Draft, names: Sequence[str], name: str) -> Nodes:
    return [node("Transpose", names, [name])]


def _in_halves(draft: Draft, name: str, kind: onnx.TypeProto) -> Parts | None:
    shape = known_shape(kind)
    if not shape or shape[-1] % 2 or not shape[-1]:
        return None
    names, half = [draft.fresh("half") for _ in range(2)], (*shape[:-1], shape[-1] // 2)
    nodes = [node("Split", [name], names, axis=-1, num_outputs=2)]
    return Parts(nodes, names, [(kind.tensor_type.elem_type, half)] * 2)


def _joined(_: Draft, names: Sequence[str], name: str) -> Nodes:
    return [node("Concat", names, [name], axis=-1)]


def _in_double(draft: Draft, name: str, kind: onnx.TypeProto) -> Parts | None:
    if kind.tensor_type.elem_type != _FLOAT or extents(kind) is None:
        return None
    made = draft.fresh("wide")
    nodes = [node("Cast", [name], [made], to=_DOUBLE)]
    return Parts(nodes, [made], [(_DOUBLE, extents(kind) or ())])


def _single(_: Draft, names: Sequence[str], name: str) -> Nodes:
    return [node("Cast", names, [name], to=_FLOAT)]


def _of_states(apart: Apart, whole: Whole) -> Form:
    return lambda draft: _states(draft, apart, whole)


form("states transposed")(_of_states(_transposed, _turned_back))
form("states in two halves")(_of_states(_in_halves, _joined))
form("states carried in double")(_of_states(_in_double, _single))


@form("inputs sliced as one")
def inputs_as_one(draft: Draft) -> bool:
    """Two sliced inputs of one type as one, side by side along the last axis of their items."""
    types, changed = draft.types(), False
    for scan, body, states in scans(draft):
        infos = list(body.input[states : states + 2])
        shapes = [known_shape(types.get(info.name, onnx.TypeProto())) for info in infos]
        kinds = {info.type.tensor_type.elem_type for info in infos}
        if len(infos) < 2 or None in shapes or len(kinds) > 1:
            continue
        flat = [int(np.prod(shape or [1])) for shape in shapes]
        before, parts, inside = [], [], []
        for k, size in enumerate(flat):
            to, wide = draft.constant([0, size]), draft.fresh("wide")
            before += [to, node("Reshape", [scan.input[states + k], to.output[0]], [wide])]
            parts.append(wide)
        both, row = draft.fresh("both"), draft.fresh("row")
        before.append(node("Concat", parts, [both], axis=1))
        pieces, sizes = [draft.fresh("piece") for _ in flat], draft.constant(flat)
        inside += [sizes, node("Split", [row, sizes.output[0]], pieces, axis=0)]
        for piece, info, shape in zip(pieces, infos, shapes, strict=True):
            to = draft.constant(np.array(shape, np.int64))
            inside += [to, node("Reshape", [piece, to.output[0]], [info.name])]
        set_nodes(body, [*inside, *body.node])
        rest, others = list(body.input[states + 2 :]), list(scan.input[states + 2 :])
        del body.input[states:], scan.input[states:]
        body.input.extend([value(row, next(iter(kinds)), [sum(flat)]), *rest])
        scan.input.extend([both, *others])
        given = attribute(scan, "num_scan_inputs")
        assert given is not None
        given.i -= 1
        put_around(draft.model.graph, scan, before, [])
        changed = True
    return changed


@form("items flat")
def items_flat(draft: Draft) -> bool:
    """Scan inputs and outputs whose items have several axes are tables with a row for each."""
    types, changed = draft.types(), False
    for scan, body, states in scans(draft):
        before, after, head, tail = [], [], [], []
        for k in range(states, len(scan.input)):
            info, shape = (
                body.input[k],
                known_shape(types.get(body.input[k].name, onnx.TypeProto())),
            )
            if shape is None or len(shape) < 2:
                continue
            size, wide, item = int(np.prod(shape)), draft.fresh("wide"), draft.fresh("item")
            to, back = draft.constant([0, size]), draft.constant(shape)
            before += [to, node("Reshape", [scan.input[k], to.output[0]], [wide])]
            head += [back, node("Reshape", [item, back.output[0]], [info.name])]
            scan.input[k] = wide
            info.CopyFrom(value(item, info.type.tensor_type.elem_type, [size]))
        for k in range(states, len(scan.output)):
            info = body.output[k]
            shape = known_shape(types.get(info.name, onnx.TypeProto()))
            if not scan.output[k] or shape is None or len(shape) < 2:
                continue
            size, wide, item = int(np.prod(shape)), draft.fresh("wide"), draft.fresh("item")
            to, back = draft.constant([size]), draft.constant([0, *shape])
            tail += [to, node("Reshape", [info.name, to.output[0]], [item])]
            after += [back, node("Reshape", [wide, back.output[0]], [scan.output[k]])]
            scan.output[k] = wide
            info.CopyFrom(value(item, info.type.tensor_type.elem_type, [size]))
        if before or after:
            set_nodes(body, [*head, *body.node, *tail])
            put_around(draft.model.graph, scan, before, after)
            changed = True
    return changed
