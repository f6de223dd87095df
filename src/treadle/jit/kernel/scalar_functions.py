"""The scalar functions of an Elementwise: one record for each, by its name.

A record has what all passes ask: operands and types, the cost and the length of the code, whether
operands may be combined in any order, and whether there is a form for vectors.
`codegen/scalar/functions.py` has the code of each, by the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS, is_float

Types = tuple[DType, ...]
Rule = Callable[[Types], Types | None]
"""The possible result types for these operand types; None if the operand types are invalid."""
Vectors = Callable[[Types, DType], bool]
"""Whether there is a form for vectors with these types of operands and result."""


@dataclass(frozen=True, eq=False, slots=True)
class Cost:
    """What one element of a scalar function costs, in nanoseconds (`costs.py` has the machine).

    `vectorized`: an element of four bytes in a vectorized loop; `float64`: one of float64 there.
    `alone`: at most, outside of such a loop. `weight`: the length of the code, in functions of a
    few instructions. `is_wide`: the code for float32 computes in float64.
    """

    vectorized: float
    float64: float
    alone: float
    weight: int = 1
    is_wide: bool = False


INSTRUCTIONS = Cost(0.006, 0.012, 0.5)
"""A few instructions."""
DIVISION = Cost(0.006, 0.012, 0.5)
"""A division."""
REMAINDER = Cost(0.006, 0.012, 0.5, is_wide=True)
"""A division, of float32 in float64."""
SERIES = Cost(0.12, 1.92, 4.0, 8)
"""Long code, a series in float32."""
WIDE_SERIES = Cost(1.0, 1.92, 4.0, 8, is_wide=True)
"""Long code, a series in float64."""
TRIGONOMETRIC = Cost(0.2, 0.8, 4.0, 8)
"""A series of an argument below a bound; in float64 without a fused multiply-add."""


def _no_vectors(operands: Types, result: DType) -> bool:
    return False


def _vectors(operands: Types, result: DType) -> bool:
    return True


def _vectors_of_floats(operands: Types, result: DType) -> bool:
    return is_float(result)


def _vectors_of_float32(operands: Types, result: DType) -> bool:
    return result is DType.FLOAT32


def _vectors_cast(operands: Types, result: DType) -> bool:
    return is_float(result) if is_float(operands[0]) else result is not DType.BOOL


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A scalar function: its number of operands, the rule of its types, and its cost.

    `has_float64_code`: float64 has code in the kernel; otherwise the C library is called for each
    element. `is_associative`: as a function of numbers that are not rounded; `rounds`: results of
    floats are rounded. `vectors`: for strategies that compute several elements at once.
    """

    operand_count: int
    types: Rule
    cost: Cost = INSTRUCTIONS
    has_float64_code: bool = True
    vectors: Vectors = _no_vectors
    is_associative: bool = False
    rounds: bool = True

    @property
    def is_expensive(self) -> bool:
        """Whether its code is long: unrolled for many elements, it takes seconds to compile."""
        return self.cost.weight > 1

    def has_long_code(self, dtype: DType) -> bool:
        """Whether its code for results of a type is long, and of vectors takes much less time."""
        return self.is_expensive and (dtype is not DType.FLOAT64 or self.has_float64_code)

    def is_reorderable(self, dtype: DType) -> bool:
        """Whether operands of this type give the same bits in every order."""
        return self.is_associative and not (self.rounds and is_float(dtype))

    def has_vector_form(self, operands: Types, result: DType) -> bool:
        """Whether several elements of these types can be computed at once."""
        are_wide = not any(dtype in SIXTEEN_BIT_FLOATS for dtype in (*operands, result))
        return are_wide and self.vectors(operands, result)


def _one_type(operands: Types) -> Types | None:
    return operands[:1] if len(set(operands)) == 1 else None


def _not_floats(operands: Types) -> Types | None:
    is_float = operands[0].numpy.kind not in "biu"
    return None if is_float else _one_type(operands)


def _truth(operands: Types) -> Types | None:
    return (DType.BOOL,) if len(set(operands)) == 1 else None


def _chosen(operands: Types) -> Types | None:
    condition, *sides = operands
    return _one_type(tuple(sides)) if condition is DType.BOOL else None


def _any(operands: Types) -> Types | None:
    return tuple(DType)


def _same_width(operands: Types) -> Types | None:
    return tuple(dtype for dtype in DType if dtype.bits == operands[0].bits)


def _order(operands: Types) -> Types | None:
    is_double = operands[0] is DType.FLOAT64
    return (DType.INT64 if is_double else DType.INT32,) if operands[0].numpy.kind == "f" else None


def _float32(operands: Types) -> Types | None:
    return operands if operands == (DType.FLOAT32,) else None


def _whole_power(operands: Types) -> Types | None:
    base, exponent = operands
    return (base,) if exponent in (DType.INT64, DType.UINT64) else None


def _functions(names: str, *fields: Any, **more: Any) -> Mapping[str, ScalarFunction]:
    return {name: ScalarFunction(*fields, **more) for name in names.split()}


def _series(names: str, types: Rule, cost: Cost) -> Mapping[str, ScalarFunction]:
    """Functions with code for float32; those of float64 are the C library's."""
    return _functions(names, 1, types, cost, False, vectors=_vectors_of_float32)


FUNCTIONS: Mapping[str, ScalarFunction] = {
    **_functions("neg abs", 1, _one_type, vectors=_vectors, rounds=False),
    **_functions("sqrt", 1, _one_type, vectors=_vectors),
    **_functions("ceil floor round", 1, _one_type, vectors=_vectors_of_floats),
    **_functions("sign reciprocal", 1, _one_type, vectors=_vectors_of_float32),
    **_functions("not", 1, _not_floats, vectors=_vectors),
    **_functions("exp log sigmoid softplus tanh", 1, _one_type, SERIES, vectors=_vectors),
    **_series("erf erfc", _one_type, SERIES),
    **_series("normal_tail", _float32, SERIES),
    **_functions("sin cos", 1, _one_type, TRIGONOMETRIC, False, vectors=_vectors_of_floats),
    **_series("tan", _one_type, WIDE_SERIES),
    **_series("asin acos atan expm1 sinh cosh asinh acosh atanh", _one_type, WIDE_SERIES),
    **_functions("pow", 2, _one_type, WIDE_SERIES, False),
    **_functions("div", 2, _one_type, DIVISION, vectors=_vectors_of_floats),
    **_functions("mod fmod", 2, _one_type, REMAINDER, False, vectors=_vectors_of_floats),
    **_functions("sub", 2, _one_type, vectors=_vectors),
    **_functions("add mul", 2, _one_type, vectors=_vectors, is_associative=True),
    **_functions("max min", 2, _one_type, vectors=_vectors, is_associative=True, rounds=False),
    **_functions("and or xor", 2, _not_floats, vectors=_vectors, is_associative=True),
    **_functions("shl shr", 2, _not_floats, vectors=_vectors),
    **_functions("equal not_equal less less_equal", 2, _truth, vectors=_vectors),
    **_functions("greater greater_equal", 2, _truth, vectors=_vectors),
    **_functions("where", 3, _chosen, vectors=_vectors),
    **_functions("cast", 1, _any, vectors=_vectors_cast),
    **_functions("bits", 1, _same_width, vectors=_vectors),
    **_functions("order", 1, _order, vectors=_vectors),
    **_functions("whole_pow", 2, _whole_power),
}
"""The scalar functions by name; a new one is a line here."""


def default_type(function: str, operands: Types) -> DType:
    """The only type that the result can have; else that of the first operand."""
    found = FUNCTIONS[function].types(operands) or operands
    return found[0] if len(found) == 1 else operands[0]


def check_types(function: str, operands: Sequence[DType], result: DType) -> Iterator[str]:
    """A sentence for each fault of a function with such operands and such a result."""
    if function not in FUNCTIONS:
        yield f"there is no scalar function {function}"
        return
    found = FUNCTIONS[function]
    if len(operands) != found.operand_count:
        yield f"{function} of {len(operands)} operands where {found.operand_count} are right"
        return
    results = found.types(tuple(operands))
    words = ", ".join(map(str, operands))
    if results is None:
        yield f"{function} of {words}"
    elif result not in results:
        yield f"{function} of {words} has no result {result}"
