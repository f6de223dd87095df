"""The table of layer types: each type's ONNX form, by the opset that introduced it.

    @layer("Gather", 1, 7, 8)
    def gather(context): ...

The numbers are the opsets in which the operator, or a new form of it, appeared; `context.version`
is the form of the layer. A function returns one value, or one for each output.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.records import Layer
from treadle.ir import Value

NEWEST_OPSET = 16
Made = Value | tuple[Value, ...]
Function = Callable[[LayerContext], Made]


class Row(NamedTuple):
    """One form of one operator, valid from opset `version` on; `onnx` names an equivalent leaf."""

    type: str
    version: int
    function: Function
    onnx: str = ""


OPERATORS: dict[str, dict[int, Row]] = {}
"""Keyed by type in lower case, then by version."""


def register(type_: str, versions: tuple[int, ...], function: Function, onnx: str = "") -> None:
    """Register rows; a second row for the same version is a bug."""
    rows = OPERATORS.setdefault(type_.lower(), {})
    for version in versions:
        assert version not in rows, f"two rows for {type_}-{version}"
        rows[version] = Row(type_, version, function, onnx)


def layer(type_: str, *versions: int) -> Callable[[Function], Function]:
    """Register a function for an operator."""

    def enter(function: Function) -> Function:
        register(type_, versions, function)
        return function

    return enter


def plain(table: dict[str, tuple[str, int]]) -> None:
    """Register operators that become one leaf with the same operands: type to (leaf, opset)."""
    for type_, (op, version) in table.items():
        register(type_, (version,), _plain(op), op)


def _plain(op: str) -> Function:
    return lambda context: context.leaf(op, *context.operands)


def operator_of(layer_: Layer) -> Row:
    """The row of a layer; raises IrError for an unsupported type or version."""
    return _row(layer_.type, layer_.version)


@lru_cache(maxsize=1024)
def _row(type_: str, version: str) -> Row:
    rows = OPERATORS.get(type_.lower())
    if rows is None:
        known = [next(iter(each.values())).type for each in OPERATORS.values()]
        close = get_close_matches(type_, known, 1)
        hint = f"did you mean {close[0]}?" if close else "replace it before exporting the model"
        raise IrError("CF908", "there is no support for this operator", hint)
    number = opset_of(version)
    fitting = [form for form in rows if form <= number <= NEWEST_OPSET]
    if not fitting:
        forms = ", ".join(f"opset{form}" for form in sorted(rows))
        message = f'the version "{version}" of it is not supported'
        raise IrError("CF908", message, f"forms from {forms} up to opset{NEWEST_OPSET} are")
    return rows[max(fitting)]


@lru_cache(maxsize=256)
def opset_of(version: str) -> int:
    """The opset number in a layer's `version`; 0 if there is none."""
    digits = version.lower().removeprefix("opset")
    return int(digits) if digits.isdecimal() and len(digits) < 6 else 0
