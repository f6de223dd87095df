"""Forms of a model: the same mathematics as other exporters write it.

A form edits a draft in place and answers True, or finds nothing to change and answers False.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.form_edits import (
    Draft,
    Nodes,
    attribute,
    extents,
    node,
    number,
    rename_reads,
    replace,
    set_nodes,
)  # fmt: skip

Form = Callable[[Draft], bool]
FORMS: dict[str, Form] = {}
ELEMENTWISE = {"Add", "Sub", "Mul", "Div", "Tanh", "Sigmoid", "Exp", "Min", "Max", "Where", "Abs"}


def form(name: str) -> Callable[[Form], Form]:
    """Put a function into the table of forms."""

    def register(function: Form) -> Form:
        FORMS[name] = function
        return function

    return register


@form("Gemm, transB")
def gemm_transposed(draft: Draft) -> bool:
    """MatMul (a, W) as Gemm <transB = 1> (a, W^T)."""
    types = draft.types()

    def rule(each: onnx.NodeProto) -> Nodes | None:
        if not _is_product_of_matrix(draft, types, each):
            return None
        other = draft.add_input(each.input[1], draft.feed[each.input[1]].T)
        return [node("Gemm", [each.input[0], other], each.output, transB=1)]

    return replace(draft, rule)


@form("weights transposed in the body")
def transposed_inside(draft: Draft) -> bool:
    """MatMul (a, W) as MatMul (a, Transpose (W^T))."""

    def rule(each: onnx.NodeProto) -> Nodes | None:
        if each.op_type != "MatMul" or not draft.is_matrix(each.input[1]):
            return None
        other = draft.add_input(each.input[1], draft.feed[each.input[1]].T)
        turned = draft.fresh("turned")
        return [
            node("Transpose", [other], [turned], perm=[1, 0]),
            node("MatMul", [each.input[0], turned], each.output),
        ]

    return replace(draft, rule)


def _is_product_of_matrix(draft: Draft, types: dict, each: onnx.NodeProto) -> bool:
    return (
        each.op_type == "MatMul" and draft.is_matrix(each.input[1])
        and len(_shape(types, each.input[0]) or ()) == 2
    )  # fmt: skip


def _shape(types: dict, name: str) -> list | None:
    """The extents of a value; None if its rank is unknown."""
    return extents(types[name]) if name in types else None


@form("gates apart")
def gates_apart(draft: Draft) -> bool:
    """Split (MatMul (x, W) + B) as products with the columns of W and parts of B."""
    changed = False
    for _, body in draft.bodies():
        makers = {name: each for each in body.node for name in each.output}
        written: list[onnx.NodeProto] = []
        for each in body.node:
            parts = None
            if each.op_type == "Split" and len(each.input) == 1:
                parts = _parts(draft, makers, each.input[0], len(each.output), written)
            if parts is None:
                written.append(each)
                continue
            changed = True
            written += [
                node("Identity", [part], [name])
                for part, name in zip(parts, each.output, strict=True)
            ]
        set_nodes(body, written)
        _drop_unread(body)
    return changed


def _parts(
    draft: Draft, makers: dict, name: str, count: int, written: list[onnx.NodeProto]
) -> list[str] | None:
    """Names of the equal parts of a value along its last axis; None where it has no parts."""
    if name in draft.feed:
        whole = draft.feed[name]
        return [draft.add_input(name, part) for part in np.split(whole, count, axis=-1)]
    each = makers.get(name)
    if each is None or each.op_type not in ("Add", "MatMul"):
        return None
    first = [each.input[0]] * count
    if each.op_type == "Add":
        first = _parts(draft, makers, each.input[0], count, written) or []
    second = _parts(draft, makers, each.input[1], count, written)
    if not first or second is None:
        return None
    names = [draft.fresh(name) for _ in range(count)]
    written += [
        node(each.op_type, [a, b], [made]) for a, b, made in zip(first, second, names, strict=True)
    ]
    return names


def _drop_unread(body: onnx.GraphProto) -> None:
    """Take out nodes that nothing reads."""
    while True:
        read = {info.name for info in body.output}
        read |= {name for each in body.node for name in each.input}
        for each in body.node:
            for given in each.attribute:
                read |= {name for inner in given.g.node for name in inner.input}
                read |= {info.name for info in given.g.output}
        kept = [each for each in body.node if read & set(each.output)]
        if len(kept) == len(body.node):
            return
        set_nodes(body, kept)


@form("Split as Slices")
def split_as_slices(draft: Draft) -> bool:
    """Each output of an even Split as a Slice."""
    types = draft.types()

    def rule(each: onnx.NodeProto) -> Nodes | None:
        if each.op_type != "Split" or len(each.input) > 1:
            return None
        axis = number(each, "axis", 0)
        shape = _shape(types, each.input[0])
        if shape is None or not isinstance(shape[axis], int):
            return None
        whole = shape[axis]
        size = -(-whole // len(each.output))
        made: list[onnx.NodeProto] = []
        for place, name in enumerate(each.output):
            bounds = [
                draft.constant([value])
                for value in (place * size, min(whole, (place + 1) * size), axis)
            ]
            made += [
                *bounds,
                node("Slice", [each.input[0], *(b.output[0] for b in bounds)], [name]),
            ]
        return made

    return replace(draft, rule)


@form("Unsqueeze and Squeeze around")
def unsqueezed(draft: Draft) -> bool:
    """Functions of one value, and products, on a tensor with one more axis in front."""

    def rule(each: onnx.NodeProto) -> Nodes | None:
        if each.op_type not in ("Tanh", "Sigmoid", "Exp", "MatMul", "Cos", "Abs"):
            return None
        axis = draft.constant([0])
        wide, made = draft.fresh("wide"), draft.fresh("made")
        inputs = [wide, *each.input[1:]]
        return [
            axis, node("Unsqueeze", [each.input[0], axis.output[0]], [wide]),
            node(each.op_type, inputs, [made]),
            node("Squeeze", [made, axis.output[0]], each.output),
        ]  # fmt: skip

    return replace(draft, rule)


@form("keepdims")
def keepdims(draft: Draft) -> bool:
    """Reductions that keep their axes let go of them, and the other way round."""

    def rule(each: onnx.NodeProto) -> Nodes | None:
        if not (each.op_type.startswith("Reduce") or each.op_type in ("ArgMax", "ArgMin")):
            return None
        keeps = number(each, "keepdims", 1)
        axes = [each.input[1]] if len(each.input) > 1 else []
        prelude: list[onnx.NodeProto] = []
        if not axes:
            if attribute(each, "axis") is None and keeps:
                return None
            if attribute(each, "axis") is not None:
                prelude = [draft.constant([number(each, "axis", 0)])]
                axes = [prelude[0].output[0]]
        made = draft.fresh("made")
        given = {a.name: helper.get_attribute_value(a) for a in each.attribute}
        given["keepdims"] = 1 - keeps
        after = "Unsqueeze" if keeps else "Squeeze"
        return [
            *prelude, node(each.op_type, each.input, [made], **given),
            node(after, [made, *axes], each.output),
        ]  # fmt: skip

    return replace(draft, rule)


@form("Gather of [i]")
def gather_of_one(draft: Draft) -> bool:
    """Gather by a scalar as Gather by a list of one, squeezed."""
    types = draft.types()

    def rule(each: onnx.NodeProto) -> Nodes | None:
        if each.op_type != "Gather" or _shape(types, each.input[1]) != []:
            return None
        zero, axis = draft.constant([0]), draft.constant([number(each, "axis", 0)])
        place, made = draft.fresh("place"), draft.fresh("made")
        return [
            zero, axis, node("Unsqueeze", [each.input[1], zero.output[0]], [place]),
            node("Gather", [each.input[0], place], [made], axis=number(each, "axis", 0)),
            node("Squeeze", [made, axis.output[0]], each.output),
        ]  # fmt: skip

    return replace(draft, rule)


@form("Where as If")
def where_as_if(draft: Draft) -> bool:
    """Where of a scalar condition as If."""
    types = draft.types()

    def rule(each: onnx.NodeProto) -> Nodes | None:
        known = each.op_type == "Where" and all(_shape(types, name) == [] for name in each.input)
        if not known:
            return None
        element = types[each.output[0]].tensor_type.elem_type
        bodies = []
        for name in each.input[1:]:
            out = draft.fresh("chosen")
            info = helper.make_tensor_value_info(out, element, [])
            bodies.append(
                helper.make_graph(
                    [node("Identity", [name], [out])], draft.fresh("side"), [], [info]
                )
            )
        return [
            node("If", [each.input[0]], each.output, then_branch=bodies[0], else_branch=bodies[1])
        ]

    return replace(draft, rule)


@form("weights carried")
def weights_carried(draft: Draft) -> bool:
    """Matrices that a body captures are states that no iteration changes."""
    changed = False
    for op in ("Scan", "Loop"):
        for graph, loop, body in draft.loops(op):
            used = {n for each in body.node for n in each.input if draft.is_matrix(n)}
            for name in sorted(used) if graph is draft.model.graph else ():
                _carry(draft, op, loop, body, name)
                changed = True
    return changed


def _carry(draft: Draft, op: str, loop: onnx.NodeProto, body: onnx.GraphProto, name: str) -> None:
    """Make a captured value the first state of a loop."""
    inner, after, final = (draft.fresh(name) for _ in range(3))
    rename_reads(body, {name: inner})
    element = helper.np_dtype_to_tensor_dtype(draft.feed[name].dtype)
    info = [
        helper.make_tensor_value_info(n, element, draft.feed[name].shape) for n in (inner, after)
    ]
    before, skipped = (0, 0) if op == "Scan" else (2, 1)
    loop.input.insert(before, name)
    loop.output.insert(0, final)
    body.input.insert(before, info[0])
    body.output.insert(skipped, info[1])
    body.node.append(node("Identity", [inner], [after]))


@form("weights as initializers")
def weights_constant(draft: Draft) -> bool:
    """Fed matrices are initializers."""
    read = {n for _, body in draft.bodies() for each in body.node for n in each.input}
    names = {info.name for info in draft.model.graph.input} & read
    names = {n for n in names if draft.feed.get(n, np.zeros(1)).ndim == 2}
    kept = [info for info in draft.model.graph.input if info.name not in names]
    del draft.model.graph.input[:]
    draft.model.graph.input.extend(kept)
    for name in sorted(names):
        draft.model.graph.initializer.append(numpy_helper.from_array(draft.feed.pop(name), name))
    return bool(names)
