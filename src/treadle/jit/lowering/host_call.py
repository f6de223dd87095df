"""Lowers operators without native code to host calls.

The standard's type rule determines the shapes of the results. If it does not, the operator is
evaluated on zeros and on ones: a shape that is equal for both is assumed to be constant, which
every call checks. An extent that differs is returned by the call, and so are all extents once a
check has failed. A result of unknown rank, or that is not a tensor of native elements, is boxed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle import ir, ops
from treadle.errors import InvalidModel, KernelError, Unsupported
from treadle.ir import Leaf, Symbol, Tensor, dtype_of
from treadle.jit.host.kernels import Given
from treadle.jit.host.sequence_marshal import is_list
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Constant, HostCall, Kind, Node, Number, SymbolicDim
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.lowering.boxing import OBJECT, box_call, boxed, kind_of
from treadle.jit.lowering.lowering_builder import LoweringBuilder

_TRIAL_EXTENTS = (2, 3)
"""The values of dynamic extents in the two trial evaluations of an operator."""


def lower_host_call(
    builder: LoweringBuilder, leaf: Leaf, operands: Sequence[Node | None]
) -> Sequence[Node | None]:
    """The results of a call; raises Declined if there is no kernel to call."""
    if not builder.kernels.has(leaf):
        raise Declined(f"no native code for {leaf.op}-{leaf.version}")
    given = [
        boxed(builder, node, value)
        if node is not None and value is not None and is_list(value)
        else node
        for node, value in zip(operands, leaf.operands, strict=True)
    ]
    present = [node for node in given if node is not None]
    try:
        leaf = builder.kernels.fitted(leaf, _told(builder, leaf, given))
    except Unsupported as why:
        raise Declined(why.why) from why
    kinds = _kinds(builder, leaf, given)
    wanted = tuple(
        None if value is None else kind or OBJECT
        for value, kind in zip(leaf.results, kinds, strict=True)
    )
    op = HostCall(
        leaf,
        tuple(node is not None for node in given),
        wanted,
        tuple(node in builder.objects for node in present),
        tuple(k is None and v is not None for k, v in zip(kinds, leaf.results, strict=True)),
    )
    home = builder.block
    builder.block = builder.main if leaf.op == "Constant" else home
    results = box_call(builder, op, present)
    builder.block = home
    return results


def _kinds(
    builder: LoweringBuilder, leaf: Leaf, operands: Sequence[Node | None]
) -> list[Kind | None]:
    """The kind of each result; None if it must be boxed."""
    kinds = _ruled(builder, leaf, operands)
    missing = [k for k, value in enumerate(leaf.results) if value is not None and kinds[k] is None]
    if not missing or any(_is_foreign(leaf.results[k]) for k in missing):
        return kinds
    tried = _tried(builder, leaf, operands)
    if builder.kernels.varies(leaf):
        tried = [kind and (kind[0], (None,) * len(kind[1])) for kind in tried]
    told = [kind_of(value.type) if value is not None else None for value in leaf.results]
    found = zip(kinds, tried, told, strict=True)
    return [ruled or tried_ or told_ for ruled, tried_, told_ in found]


def _told(
    builder: LoweringBuilder, leaf: Leaf, operands: Sequence[Node | None]
) -> list[Given | None]:
    """The known types and contents of the operands."""
    found: list[Given | None] = []
    for node, value in zip(operands, leaf.operands, strict=True):
        if node is None:
            found.append(None)
        elif node in builder.objects:
            found.append((None if value is None else value.type, None))
        else:
            array = node.op.array if isinstance(node.op, Constant) else None
            found.append((Tensor(node.dtype, (None,) * len(node.shape)), array))
    return found


def _is_foreign(value: ir.Value | None) -> bool:
    """Whether it is known not to be a tensor of native elements."""
    type_ = value.type if value is not None else None
    if isinstance(type_, Tensor):
        return type_.dtype is not None and type_.dtype not in NATIVE
    return type_ is not None


def _ruled(
    builder: LoweringBuilder, leaf: Leaf, operands: Sequence[Node | None]
) -> list[Kind | None]:
    """The result types by the standard's rule."""
    open_ = {e for n in operands if n is not None for e in n.shape if isinstance(e, SymbolicDim)}
    symbols = {extent: Symbol(f"extent {k}") for k, extent in enumerate(open_)}
    types = [
        value.type if value is not None and node in builder.objects else _type(node, symbols)
        for node, value in zip(operands, leaf.operands, strict=True)
    ]
    if any(t is None and node is not None for t, node in zip(types, operands, strict=True)):
        return [None] * len(leaf.results)
    arrays = [n.op.array if n is not None and isinstance(n.op, Constant) else None
              for n in operands]  # fmt: skip
    try:
        found = ops.result_types(leaf, types, arrays)
    except InvalidModel as why:
        raise Declined(str(why)) from why
    back = {symbol: extent for extent, symbol in symbols.items()}
    return [_kind(type_, back) for type_ in found]


def _type(node: Node | None, symbols: Mapping[SymbolicDim, Symbol]) -> Tensor | None:
    return None if node is None else Tensor(node.dtype, _dims(node, symbols))


def _dims(node: Node, symbols: Mapping[SymbolicDim, Symbol]) -> tuple[int | Symbol, ...]:
    return tuple(e if isinstance(e, int) else symbols[e] for e in node.shape)


def _kind(type_: Any, back: Mapping[Symbol, SymbolicDim]) -> Kind | None:
    if kind_of(type_) is None:
        return None
    shape: list[Number | None] = [
        dim if isinstance(dim, int) else back.get(dim) if isinstance(dim, Symbol) else None
        for dim in type_.shape
    ]
    return type_.dtype, tuple(shape)


def _tried(
    builder: LoweringBuilder, leaf: Leaf, operands: Sequence[Node | None]
) -> list[Kind | None]:
    """The common result types of trials on zeros and on ones.

    Dynamic extents differ in these, too.
    """
    nothing: list[Kind | None] = [None] * len(leaf.results)
    if any(node in builder.objects for node in operands):
        return nothing
    try:
        run = builder.kernels.prepare(leaf)
        with ops.ignore_fp_warnings():
            tries = [
                run([_sample(n, *each) for n in operands]) for each in enumerate(_TRIAL_EXTENTS)
            ]
    except KernelError:
        return nothing
    first, second = ([_given(value) for value in made] for made in tries)
    return [_both(*kinds) for kinds in zip(first, second, strict=True)]


def _both(one: Kind | None, other: Kind | None) -> Kind | None:
    """The common kind of both trials; extents that differ are returned by the call."""
    if one is None or other is None or (one[0], len(one[1])) != (other[0], len(other[1])):
        return None
    pairs = zip(one[1], other[1], strict=True)
    return one[0], tuple(left if left == right else None for left, right in pairs)


def _sample(node: Node | None, fill: int, size: int) -> np.ndarray | None:
    if node is None:
        return None
    if isinstance(node.op, Constant):
        return node.op.array
    shape = [extent if isinstance(extent, int) else size for extent in node.shape]
    return np.full(shape, fill, node.dtype.numpy)


def _given(value: Any) -> Kind | None:
    dtype = dtype_of(value.dtype) if isinstance(value, np.ndarray) else None
    return (dtype, value.shape) if dtype is not None and dtype in NATIVE else None
