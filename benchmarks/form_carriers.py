"""Forms of what is carried and sliced in another shape or type, and of steps that may be left out.

States transposed, in halves and in double; several inputs sliced as one, several outputs stacked as
one; steps masked by a length; loops in chunks; products of both operands as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.form_counters import counted_loops
from benchmarks.form_edits import (
    Draft,
    Nodes,
    attribute,
    extents,
    node,
    put_around,
    replace,
    set_nodes,
    value,
)  # fmt: skip
from benchmarks.form_rules import Form
from benchmarks.form_structure import all_loops, is_tensor, scans
from benchmarks.form_values import FORMS, form

__all__ = ["FORMS"]

_FLOAT, _DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE


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
            first = apart(draft, loop.input[skip + k], info.type) if is_tensor(info) else None
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


def _exchange(fields: object, place: int, new: Sequence[object]) -> None:
    kept = [*fields[:place], *new, *fields[place + 1 :]]
    del fields[:]
    fields.extend(kept)


def _shape_of(kind: onnx.TypeProto) -> list[int] | None:
    """A shape that is known; None if it is not."""
    shape = extents(kind)
    known = shape is not None and all(isinstance(extent, int) for extent in shape)
    return [int(extent) for extent in shape or ()] if known else None


def _transposed(draft: Draft, name: str, kind: onnx.TypeProto) -> Parts | None:
    shape = _shape_of(kind)
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
    shape = _shape_of(kind)
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
        shapes = [_shape_of(types.get(info.name, onnx.TypeProto())) for info in infos]
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
            info, shape = body.input[k], _shape_of(types.get(body.input[k].name, onnx.TypeProto()))
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
            shape = _shape_of(types.get(info.name, onnx.TypeProto()))
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


def _masked(by_if: bool) -> Form:
    """States keep their value from a length on that is fed, and is the number of rows."""

    def apply(draft: Draft) -> bool:
        FORMS["Scan as Loop with Gather"](draft)
        changed = False
        for loop, body in counted_loops(draft):
            states = len(loop.input) - 2
            infos = body.input[2:]
            if not states or not all(
                is_tensor(each) and _shape_of(each.type) is not None for each in infos
            ):
                continue
            if by_if and len(body.output) != states + 1:
                continue
            is_in = draft.fresh("within")
            length = draft.add_input("length", np.array(2**31, np.int64))
            test = node("Less", [body.input[0].name, length], [is_in])
            ends = list(body.output[1 : states + 1])
            names = [draft.fresh("kept") for _ in ends]
            if by_if:
                nodes = _chosen(draft, body, is_in, ends, names)
                set_nodes(body, [test, *nodes])
            else:
                kept = [
                    node("Where", [is_in, end.name, info.name], [name])
                    for end, info, name in zip(ends, infos, names, strict=True)
                ]
                set_nodes(body, [*body.node, test, *kept])
            for end, name in zip(ends, names, strict=True):
                end.name = name
            changed = True
        return changed

    return apply


def _chosen(
    draft: Draft, body: onnx.GraphProto, is_in: str, ends: Sequence[onnx.ValueInfoProto],
    names: Sequence[str],
) -> Nodes:  # fmt: skip
    """The body in a branch that is taken where the iteration is within the length."""
    going = body.output[0].name
    outside = [each for each in body.node if going in each.output]
    inner = [each for each in body.node if going not in each.output]
    then, made = [], []
    for end in ends:
        copy = draft.fresh("then")
        then.append(node("Identity", [end.name], [copy]))
        made.append(onnx.ValueInfoProto(name=copy, type=end.type))
    other, kept = [], []
    for end, info in zip(ends, body.input[2:], strict=True):
        copy = draft.fresh("else")
        other.append(node("Identity", [info.name], [copy]))
        kept.append(onnx.ValueInfoProto(name=copy, type=end.type))
    sides = [
        helper.make_graph([*inner, *then], draft.fresh("side"), [], made),
        helper.make_graph(other, draft.fresh("side"), [], kept),
    ]
    choice = node("If", [is_in], names, then_branch=sides[0], else_branch=sides[1])
    return [*outside, choice]


form("states kept from a length on")(_masked(by_if=False))
form("If of a length around the body")(_masked(by_if=True))


@form("in chunks")
def in_chunks(draft: Draft) -> bool:
    """A Scan over rows in a Scan over chunks of rows."""
    types, changed = draft.types(), False
    for scan, body, states in scans(draft):
        shapes = [_shape_of(types.get(s, onnx.TypeProto())) for s in scan.input[states:]]
        kinds = [info.type for info in [*body.input, *body.output]]
        if not all(kind.tensor_type.elem_type and extents(kind) is not None for kind in kinds):
            continue
        if any(not s or s[0] % 4 for s in shapes):
            continue
        before, after, sources = [], [], []
        for name, shape in zip(scan.input[states:], shapes, strict=True):
            to, chunks = draft.constant([4, shape[0] // 4, *shape[1:]]), draft.fresh("chunks")
            before += [to, node("Reshape", [name, to.output[0]], [chunks])]
            sources.append(chunks)
        inner = onnx.NodeProto.FromString(scan.SerializeToString())
        carried = [draft.fresh("state") for _ in range(states)]
        items = [draft.fresh("chunk") for _ in sources]
        inner.input[:] = [*carried, *items]
        inner.output[:] = [draft.fresh("made") for _ in body.output]
        ins = [
            onnx.ValueInfoProto(name=n, type=i.type)
            for n, i in zip(carried, body.input, strict=False)
        ]
        for name, info, shape in zip(items, body.input[states:], shapes, strict=True):
            kind = info.type.tensor_type.elem_type
            ins.append(value(name, kind, [shape[0] // 4, *shape[1:]]))
        outs = []
        for k, name in enumerate(inner.output):
            info = body.output[k]
            shape = extents(info.type) or []
            whole = shape if k < states else [None, *shape]
            outs.append(value(name, info.type.tensor_type.elem_type, whole))
        results = list(scan.output) + [""] * (len(body.output) - len(scan.output))
        outer_names = [name or draft.fresh("unread") for name in results]
        for k in range(states, len(results)):
            outer_names[k] = draft.fresh("stacked")
            if results[k]:
                to = draft.constant([-1, *(extents(body.output[k].type) or [])])
                after += [to, node("Reshape", [outer_names[k], to.output[0]], [results[k]])]
        graph = helper.make_graph([inner], draft.fresh("chunks"), ins, outs)
        outer = node("Scan", [*scan.input[:states], *sources], outer_names, body=graph,
                     num_scan_inputs=len(sources))  # fmt: skip
        main = draft.model.graph
        place = next(k for k, each in enumerate(main.node) if each == scan)
        set_nodes(main, [*main.node[:place], *before, outer, *after, *main.node[place + 1 :]])
        changed = True
    return changed


def _sums_of_products(body: onnx.GraphProto) -> Iterator[tuple[onnx.NodeProto, list]]:
    """Sums of two products that nothing else reads."""
    makers = {each.output[0]: each for each in body.node if each.op_type == "MatMul"}
    reads = [name for each in body.node for name in each.input]
    for each in body.node:
        parts = [makers.get(name) for name in each.input]
        if each.op_type != "Add" or None in parts or parts[0] is parts[1]:
            continue
        if all(reads.count(part.output[0]) == 1 for part in parts):
            yield each, parts


@form("one product of both operands")
def one_product(draft: Draft) -> bool:
    """MatMul (x, W) + MatMul (h, R) as a product of x and h side by side with W above R."""
    changed = False
    for _, body in draft.bodies():
        found = [
            (each, parts) for each, parts in _sums_of_products(body)
            if all(draft.is_matrix(part.input[1]) for part in parts)
        ]  # fmt: skip
        instead = {}
        for each, parts in found:
            weights = np.concatenate([draft.feed[part.input[1]] for part in parts])
            both, matrix = draft.fresh("both"), draft.add_input("both", weights)
            instead[each.output[0]] = [
                node("Concat", [part.input[0] for part in parts], [both], axis=-1),
                node("MatMul", [both, matrix], each.output),
            ]
        gone = {part.output[0] for _, parts in found for part in parts}
        written: list[onnx.NodeProto] = []
        for each in body.node:
            if not (each.output and each.output[0] in gone):
                written += instead.get(each.output[0] if each.output else "", [each])
        if found:
            set_nodes(body, written)
            changed = True
    return changed


@form("products in two halves")
def product_halves(draft: Draft) -> bool:
    """MatMul (x, W) as the sum of the products of both halves of x with those of W."""

    def rule(each: onnx.NodeProto) -> Nodes | None:
        if each.op_type != "MatMul" or not draft.is_matrix(each.input[1]):
            return None
        matrix = draft.feed[each.input[1]]
        if matrix.shape[0] % 2:
            return None
        halves = [draft.add_input(each.input[1], part) for part in np.split(matrix, 2)]
        sides, made = [draft.fresh("side") for _ in halves], [draft.fresh("part") for _ in halves]
        return [
            node("Split", [each.input[0]], sides, axis=-1, num_outputs=2),
            *(node("MatMul", [a, b], [c]) for a, b, c in zip(sides, halves, made, strict=True)),
            node("Add", made, each.output),
        ]

    return replace(draft, rule)


@form("rows counted from the last")
def rows_from_the_last(draft: Draft) -> bool:
    """Rows of data that are reversed beforehand, at the last index less the iteration number."""
    fed = set(draft.feed)
    FORMS["Scan as Loop with Gather"](draft)
    changed = False
    for loop, body in counted_loops(draft):
        number, before = body.input[0].name, []
        made: dict[str, str] = {}
        written, at = [], draft.fresh("at")
        for each in body.node:
            if each.op_type != "Gather" or each.input[1] != number or each.input[0] not in fed:
                written.append(each)
                continue
            source = each.input[0]
            if source not in made:
                made[source] = draft.fresh("turned")
                bounds = [draft.constant([n]) for n in (-1, -(2**62), 0, -1)]
                names = [source, *(b.output[0] for b in bounds)]
                before += [*bounds, node("Slice", names, [made[source]])]
            written.append(node("Gather", [made[source], at], each.output, axis=0))
        if not made:
            continue
        one, last = draft.constant(1), draft.fresh("last")
        head = [
            one,
            node("Sub", [loop.input[0], one.output[0]], [last]),
            node("Sub", [last, number], [at]),
        ]
        set_nodes(body, [*head, *written])
        put_around(draft.model.graph, loop, before, [])
        changed = True
    return changed
