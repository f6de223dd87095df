"""Functions of floats with a branch for rare arguments, whose calls LLVM's vectorizer takes.

A branch in the body of a loop would keep its vectorizer from the loop. So the code is a function,
and a function for each number of lanes of the machine's vectors, which the vectorizer calls: the
attribute vector-function-abi-variant of the first names the others. They are inlined once the
vectorizers have run (`toolchain/llvm.py`), and those not called are dropped.

    usual        all lanes, by code that is right for usual arguments
    rare         if one is not usual, all lanes again, by code that is right for every argument: the
                 results of those that are not
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder, i64
from treadle.jit.codegen.llvm_types import F64, I1, I32, element_type, undefined
from treadle.jit.kernel.artifact import INLINED_LATE

Emit = Callable[..., Any]
"""From a builder and operands to a result."""
_FEWEST_LANES = 4
_PURE = ("nounwind", "readnone")
_RARE = "rare."
_VARIANTS = "vector-function-abi-variant"


@dataclass(frozen=True, slots=True)
class RareArguments:
    """A function of floats whose code for usual arguments is shorter than that for all.

    Each lane has the result of `usual` where `is_usual` holds for it, else that of `rare`, whatever
    its neighbours are.
    """

    name: str
    is_usual: Emit
    usual: Emit
    rare: Emit


def called(function: RareArguments, builder: FunctionBuilder, *operands: Any) -> Any:
    """A call of the function for operands of this type: numbers, or vectors, long ones in parts."""
    type_ = operands[0].type
    lanes = _lanes_of(builder, element_type(type_))
    if isinstance(type_, llvm.VectorType) and type_.count > lanes and not type_.count % lanes:
        return _in_parts(builder, partial(called, function, builder), lanes, operands)
    made = _function(function, builder, type_, len(operands))
    if element_type(type_) is type_ and not _has_variants(made):
        _name_variants(function, builder, made, len(operands))
    return builder.builder.call(made, operands)


def _lanes_of(builder: FunctionBuilder, type_: Any) -> int:
    """The lanes of a vector register."""
    return int(builder.target.vector_bytes // (8 if type_ == F64 else 4))


def _in_parts(builder: FunctionBuilder, function: Emit, lanes: int, operands: Any) -> Any:
    """A function of vectors, register by register."""
    count, found = operands[0].type.count, undefined(operands[0].type)
    for first in range(0, count, lanes):
        own = _numbers(range(first, first + lanes))
        parts = [_chosen(builder, each, each, own) for each in operands]
        made = function(*parts)
        wide = _chosen(builder, made, made, _numbers([k % lanes for k in range(count)]))
        is_own = (first <= k < first + lanes for k in range(count))
        order = [count + k if mine else k for k, mine in enumerate(is_own)]
        found = _chosen(builder, found, wide, _numbers(order))
    return found


def _numbers(numbers: Sequence[int]) -> Any:
    return llvm.Constant(llvm.VectorType(I32, len(numbers)), list(numbers))


def _chosen(builder: FunctionBuilder, first: Any, second: Any, order: Any) -> Any:
    return builder.builder.shuffle_vector(first, second, order)


def is_vector_function(function: llvm.Function) -> bool:
    """Whether it was written here: not for passes that look for loops or steps."""
    return bool(function.name.startswith((INLINED_LATE, _RARE)))


def _name_variants(
    function: RareArguments, builder: FunctionBuilder, made: Any, count: int
) -> None:
    """Write the function for vectors of the machine, and name them as variants of the plain one."""
    type_, names = made.ftype.return_type, []
    lanes = _lanes_of(builder, type_)
    while lanes >= _FEWEST_LANES // (2 if type_ == F64 else 1):
        vector = llvm.VectorType(type_, lanes)
        variant = _function(function, builder, vector, count)
        names.append(f"_ZGV_LLVM_N{lanes}{'v' * count}_{made.name}({variant.name})")
        lanes //= 2
    said = f'"{_VARIANTS}"="{",".join(names)}"'
    set.add(made.attributes, said)  # llvmlite knows no attributes of this form


def _has_variants(made: Any) -> bool:
    return any(_VARIANTS in each for each in made.attributes)


def _function(function: RareArguments, builder: FunctionBuilder, type_: Any, count: int) -> Any:
    name = f"{INLINED_LATE}{function.name}.{i64(type_)}"
    found = builder.module.globals.get(name)
    if found is not None:
        return found
    w = _declared(builder, name, type_, count)
    b, given = w.builder, w.function.args
    usual, is_usual = function.usual(w, *given), function.is_usual(w, *given)
    result = w.variable(type_, usual)
    with w.rarely(_any(w, b.not_(is_usual))):
        every = b.call(_for_all(function, builder, type_, count), given)
        b.store(b.select(is_usual, usual, every), result)
    b.ret(b.load(result, typ=type_))
    w.close_entry()
    return w.function


def _for_all(function: RareArguments, builder: FunctionBuilder, type_: Any, count: int) -> Any:
    """The function for rare arguments, which is never inlined."""
    w = _declared(builder, f"{_RARE}{function.name}.{i64(type_)}", type_, count)
    w.function.linkage = "internal"
    for attribute in ("cold", "noinline"):
        w.function.attributes.add(attribute)
    w.builder.ret(function.rare(w, *w.function.args))
    w.close_entry()
    return w.function


def _declared(builder: FunctionBuilder, name: str, type_: Any, count: int) -> FunctionBuilder:
    made = llvm.Function(builder.module, llvm.FunctionType(type_, [type_] * count), name)
    for attribute in _PURE:
        made.attributes.add(attribute)
    return FunctionBuilder(builder.module, made, builder.target)


def _any(builder: FunctionBuilder, lanes: Any) -> Any:
    """Whether a bit is set in any lane."""
    if element_type(lanes.type) is lanes.type:
        return lanes
    name = f"llvm.vector.reduce.or.{i64(lanes.type)}"
    return builder.builder.call(builder.external(name, I1, lanes.type), [lanes])


def by_lane(builder: FunctionBuilder, function: Emit, *operands: Any) -> Any:
    """A function of numbers for each lane of vectors."""
    type_ = operands[0].type
    if element_type(type_) is type_:
        return function(*operands)
    b, found = builder.builder, undefined(type_)
    for lane in (llvm.Constant(I32, number) for number in range(type_.count)):
        each = function(*(b.extract_element(operand, lane) for operand in operands))
        found = b.insert_element(found, each, lane)
    return found
