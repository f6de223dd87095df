"""Builds one LLVM function: loops, branches, variables and index arithmetic."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.llvm_types import I1, I32, I64, POINTER, VOID, undefined, zeros
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.nest_size import may_unroll

Index = Any
"""An integer known at compile time (int), or an LLVM value of 64 bits."""


def i64(type_: Any) -> str:
    """The type as in the names of intrinsics: f32, v16f32."""
    if isinstance(type_, llvm.VectorType):
        return f"v{type_.count}{i64(type_.element)}"
    return str(type_.intrinsic_name)


def _multiple(value: Any) -> tuple[Any, int, int]:
    """The parts of an index number * factor + offset, of instructions that this builder made."""
    offset = 0
    while isinstance(value, llvm.Instruction) and value.opname == "add":
        first, second = value.operands
        if not isinstance(second, llvm.Constant):
            first, second = second, first
        if not isinstance(second, llvm.Constant) or second.constant < 0:
            break
        value, offset = first, offset + second.constant
    if isinstance(value, llvm.Instruction) and value.opname == "mul":
        first, second = value.operands
        if isinstance(second, llvm.Constant) and second.constant > 0:
            return first, second.constant, offset
    return value, 1, offset


_UNROLLED = {True: (), False: ("unroll.disable",)}
_UNLIKELY = (1, 1_000_000)
NOT_VECTORIZED = ("vectorize.enable=0", "unroll.disable")
"""The hints of loops that are not for LLVM's vectorizer: they are rare, or have vectors already."""


@dataclass(frozen=True, eq=False, slots=True)
class LoopRegion:
    """An outermost loop: its blocks, the first of them, and the blocks before and after it.

    Or the code of a step (`is_step`). `inner` are the outermost loops of a step, or the steps in a
    loop.
    """

    before: Any
    head: Any
    blocks: Sequence[Any]
    after: Any
    inner: Sequence[LoopRegion] = ()
    is_step: bool = False


class _Names:
    """The names of a function's values, of which equal ones get numbers."""

    def __init__(self, function: llvm.Function) -> None:
        self._last = {"": 0, **{argument.name: 0 for argument in function.args}}

    def register(self, name: str, deduplicate: bool = True) -> str:
        """The name, with a number if it is taken."""
        last, base = self._last, name
        while name in last:
            last[base] += 1
            name = f"{base}.{last[base]}"
        last[name] = 0
        return name


class FunctionBuilder:
    """One LLVM function under construction; `builder` is the current insertion point.

    `nests` are the outermost loops so far, or the steps around them, `target` is the machine.
    `has_vector_loops`: it has loops that LLVM may vectorize.
    """

    def __init__(self, module: llvm.Module, function: llvm.Function, target: Target) -> None:
        self.module, self.function, self.target = module, function, target
        function.scope = _Names(function)
        self.nests: list[LoopRegion] = []
        self._depth = self._long = 0
        self.has_vector_loops = False
        self.entry = function.append_basic_block("entry")
        self.start = function.append_basic_block("start")
        self.builder = llvm.IRBuilder(self.start)
        self._entry_builder = llvm.IRBuilder(self.entry)
        self._numbers: dict[int, llvm.Constant] = {}

    def blocks(self, *names: str) -> list[Any]:
        """New blocks at the end of the function."""
        return [self.function.append_basic_block(name) for name in names]

    def enter(self, block: Any) -> None:
        """Go on in a block."""
        self.builder.branch(block)
        self.builder.position_at_end(block)

    def close_entry(self) -> None:
        """Connect the entry block to the rest; called once, at the end."""
        self._entry_builder.branch(self.start)

    @property
    def before(self) -> llvm.IRBuilder:
        """A builder for instructions that run before everything else."""
        return self._entry_builder

    def variable(self, type_: Any, value: Any = None, count: int = 1) -> Any:
        """A local variable; LLVM keeps it in a register if possible."""
        number = llvm.Constant(I64, count)
        pointer = self._entry_builder.alloca(type_, number if count > 1 else None)
        pointer.align = 64 if count > 1 or isinstance(type_, llvm.VectorType) else 8
        if value is not None:
            self.builder.store(value, pointer)
        return pointer

    def early(self, type_: Any, value: Any) -> Any:
        """A variable that is initialised at the start of the function."""
        pointer = self._entry_builder.alloca(type_)
        self._entry_builder.store(value, pointer)
        return pointer

    def opaque(self, number: Any) -> Any:
        """A floating-point literal as a value, which LLVM folds, and outlining does not."""
        bits = llvm.IntType(64 if isinstance(number.type, llvm.DoubleType) else 32)
        form = "<q" if bits.width == 64 else "<i"
        packed = struct.pack("<d" if bits.width == 64 else "<f", number.constant)
        (whole,) = struct.unpack(form, packed)
        return self._entry_builder.bitcast(llvm.Constant(bits, whole), number.type)

    def barrier(self, value: Any) -> Any:
        """A number that LLVM takes for a new one: what is computed from it stays behind this point.

        Only of 32 and 64 bits, or an address; others are returned as they are.
        """
        form = {"float": I32, "i32": I32, "double": I64, "i64": I64}.get(str(value.type))
        form = POINTER if isinstance(value.type, llvm.PointerType) else form
        if form is None or isinstance(value, llvm.Constant):
            return value
        whole = self.builder.bitcast(value, form)
        copy = self.builder.asm(llvm.FunctionType(form, [form]), "", "=r,0", [whole], False)
        return self.builder.bitcast(copy, value.type)

    def intrinsic(self, name: str, type_: Any, *operands: Any, flags: Sequence[str] = ()) -> Any:
        """A call of an LLVM intrinsic of one overloaded type."""
        full = f"{name}.{i64(type_)}"
        function = self.external(full, type_, *(operand.type for operand in operands))
        return self.builder.call(function, operands, fastmath=flags)

    def splat(self, value: Any, count: int) -> Any:
        """A vector with the value in every lane."""
        nothing = undefined(llvm.VectorType(value.type, count))
        first = self.builder.insert_element(nothing, value, llvm.Constant(I32, 0))
        mask = zeros(llvm.VectorType(I32, count))
        return self.builder.shuffle_vector(first, nothing, mask) if count > 1 else first

    def copy(self, target: Any, source: Any, size: Index) -> Any:
        """Copy bytes between two memories that do not overlap; returns the call."""
        name, false = "llvm.memcpy.p0.p0.i64", llvm.Constant(I1, 0)
        copy = self.external(name, VOID, POINTER, POINTER, I64, I1)
        return self.builder.call(copy, [target, source, self.index(size), false])

    def external(self, name: str, result: Any, *types: Any) -> Any:
        """A function of the process."""
        found = self.module.globals.get(name)
        if found is None:
            found = llvm.Function(self.module, llvm.FunctionType(result, types), name)
        return found

    def index(self, value: Index) -> Any:
        """The index as an LLVM value."""
        if not isinstance(value, int):
            return value
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = llvm.Constant(I64, value)
        return found

    def add(self, left: Index, right: Index) -> Index:
        """The sum, folded if both are constant."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if isinstance(left, int) and left == 0:
            return right
        if isinstance(right, int) and right == 0:
            return left
        return self.builder.add(self.index(left), self.index(right), flags=("nsw",))

    def multiply(self, left: Index, right: Index) -> Index:
        """The product, folded if both are constant."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        for one, other in ((left, right), (right, left)):
            if isinstance(one, int) and one in (0, 1):
                return other if one else 0
        return self.builder.mul(self.index(left), self.index(right), flags=("nsw",))

    def product(self, numbers: Sequence[Index]) -> Index:
        """The product of all."""
        result: Index = 1
        for number in numbers:
            result = self.multiply(result, number)
        return result

    def strides(self, shape: Sequence[Index]) -> tuple[Index, ...]:
        """The strides of row-major order."""
        strides: list[Index] = []
        size: Index = 1
        for extent in reversed(shape):
            strides.append(size)
            size = self.multiply(size, extent) if len(strides) < len(shape) else size
        return tuple(reversed(strides))

    def split(self, value: Index, by: Index) -> tuple[Index, Index]:
        """Quotient and remainder of a nonnegative number."""
        if isinstance(value, int) and isinstance(by, int):
            return divmod(value, by)
        if isinstance(by, int) and by == 1:
            return value, 0
        if isinstance(by, int):
            number, factor, offset = _multiple(value)
            if factor % by == 0:
                times = self.add(self.multiply(number, factor // by), offset // by)
                return times, offset % by
        number, divisor = self.index(value), self.index(by)
        return self.builder.udiv(number, divisor), self.builder.urem(number, divisor)

    def least(self, left: Index, right: Index) -> Index:
        """The lesser of two numbers, as signed ones."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left, right)
        return self.intrinsic("llvm.smin", I64, self.index(left), self.index(right))

    def most(self, left: Index, right: Index) -> Index:
        """The greater of two numbers, as signed ones."""
        if isinstance(left, int) and isinstance(right, int):
            return max(left, right)
        return self.intrinsic("llvm.smax", I64, self.index(left), self.index(right))

    def has_same_quotient(self, number: Index, first: int, other: int, by: int) -> bool:
        """Whether `by` is known to divide number + first and number + other as often."""
        value, factor, offset = _multiple(number)
        if isinstance(value, int):
            return (value + first) // by == (value + other) // by
        return factor % by == 0 and (offset + first) // by == (offset + other) // by

    @contextmanager
    def range_with(self, stop: Index, values: list[Any]) -> Iterator[Index]:
        """A loop as of `range` that carries values in registers.

        The body replaces elements of the list by those of the next iteration; after the loop the
        list has the last ones. `stop` is not 0 if it is constant.
        """
        before, first = self.builder.block, list(values)
        with self.range(stop) as number:
            is_loop = self.builder.block is not before
            if is_loop:
                values[:] = self._phis(before, first)
            carried = list(values)
            yield number
            last = self.builder.block
            for phi, value in zip(carried if is_loop else (), values, strict=is_loop):
                phi.add_incoming(value, last)
        if is_loop and not isinstance(stop, int):
            last_values = list(values)
            values[:] = self._phis(before, first)
            for phi, value in zip(values, last_values, strict=True):
                phi.add_incoming(value, last)

    def _phis(self, before: Any, values: Sequence[Any]) -> list[Any]:
        phis = [self.builder.phi(value.type) for value in values]
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value, before)
        return phis

    @contextmanager
    def range(self, stop: Index, step: int = 1, hints: Sequence[str] = ()) -> Iterator[Index]:
        """A loop over the numbers from 0 to `stop`, exclusive, around the body of the block.

        `hints` are names of LLVM's loop metadata; without any it may unroll some loops.
        """
        if isinstance(stop, int) and stop <= step:
            if stop > 0:
                yield 0
                return
            with self.aside():
                yield 0
            return
        builder = self.builder
        before = builder.block
        head, after = self.blocks("loop", "done")
        limit = self.index(stop)
        if isinstance(stop, int):
            builder.branch(head)
        else:
            builder.cbranch(builder.icmp_signed(">", limit, self.index(0)), head, after)
        builder.position_at_end(head)
        counter = builder.phi(I64)
        counter.add_incoming(self.index(0), before)
        blocks = self.function.blocks
        first, count, long = len(blocks), len(self.nests), self._long
        self._depth += 1
        yield counter
        self._depth -= 1
        is_short = may_unroll(stop, has_long_loops=self._long != long)
        self._long += not is_short
        hints = hints or _UNROLLED[is_short]
        if not self._depth:
            steps = tuple(self.nests[count:])
            self.nests[count:] = [LoopRegion(before, head, (head, *blocks[first:]), after, steps)]
        following = builder.add(counter, self.index(step), flags=("nuw", "nsw"))
        counter.add_incoming(following, builder.block)
        back = builder.cbranch(builder.icmp_signed("<", following, limit), head, after)
        if hints:
            self.hint(back, hints)
        builder.position_at_end(after)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Blocks of their own for the code inside, which may become a function (outline.py)."""
        before, count = self.builder.block, len(self.nests)
        first, depth, self._depth = len(self.function.blocks), self._depth, 0
        (head,) = self.blocks("step")
        self.enter(head)
        yield
        self._depth = depth
        blocks = tuple(self.function.blocks[first:])
        (after,) = self.blocks("next")
        self.enter(after)
        loops = tuple(self.nests[count:])
        self.nests[count:] = [LoopRegion(before, head, blocks, after, loops, is_step=True)]

    def hint(self, back: Any, hints: Sequence[str]) -> None:
        """Give the loop that a branch goes back to names of LLVM's loop metadata.

        It begins with a reference to itself, which makes it distinct.
        """
        self.has_vector_loops |= hints != NOT_VECTORIZED
        said = [self.module.add_metadata(_words(self.module, hint)) for hint in hints]
        own = llvm.MDValue(self.module, said, name=str(len(self.module.metadata)))
        own.operands = (own, *said)
        back.set_metadata("llvm.loop", own)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A block of code that is unreachable."""
        dead, after = self.blocks("never", "after")
        self.builder.branch(after)
        self.builder.position_at_end(dead)
        yield
        self.enter(after)

    @contextmanager
    def nest(
        self, extents: Sequence[Index], hints: Sequence[str] = ()
    ) -> Iterator[tuple[Index, ...]]:
        """A loop over every index of the extents, the last one innermost, with `hints`."""
        if not extents:
            yield ()
            return
        own = () if extents[1:] else hints
        with self.range(extents[0], hints=own) as first, self.nest(extents[1:], hints) as rest:
            yield (first, *rest)

    @cached_property
    def _unlikely(self) -> Any:
        words = [llvm.MetaDataString(self.module, "branch_weights")]
        return self.module.add_metadata([*words, *(llvm.Constant(I32, n) for n in _UNLIKELY)])

    @contextmanager
    def rarely(self, condition: Any) -> Iterator[None]:
        """Code for an unlikely condition."""
        builder = self.builder
        inside, after = self.blocks("rare", "go_on")
        builder.cbranch(condition, inside, after).set_metadata("prof", self._unlikely)
        builder.position_at_end(inside)
        yield
        if not builder.block.is_terminated:
            builder.branch(after)
        builder.position_at_end(after)


def _words(module: llvm.Module, hint: str) -> list[Any]:
    """A hint as metadata: a name, and a number if one follows."""
    name, _, number = hint.partition("=")
    words: list[Any] = [llvm.MetaDataString(module, f"llvm.loop.{name}")]
    return [*words, llvm.Constant(I32, int(number))] if number else words
