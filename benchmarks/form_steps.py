"""Forms of steps: masked by a length, in chunks, from the last row on, products joined or cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import helper

from benchmarks.form_carriers import FORMS, form, known_shape
from benchmarks.form_counters import counted_loops
from benchmarks.form_edits import (
    Draft,
    Nodes,
    extents,
    node,
    put_around,
    replace,
    set_nodes,
    value,
)  # fmt: skip
from benchmarks.form_rules import Form
from benchmarks.form_structure import is_tensor, scans

__all__ = ["FORMS"]


def _masked(by_if: bool) -> Form:
    """States keep their value from a length on that is fed, and is the number of rows."""

    def apply(draft: Draft) -> bool:
        FORMS["Scan as Loop with Gather"](draft)
        changed = False
        for loop, body in counted_loops(draft):
            states = len(loop.input) - 2
            infos = body.input[2:]
            if not states or not all(
                is_tensor(each) and known_shape(each.type) is not None for each in infos
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
        shapes = [known_shape(types.get(s, onnx.TypeProto())) for s in scan.input[states:]]
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
