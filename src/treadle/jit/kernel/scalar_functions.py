"""The scalar functions of an Elementwise: operand counts and types.

Their implementations are in `codegen/scalar/functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from treadle.ir import DType

Types = tuple[DType, ...]
Rule = Callable[[Types], Types | None]
"""The possible result types for these operand types; None if the operand types are invalid."""


def _one_type(operands: Types) -> Types | None:
    return operands[:1] if len(set(operands)) == 1 else None


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


def _table(rule: Rule, count: int, names: str) -> Mapping[str, tuple[int, Rule]]:
    return {name: (count, rule) for name in names.split()}


FUNCTIONS: Mapping[str, tuple[int, Rule]] = {
    **_table(_one_type, 1, "neg abs sign not reciprocal ceil floor round sqrt exp log expm1"),
    **_table(_one_type, 1, "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"),
    **_table(_one_type, 1, "sigmoid softplus erf erfc"),
    **_table(_float32, 1, "normal_tail"),
    **_table(_one_type, 2, "add sub mul div mod fmod pow shl shr max min and or xor"),
    **_table(_truth, 2, "equal not_equal less less_equal greater greater_equal"),
    **_table(_chosen, 3, "where"),
    **_table(_any, 1, "cast"),
    **_table(_same_width, 1, "bits"),
    **_table(_order, 1, "order"),
    **_table(_whole_power, 2, "whole_pow"),
}  # fmt: skip
"""The number of operands of each function, and the rule of its types."""


def check_types(function: str, operands: Sequence[DType], result: DType) -> Iterator[str]:
    """A sentence for each fault of a function with such operands and such a result."""
    if function not in FUNCTIONS:
        yield f"there is no scalar function {function}"
        return
    count, rule = FUNCTIONS[function]
    if len(operands) != count:
        yield f"{function} of {len(operands)} operands where {count} are right"
        return
    results = rule(tuple(operands))
    words = ", ".join(map(str, operands))
    if results is None:
        yield f"{function} of {words}"
    elif result not in results:
        yield f"{function} of {words} has no result {result}"
