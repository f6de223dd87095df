"""The scalar functions of an Elementwise: operand counts, types and costs.

Their implementations are in `codegen/scalar/functions.py`. Schedules, the cost model and safepoints
read the costs from here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.ir import DType

Types = tuple[DType, ...]
Rule = Callable[[Types], Types | None]
"""The possible result types for these operand types; None if the operand types are invalid."""


class Cost(enum.Enum):
    """The cost class of a scalar function: which code computes one float32 element.

    INSTRUCTIONS  a few instructions
    DIVISION      a division
    SERIES        long code, a series in float32
    WIDE_SERIES   long code, a series in float64
    """

    INSTRUCTIONS = enum.auto()
    DIVISION = enum.auto()
    SERIES = enum.auto()
    WIDE_SERIES = enum.auto()


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A scalar function: its number of operands, the rule of its types, and its cost.

    `has_float64_code`: float64 has code in the kernel; otherwise the C library is called for each
    element.
    """

    operand_count: int
    types: Rule
    cost: Cost = Cost.INSTRUCTIONS
    has_float64_code: bool = True

    @property
    def is_expensive(self) -> bool:
        """Whether its code is long: unrolled for many elements, it takes seconds to compile."""
        return self.cost in (Cost.SERIES, Cost.WIDE_SERIES)


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


def _functions(names: str, *fields: Any) -> Mapping[str, ScalarFunction]:
    return {name: ScalarFunction(*fields) for name in names.split()}


FUNCTIONS: Mapping[str, ScalarFunction] = {
    **_functions("neg abs sign reciprocal ceil floor round sqrt", 1, _one_type),
    **_functions("not", 1, _not_floats),
    **_functions("exp log sigmoid softplus tanh", 1, _one_type, Cost.SERIES),
    **_functions("erf erfc", 1, _one_type, Cost.SERIES, False),
    **_functions("normal_tail", 1, _float32, Cost.SERIES, False),
    **_functions("sin cos tan asin acos atan expm1", 1, _one_type, Cost.WIDE_SERIES, False),
    **_functions("sinh cosh asinh acosh atanh", 1, _one_type, Cost.WIDE_SERIES, False),
    **_functions("pow", 2, _one_type, Cost.WIDE_SERIES, False),
    **_functions("div", 2, _one_type, Cost.DIVISION),
    **_functions("mod fmod", 2, _one_type, Cost.DIVISION, False),
    **_functions("add sub mul max min", 2, _one_type),
    **_functions("and or xor shl shr", 2, _not_floats),
    **_functions("equal not_equal less less_equal greater greater_equal", 2, _truth),
    **_functions("where", 3, _chosen),
    **_functions("cast", 1, _any),
    **_functions("bits", 1, _same_width),
    **_functions("order", 1, _order),
    **_functions("whole_pow", 2, _whole_power),
}
"""The scalar functions by name; a new one is a line here."""


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
