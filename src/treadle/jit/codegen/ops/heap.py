"""Functions on arrays of sort entries that kernels call: heap sift and radix sort.

An entry is a key and, in the lower half of its bits, the position of the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I64, POINTER, VOID, internal_function

DIGIT_BITS = 8


def heap_sift(builder: FunctionBuilder, type_: Any, *, is_signed: bool) -> Any:
    """A function that sifts an entry down a heap of this size, from a free position.

    while it has children: the larger one moves up, unless the entry is larger still
    """
    name = f"sift_{'' if is_signed else 'u'}{type_.width}"
    found = builder.module.globals.get(name)
    if found is not None:
        return found
    function = internal_function(builder.module, name, VOID, [POINTER, I64, I64, type_])
    heap, count, start, entry = function.args
    names = ("entry", "down", "inner", "step", "done")
    first, down, inner, step, done = (function.append_basic_block(name) for name in names)
    b = llvm.IRBuilder(first)
    compare = b.icmp_signed if is_signed else b.icmp_unsigned
    one = llvm.Constant(I64, 1)

    def entry_pointer(number: Any) -> Any:
        return b.gep(heap, [number], source_etype=type_, inbounds=True)

    b.branch(down)
    b.position_at_end(down)
    at = b.phi(I64)
    at.add_incoming(start, first)
    left = b.add(b.shl(at, one), one)
    right = b.add(left, one)
    b.cbranch(b.icmp_unsigned("<", left, count), inner, done)
    b.position_at_end(inner)
    other = b.select(b.icmp_unsigned("<", right, count), right, left)
    one_side, other_side = (b.load(entry_pointer(k), typ=type_) for k in (left, other))
    is_other = compare(">", other_side, one_side)
    child, value = b.select(is_other, other, left), b.select(is_other, other_side, one_side)
    b.cbranch(compare(">", value, entry), step, done)
    b.position_at_end(step)
    b.store(value, entry_pointer(at))
    at.add_incoming(child, step)
    b.branch(down)
    b.position_at_end(done)
    b.store(entry, entry_pointer(at))
    b.ret_void()
    return function


def sort_passes(
    builder: FunctionBuilder, type_: Any, places: int, *, is_signed: bool
) -> Iterator[Any]:
    """The functions of a radix sort, to be called in order: an even number of them.

    Each takes entries, memory for as many, and their number, and orders them by one digit in the
    other memory; the digits go from the last to the first. `places` is the number of digits of
    positions; it is 0 if the entries are in the order of their positions already.
    """
    places += places % 2
    half = type_.width // 2
    shifts = [*range(0, places * DIGIT_BITS, DIGIT_BITS), *range(half, 2 * half, DIGIT_BITS)]
    for shift in shifts:
        is_turned = is_signed and shift == 2 * half - DIGIT_BITS
        yield _sort_pass(builder, type_, shift, is_turned=is_turned)


def _sort_pass(builder: FunctionBuilder, type_: Any, shift: int, *, is_turned: bool) -> Any:
    name = f"sort_{'' if is_turned else 'u'}{type_.width}_{shift}"
    found = builder.module.globals.get(name)
    if found is not None:
        return found
    function = internal_function(builder.module, name, VOID, [POINTER, POINTER, I64])
    own = FunctionBuilder(builder.module, function, builder.target)
    counts = own.variable(I64, count=1 << DIGIT_BITS)
    _pass(own, (*function.args, counts), type_, shift, is_turned=is_turned)
    own.builder.ret_void()
    own.close_entry()
    return function


def _pass(
    builder: FunctionBuilder,
    given: tuple[Any, Any, Any, Any],
    type_: Any,
    shift: int,
    *,
    is_turned: bool,
) -> None:
    """The entries ordered by one digit; `is_turned`: the first bit of the digit is a sign."""
    source, target, count, counts = given
    b, one = builder.builder, llvm.Constant(I64, 1)

    def at(memory: Any, number: Any, kind: Any) -> Any:
        return b.gep(memory, [builder.index(number)], source_etype=kind, inbounds=True)

    def bucket(entry: Any) -> Any:
        digit = b.trunc(b.lshr(entry, llvm.Constant(type_, shift)), llvm.IntType(DIGIT_BITS))
        if is_turned:
            digit = b.xor(digit, llvm.Constant(digit.type, 1 << (DIGIT_BITS - 1)))
        return at(counts, b.zext(digit, I64), I64)

    with builder.range(1 << DIGIT_BITS) as digit:
        b.store(llvm.Constant(I64, 0), at(counts, digit, I64))
    with builder.range(count) as number:
        entry_pointer = bucket(b.load(at(source, number, type_), typ=type_))
        b.store(b.add(b.load(entry_pointer, typ=I64), one), entry_pointer)
    total = builder.variable(I64, llvm.Constant(I64, 0))
    with builder.range(1 << DIGIT_BITS) as digit:
        before, own = b.load(total, typ=I64), b.load(at(counts, digit, I64), typ=I64)
        b.store(before, at(counts, digit, I64))
        b.store(b.add(before, own), total)
    with builder.range(count) as number:
        entry = b.load(at(source, number, type_), typ=type_)
        entry_pointer = bucket(entry)
        free = b.load(entry_pointer, typ=I64)
        b.store(entry, at(target, free, type_))
        b.store(b.add(free, one), entry_pointer)
