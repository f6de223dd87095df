"""Forms of what a loop slices, carries and stacks: reversed, transposed, wider, copied, unread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.form_edits import (
    Draft,
    attribute,
    extents,
    node,
    put_around,
    set_nodes,
    value,
)  # fmt: skip
from benchmarks.form_structure import FORMS, all_loops, form, is_tensor, scans

__all__ = ["FORMS"]


def _reversed_by(turn: Callable[[Draft, str, str, int], list[onnx.NodeProto]]) -> Callable:
    def apply(draft: Draft) -> bool:
        types, changed = draft.types(), False
        for scan, body, states in scans(draft, plain=False):
            if attribute(scan, "scan_input_axes") or attribute(scan, "scan_output_axes"):
                continue
            ranks = [
                len(extents(types.get(s, onnx.TypeProto())) or ()) for s in scan.input[states:]
            ]
            before, after = [], []
            for k in range(states, len(scan.input)):
                name = draft.fresh("turned")
                before += turn(draft, scan.input[k], name, ranks[k - states])
                scan.input[k] = name
            for k in range(states, len(scan.output)):
                if scan.output[k]:
                    name, rank = draft.fresh("turned"), len(extents(body.output[k].type) or ()) + 1
                    after += turn(draft, name, scan.output[k], rank)
                    scan.output[k] = name
            for field, count in (
                ("scan_input_directions", len(scan.input) - states),
                ("scan_output_directions", len(body.output) - states),
            ):
                old = attribute(scan, field)
                turned = [1 - d for d in (old.ints if old else [0] * count)]
                if old:
                    scan.attribute.remove(old)
                if any(turned):
                    scan.attribute.append(helper.make_attribute(field, turned))
            put_around(draft.model.graph, scan, before, after)
            changed = True
        return changed

    return apply


def _by_slice(draft: Draft, source: str, made: str, rank: int) -> list[onnx.NodeProto]:
    bounds = [draft.constant([n]) for n in (-1, -(2**62), 0, -1)]
    return [*bounds, node("Slice", [source, *(b.output[0] for b in bounds)], [made])]


form("data reversed by Slice, the other direction")(_reversed_by(_by_slice))


@form("outputs that nobody reads")
def unread_outputs(draft: Draft) -> bool:
    """Up to four floats of the body are stacked, and one carried, that nothing reads."""
    types, changed = draft.types(), False
    for loop, body, states, skip, skipped in all_loops(draft):
        made = [n for each in body.node for n in each.output if n in types]
        made = [
            n for n in made if types[n].tensor_type.elem_type == TensorProto.FLOAT
            and all(isinstance(e, int) for e in extents(types[n]) or [])
            and n not in {info.name for info in body.output}
        ][:4]  # fmt: skip
        if attribute(loop, "scan_output_directions") or attribute(loop, "scan_output_axes"):
            continue
        loop.output.extend([""] * (len(body.output) - skipped - len(loop.output)))
        for name in made:
            copy = draft.fresh(name)
            body.node.append(node("Identity", [name], [copy]))
            body.output.append(onnx.ValueInfoProto(name=copy, type=types[name]))
            loop.output.append(draft.fresh("unread"))
        info = body.input[skip] if states else None
        if info is not None and is_tensor(info) and "" not in (extents(info.type) or [""]):
            kept, old = draft.fresh("kept"), draft.fresh("old")
            body.node.append(node("Identity", [info.name], [kept]))
            body.input.insert(skip, onnx.ValueInfoProto(name=old, type=info.type))
            body.output.insert(skipped, onnx.ValueInfoProto(name=kept, type=info.type))
            loop.input.insert(skip, loop.input[skip])
            loop.output.insert(0, draft.fresh("unread"))
        changed = True
    return changed


@form("a state carried twice")
def carried_twice(draft: Draft) -> bool:
    """A copy of the first state is carried too, and every second node reads it."""
    changed = False
    for loop, body, states, skip, skipped in all_loops(draft):
        info = body.input[skip] if states else None
        if info is None or not is_tensor(info) or "" in (extents(info.type) or [""]):
            continue
        twin, after = draft.fresh(info.name), draft.fresh("after")
        readers = [each for each in body.node if info.name in each.input]
        for each in readers[1::2] or readers[:1]:
            each.input[:] = [twin if n == info.name else n for n in each.input]
        body.node.append(node("Identity", [body.output[skipped].name], [after]))
        body.input.insert(skip + 1, onnx.ValueInfoProto(name=twin, type=info.type))
        body.output.insert(skipped + 1, onnx.ValueInfoProto(name=after, type=info.type))
        loop.input.insert(skip + 1, loop.input[skip])
        loop.output.insert(1, draft.fresh("unread"))
        changed = True
    return changed


@form("items with one axis more")
def items_wider(draft: Draft) -> bool:
    """Scan inputs and outputs have an axis of extent 1 after the first."""
    changed = False
    for scan, body, states in scans(draft):
        if not all(info.type.tensor_type.elem_type for info in body.input):
            continue
        axis, inner = draft.constant([1]), draft.constant([0])
        before, after, head, tail = [axis], [], [inner], []
        for k in range(states, len(scan.input)):
            wide, item, info = draft.fresh("wide"), draft.fresh("item"), body.input[k]
            before.append(node("Unsqueeze", [scan.input[k], axis.output[0]], [wide]))
            scan.input[k] = wide
            head.append(node("Squeeze", [item, inner.output[0]], [info.name]))
            kind = value(item, info.type.tensor_type.elem_type, [1, *(extents(info.type) or [])])
            info.CopyFrom(kind)
        for k in range(states, len(scan.output)):
            info, wide, item = body.output[k], draft.fresh("wide"), draft.fresh("item")
            tail.append(node("Unsqueeze", [info.name, inner.output[0]], [item]))
            kind = value(item, info.type.tensor_type.elem_type, [1, *(extents(info.type) or [])])
            info.CopyFrom(kind)
            if scan.output[k]:
                after.append(node("Squeeze", [wide, axis.output[0]], [scan.output[k]]))
                scan.output[k] = wide
        set_nodes(body, [*head, *body.node, *tail])
        put_around(draft.model.graph, scan, before, after)
        changed = True
    return changed


@form("time major by Transpose")
def time_major(draft: Draft) -> bool:
    """What a Scan slices is fed with the batch first, and transposed; so are its outputs."""
    types, changed = draft.types(), False
    for scan, _body, states in scans(draft):
        before, after, main = [], [], draft.model.graph
        for k in range(states, len(scan.input)):
            source = scan.input[k]
            if source in draft.feed and draft.feed[source].ndim in (2, 3):
                name = draft.add_input(source, np.swapaxes(draft.feed[source], 0, 1))
                turned, perm = draft.fresh("turned"), [1, 0, 2][: draft.feed[source].ndim]
                before.append(node("Transpose", [name], [turned], perm=perm))
                scan.input[k] = turned
        for k in range(states, len(scan.output)):
            rank = len(extents(types.get(scan.output[k], onnx.TypeProto())) or ())
            if rank in (2, 3):
                perm, first, last = [1, 0, 2][:rank], draft.fresh("first"), scan.output[k]
                there = draft.fresh("there")
                after += [
                    node("Transpose", [first], [there], perm=perm),
                    node("Transpose", [there], [last], perm=perm),
                ]
                scan.output[k] = first
        put_around(main, scan, before, after)
        changed |= bool(before)
    return changed


@form("extents by name")
def named_extents(draft: Draft) -> bool:
    """Each extent of what is fed and returned has a name of its own; bodies declare no shapes."""
    for info in [*draft.model.graph.input, *draft.model.graph.output]:
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            dim.dim_param = f"{info.name}_{axis}"
    for _, body in draft.bodies():
        for info in [*body.input, *body.output]:
            if is_tensor(info) and info.type.tensor_type.shape.dim:
                info.type.tensor_type.ClearField("shape")
    return True
