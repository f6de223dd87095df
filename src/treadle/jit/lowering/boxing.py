"""Lowers values without a native form: boxing, unboxing and release of boxes."""

from __future__ import annotations

from collections.abc import Sequence

from treadle import ir
from treadle.ir import DType, Tensor
from treadle.jit.host.boxed_values import box_op
from treadle.jit.host.sequence_marshal import is_list
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Block, DimOf, HostCall, Kind, Node, Number, Result
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.kernel.traversal import all_nodes, makes_objects

OBJECT: Kind = (DType.INT64, ())
"""The native form of a boxed value: its handle."""
_UNKNOWN = "a tensor of unknown rank"


def box_call(builder: KernelBuilder, op: HostCall, present: Sequence[Node]) -> list[Node | None]:
    """The results of a call on boxed values."""
    node = builder.add(op, DType.BOOL, (), *present)
    parts = [
        None if kind is None else _part(builder, node, k, kind) for k, kind in enumerate(op.results)
    ]
    for part, is_object in zip(parts, op.makes, strict=False):
        if part is not None and is_object:
            builder.objects.add(part)
    return parts


def _part(builder: KernelBuilder, node: Node, number: int, kind: Kind) -> Node:
    """One result of a call, with the dynamic extents that the call returns."""
    shape = tuple(
        builder.number(builder.add(DimOf(number, axis), DType.INT64, (), node))
        if extent is None
        else extent
        for axis, extent in enumerate(kind[1])
    )
    return builder.add(Result(number), kind[0], shape, node)


def _keep(
    builder: KernelBuilder,
    op: str,
    present: Sequence[Node],
    results: Sequence[Kind],
    makes: bool,
    **attributes: int,
) -> list[Node]:
    """The results of an operator on boxed values (host/boxed_values.py)."""
    takes = tuple(node in builder.objects for node in present)
    leaf = box_op(op, len(present), len(results), **attributes)
    escape = HostCall(leaf, (True,) * len(present), tuple(results), takes, (makes,) * len(results))
    return [node for node in box_call(builder, escape, present) if node is not None]


def boxed(builder: KernelBuilder, node: Node | None, value: ir.Value | None) -> Node:
    """The node boxed; `value`, of the program, determines whether it is a sequence."""
    if node is None:
        return nothing(builder)
    if node in builder.objects:
        return node
    op = "box_list" if value is not None and is_list(value) else "box"
    return _keep(builder, op, [node], [OBJECT], makes=True)[0]


def nothing(builder: KernelBuilder) -> Node:
    """A boxed absent value."""
    return _keep(builder, "nothing", [], [OBJECT], makes=True)[0]


def unboxed(builder: KernelBuilder, node: Node, types: Sequence[ir.Type | None]) -> Node:
    """A boxed tensor as a native one, by the first of the types with a known rank.

    Declared types may be among them: the call checks them. Raises Declined if none has a rank.
    """
    if node not in builder.objects:
        return node
    kind = next(filter(None, map(kind_of, types)), None)
    if kind is None:
        not_native = [t.dtype for t in types if isinstance(t, Tensor) and t.dtype not in NATIVE]
        what = f"no native code for {not_native[0]}" if any(not_native) else _UNKNOWN
        raise Declined(what)
    return _keep(builder, "unbox", [node], [kind], makes=False)[0]


def is_unboxable(types: Sequence[ir.Type | None]) -> bool:
    """Whether one of the types determines the native form of a boxed tensor."""
    return any(map(kind_of, types))


def item_of(
    builder: KernelBuilder, source: Node, number: Node, axis: int, *, reverse: bool
) -> Node:
    """An item of a boxed tensor."""
    (made,) = _keep(
        builder, "item", [source, number], [OBJECT], makes=True, axis=axis, reverse=int(reverse)
    )
    return made


def extent_of(builder: KernelBuilder, source: Node, axis: int) -> Number:
    """The number of items of a boxed tensor along an axis."""
    (made,) = _keep(builder, "extent", [source], [OBJECT], makes=False, axis=axis)
    return builder.number(made)


def rows(builder: KernelBuilder) -> Node:
    """An empty boxed list for a stacked output."""
    return _keep(builder, "rows", [], [OBJECT], makes=True)[0]


def appended(builder: KernelBuilder, rows: Node, element: Node) -> Node:
    """The list with one more element."""
    return _keep(builder, "append", [rows, element], [OBJECT], makes=True)[0]


def stacked(builder: KernelBuilder, rows: Node, axis: int, *, reverse: bool) -> Node:
    """The elements of the list as one boxed tensor."""
    (made,) = _keep(builder, "stack", [rows], [OBJECT], makes=True, axis=axis, reverse=int(reverse))
    return made


def keep_shape(builder: KernelBuilder, before: Node, after: Node) -> Node:
    """The next value, checked to have the shape of the old one."""
    if before in builder.objects:
        return _keep(builder, "same_shape", [before, after], [OBJECT], makes=True)[0]
    if after in builder.objects:
        kind = before.dtype, tuple(e if isinstance(e, int) else None for e in before.shape)
        (after,) = _keep(builder, "unbox", [after], [kind], makes=False)
    builder.expect_shape(after.shape, before.shape, "a carried value that changes its rank")
    return after


def types_of(value: ir.Value | None) -> list[ir.Type | None]:
    """The inferred and the declared type of a value."""
    return [] if value is None else [value.inferred, value.declared]


def kind_of(type_: ir.Type | None) -> Kind | None:
    """The native kind of a tensor of the type, with extents from a call; None if it has none."""
    if not isinstance(type_, Tensor) or type_.dtype not in NATIVE or type_.shape is None:
        return None
    return type_.dtype, tuple(dim if isinstance(dim, int) else None for dim in type_.shape)


def release_boxes(
    builder: KernelBuilder, body: Block, nexts: Sequence[Node], outer: Block
) -> list[Node]:
    """Release the values boxed in an iteration, except the next values of the loop.

    The height of the stack before the loop is read in the enclosing block.
    """
    if not any(map(makes_objects, all_nodes(body))) and not any(
        node in builder.objects for node in nexts
    ):
        return list(nexts)
    builder.block = outer
    (mark,) = _keep(builder, "mark", [], [OBJECT], makes=False)
    builder.block = body
    kept = [node for node in nexts if node in builder.objects]
    made = iter(_keep(builder, "pop_to", [mark, *kept], [OBJECT] * len(kept), makes=True))
    return [next(made) if node in builder.objects else node for node in nexts]
