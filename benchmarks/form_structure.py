"""Forms of the structure around a body: loops split, unrolled and nested, branches, functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import TensorProto, helper

from benchmarks.form_counters import FORMS, counted_loops, form
from benchmarks.form_edits import (
    Draft,
    attribute,
    copied_nodes,
    extents,
    node,
    number,
    put_around,
    rename_reads,
    set_nodes,
    value,
)  # fmt: skip
from benchmarks.form_rules import Form

__all__ = ["FORMS"]

Places = tuple[onnx.NodeProto, onnx.GraphProto, int]


def scans(draft: Draft, *, plain: bool = True) -> Iterator[Places]:
    """Scans of the main graph, their bodies and numbers of states; plain: forward along axis 0."""
    for graph, scan, body in draft.loops("Scan"):
        if graph is draft.model.graph and (len(scan.attribute) == 2 or not plain):
            yield scan, body, len(scan.input) - number(scan, "num_scan_inputs", 0)


def all_loops(draft: Draft) -> Iterator[tuple[onnx.NodeProto, onnx.GraphProto, int, int, int]]:
    """Every outer loop: node, body, states, and where they are among operands and results."""
    for op, skip, skipped in (("Scan", 0, 0), ("Loop", 2, 1)):
        for graph, loop, body in draft.loops(op):
            if graph is draft.model.graph:
                states = len(loop.input) - skip - number(loop, "num_scan_inputs", 0)
                yield loop, body, states, skip, skipped


def is_tensor(info: onnx.ValueInfoProto) -> bool:
    return info.type.HasField("tensor_type")


@form("a Loop of one trip around")
def one_trip(draft: Draft) -> bool:
    """The loop in a Loop that runs once: states are carried, outputs stacked."""
    changed = False
    types = draft.types()
    for loop, body, states, skip, skipped in all_loops(draft):
        results = [types.get(name) for name in loop.output if name]
        if not all(t is not None and t.HasField("tensor_type") for t in results):
            continue
        if not all(info.type.tensor_type.elem_type for info in [*body.input, *body.output]):
            continue
        _nest(draft, loop, body, states, skip, skipped, types)
        changed = True
    return changed


def _nest(
    draft: Draft, loop: onnx.NodeProto, body: onnx.GraphProto, states: int, skip: int,
    skipped: int, types: Mapping[str, onnx.TypeProto],
) -> None:  # fmt: skip
    inner = onnx.NodeProto.FromString(loop.SerializeToString())
    i, on, still = (draft.fresh(n) for n in ("trip", "on", "still"))
    carried = [draft.fresh("outer") for _ in range(states)]
    kinds = [info.type for info in body.input[skip : skip + states]]
    starts = list(loop.input[skip : skip + states])
    inner.input[skip : skip + states] = carried
    made = [draft.fresh("made") for _ in loop.output]
    made += [draft.fresh("made") for _ in range(len(body.output) - skipped - len(made))]
    inner.output[:] = made
    inputs = [value(i, TensorProto.INT64, []), value(on, TensorProto.BOOL, [])]
    inputs += [onnx.ValueInfoProto(name=n, type=t) for n, t in zip(carried, kinds, strict=True)]
    outputs = [value(still, TensorProto.BOOL, [])]
    for k, name in enumerate(made):
        element = body.output[skipped + k].type.tensor_type.elem_type
        rank = len(extents(body.output[skipped + k].type) or ()) + (k >= states)
        outputs.append(value(name, element, [None] * rank))
    graph = helper.make_graph(
        [node("Identity", [on], [still]), inner], draft.fresh("once"), inputs, outputs
    )
    one, axis = draft.constant(1), draft.constant([0])
    results, after = list(loop.output), []
    for k, name in enumerate(results):
        if k >= states and name:
            results[k] = draft.fresh("whole")
            after.append(node("Squeeze", [results[k], axis.output[0]], [name]))
    outer = node("Loop", [one.output[0], "", *starts], results, body=graph)
    main = draft.model.graph
    place = next(k for k, each in enumerate(main.node) if each == loop)
    set_nodes(main, [*main.node[:place], one, axis, outer, *after, *main.node[place + 1 :]])


@form("If in the first iteration")
def first_by_if(draft: Draft) -> bool:
    """An If of the iteration number chooses the initial value or the carried one."""
    FORMS["Scan as Loop with Gather"](draft)
    changed = False
    for loop, body in counted_loops(draft):
        zero, is_first = draft.constant(0), draft.fresh("first")
        made = [zero, node("Equal", [body.input[0].name, zero.output[0]], [is_first])]
        for k, info in enumerate(body.input[2:]):
            if not is_tensor(info) or "" in (extents(info.type) or [""]):
                continue
            old, new = draft.fresh(info.name), info.name
            sides = [
                helper.make_graph(
                    [node("Identity", [name], [out])], draft.fresh("side"), [],
                    [onnx.ValueInfoProto(name=out, type=info.type)],
                )
                for name, out in ((loop.input[2 + k], draft.fresh("a")), (old, draft.fresh("b")))
            ]  # fmt: skip
            made.append(node("If", [is_first], [new], then_branch=sides[0], else_branch=sides[1]))
            info.name = old
            changed = True
        set_nodes(body, [*made, *body.node])
    return changed


@form("If of a constant around the body")
def constant_if(draft: Draft) -> bool:
    """The body in a branch that is always taken; the other branch is the same."""
    changed = False
    for _loop, body, _, _, _ in all_loops(draft):
        if not all(map(is_tensor, body.output)):
            continue
        yes = draft.constant(True, "bool")
        results = [info.name for info in body.output]
        branches = []
        for _ in range(2):
            nodes, names = copied_nodes(draft, body.node)
            given = {k: draft.fresh("through") for k, n in enumerate(results) if n not in names}
            nodes += [node("Identity", [results[k]], [n]) for k, n in given.items()]
            outs = [given.get(k) or names[n] for k, n in enumerate(results)]
            infos = [
                onnx.ValueInfoProto(name=n, type=info.type)
                for n, info in zip(outs, body.output, strict=True)
            ]
            if len(set(outs)) < len(outs):
                return False
            branches.append(helper.make_graph(nodes, draft.fresh("side"), [], infos))
        choice = node("If", yes.output, results, then_branch=branches[0], else_branch=branches[1])
        set_nodes(body, [yes, choice])
        changed = True
    return changed


@form("the body is a function")
def as_function(draft: Draft) -> bool:
    """The body calls a function of the model, and that another one."""
    changed = False
    for _, body, _, _, _ in all_loops(draft):
        made = {name for each in body.node for name in each.output}
        names = list(dict.fromkeys(n for each in body.node for n in _reads(each) if n not in made))
        outs = list(dict.fromkeys(i.name for i in body.output if i.name in made))
        nodes = [onnx.NodeProto.FromString(each.SerializeToString()) for each in body.node]
        imports = list(draft.model.opset_import)
        inner, outer = draft.fresh("Inner"), draft.fresh("Outer")
        call = node(inner, names, outs, domain="forms")
        imports_of = [*imports, helper.make_opsetid("forms", 1)]
        draft.model.functions.extend([
            helper.make_function("forms", inner, names, outs, nodes, imports),
            helper.make_function("forms", outer, names, outs, [call], imports_of),
        ])  # fmt: skip
        set_nodes(body, [node(outer, names, outs, domain="forms")])
        changed = True
    if changed:
        draft.model.opset_import.append(helper.make_opsetid("forms", 1))
    return changed


def _reads(each: onnx.NodeProto) -> list[str]:
    """The names that a node reads, also in its bodies, without those made there."""
    found = [name for name in each.input if name]
    for given in each.attribute:
        if given.type == onnx.AttributeProto.GRAPH:
            own = {i.name for i in given.g.input} | {n for e in given.g.node for n in e.output}
            inner = [n for e in given.g.node for n in _reads(e)] + [o.name for o in given.g.output]
            found += [name for name in inner if name not in own]
    return found


def _unrolled(count: int) -> Form:
    """The form with `count` steps of a Scan in each iteration, of as many rows."""

    def apply(draft: Draft) -> bool:
        types, changed = draft.types(), False
        for scan, body, states in scans(draft):
            sources = scan.input[states:]
            shapes = [extents(types.get(s, onnx.TypeProto())) for s in sources]
            if all(
                s and isinstance(s[0], int) and not s[0] % count and "" not in s for s in shapes
            ):
                _unroll(draft, scan, body, states, shapes, count)
                changed = True
        return changed

    return apply


def _unroll(
    draft: Draft, scan: onnx.NodeProto, body: onnx.GraphProto, states: int,
    shapes: Sequence[Sequence[int]], count: int,
) -> None:  # fmt: skip
    before, after, nodes, axis = [], [], [], draft.constant([0])
    items = [info.name for info in body.input[states:]]
    parts: list[dict[str, str]] = [{} for _ in range(count)]
    for k, (name, shape) in enumerate(zip(items, shapes, strict=True)):
        to, grouped = draft.constant([shape[0] // count, count, *shape[1:]]), draft.fresh("grouped")
        before += [to, node("Reshape", [scan.input[states + k], to.output[0]], [grouped])]
        scan.input[states + k] = grouped
        group = draft.fresh("group")
        for step in range(count):
            at, parts[step][name] = draft.constant(step), draft.fresh(name)
            nodes += [at, node("Gather", [group, at.output[0]], [parts[step][name]], axis=0)]
        element = body.input[states + k].type.tensor_type.elem_type
        body.input[states + k].CopyFrom(value(group, element, [count, *shape[1:]]))
    olds = [info.name for info in body.input[:states]]
    seen, carried = list[dict[str, str]](), dict[str, str]()
    for part in parts:
        names = {**part, **carried}
        copy, made = copied_nodes(draft, body.node, names)
        nodes += copy
        seen.append({i.name: made.get(i.name, names.get(i.name, i.name)) for i in body.output})
        carried = {old: seen[-1][i.name] for old, i in zip(olds, body.output, strict=False)}
    nodes.append(axis)
    for k, info in enumerate(body.output):
        if k < states:
            last, info.name = seen[-1][info.name], draft.fresh("after")
            nodes.append(node("Identity", [last], [info.name]))
            continue
        wide = [draft.fresh("wide") for _ in parts]
        for each, names in zip(wide, seen, strict=True):
            nodes.append(node("Unsqueeze", [names[info.name], axis.output[0]], [each]))
        whole, shape = draft.fresh("whole"), extents(info.type) or []
        nodes.append(node("Concat", wide, [whole], axis=0))
        info.CopyFrom(value(whole, info.type.tensor_type.elem_type, [count, *shape]))
        if scan.output[k]:
            made, to = draft.fresh("made"), draft.constant([-1, *shape])
            after += [to, node("Reshape", [made, to.output[0]], [scan.output[k]])]
            scan.output[k] = made
    set_nodes(body, nodes)
    put_around(draft.model.graph, scan, before, after)


form("unrolled by two")(_unrolled(2))
form("unrolled by four")(_unrolled(4))


@form("in two halves")
def halves(draft: Draft) -> bool:
    """A Scan over the first half, and one over the second that goes on from there."""
    types, changed = draft.types(), False
    for scan, body, states in scans(draft):
        shapes = [extents(types.get(s, onnx.TypeProto())) for s in scan.input[states:]]
        if any(not s or not isinstance(s[0], int) for s in shapes):
            continue
        middle, zero, end = (draft.constant([n]) for n in (shapes[0][0] // 2, 0, 2**62))
        axis = draft.constant([0])
        made, olds = [middle, zero, end, axis], list(scan.output)
        starts, halved = list(scan.input[:states]), []
        for begin, stop in ((zero, middle), (middle, end)):
            items = [draft.fresh("half") for _ in scan.input[states:]]
            for source, item in zip(scan.input[states:], items, strict=True):
                bounds = [n.output[0] for n in (begin, stop, axis)]
                made.append(node("Slice", [source, *bounds], [item]))
            each = onnx.NodeProto.FromString(scan.SerializeToString())
            each.input[:] = [*starts, *items]
            each.output[:] = [draft.fresh("part") for _ in body.output]
            inner = attribute(each, "body")
            assert inner is not None
            nodes, names = copied_nodes(draft, inner.g.node)
            ins = {i.name: draft.fresh(i.name) for i in inner.g.input}
            set_nodes(inner.g, nodes)
            rename_reads(inner.g, {**ins, **names})
            for info in inner.g.input:
                info.name = ins[info.name]
            made.append(each)
            starts = list(each.output[:states])
            halved.append(list(each.output))
        for k, name in enumerate(olds):
            if name and k < states:
                made.append(node("Identity", [halved[1][k]], [name]))
            elif name:
                made.append(node("Concat", [halved[0][k], halved[1][k]], [name], axis=0))
        graph = draft.model.graph
        place = next(k for k, each in enumerate(graph.node) if each == scan)
        set_nodes(graph, [*graph.node[:place], *made, *graph.node[place + 1 :]])
        changed = True
    return changed
