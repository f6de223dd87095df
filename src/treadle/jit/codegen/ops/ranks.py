"""The first items of a short row in sorted order, by the rank of each item.

    rank[i] = sum(key[j] < key[i] or (key[j] == key[i] and j < i) for each j)
    order[rank[i]] = i

One vector holds all keys and is compared with each of them; another vector counts. There are no
branches: a heap spends most of its time on branches that the processor predicts wrongly.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I32, I64, register_type
from treadle.jit.kernel.element_types import is_signed
from treadle.jit.kernel.ir import ArgTopK, Node, op_of, static_shape

_I1 = llvm.IntType(1)


def write_by_ranks(
    context: CodegenContext, node: Node, rest: tuple[Index, ...], buffer: Buffer
) -> None:
    """Write the indices of the best items of one row to memory."""
    w, b, (keys,) = context.builder, context.builder.builder, node.operands
    axis = op_of(node, ArgTopK).axis
    extent, count = static_shape(keys)[axis], static_shape(node)[axis]
    ranks = _ranks(context, [context.access.read(keys, _at(rest, axis, k)) for k in range(extent)],
                   register_type(keys.dtype), signed=is_signed(keys.dtype))  # fmt: skip
    order = w.variable(I64, count=max(extent, 2))
    for position in range(extent):
        rank = b.zext(b.extract_element(ranks, llvm.Constant(I32, position)), I64)
        place = b.gep(order, [rank], inbounds=True, source_etype=I64)
        b.store(llvm.Constant(I64, position), place)
    for number in range(count):
        place = b.gep(order, [w.index(number)], inbounds=True, source_etype=I64)
        context.access.store(buffer, _at(rest, axis, number), b.load(place, typ=I64))


def _at(rest: tuple[Index, ...], axis: int, number: Index) -> tuple[Index, ...]:
    return (*rest[:axis], number, *rest[axis:])


def _ranks(context: CodegenContext, keys: list[Any], type_: Any, *, signed: bool) -> Any:
    """The ranks of the keys as a vector of 32-bit numbers."""
    w, b, count = context.builder, context.builder.builder, len(keys)
    vector = llvm.Constant(llvm.VectorType(type_, count), llvm.Undefined)
    for position, key in enumerate(keys):
        vector = b.insert_element(vector, key, llvm.Constant(I32, position))
    compare = b.icmp_signed if signed else b.icmp_unsigned
    numbers, truths = llvm.VectorType(I32, count), llvm.VectorType(_I1, count)
    ranks: Any = llvm.Constant(numbers, [0] * count)
    for position, key in enumerate(keys):
        other = w.splat(key, count)
        behind = llvm.Constant(truths, [k > position for k in range(count)])
        precedes = b.or_(compare("<", other, vector), b.and_(compare("==", other, vector), behind))
        ranks = b.add(ranks, b.zext(precedes, numbers))
    return ranks
