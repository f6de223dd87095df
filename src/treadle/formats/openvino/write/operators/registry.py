"""The table of operators: the OpenVINO form of each, in all its versions.

    @operator("Gather")
    def gather(context): ...

A function returns one wire, or one for each result; `context.version` is the operator's version.
Operators without a row are replaced by their definition in the standard before a model is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.refusals import Refusal
from treadle.ir import Leaf

Made = Wire | tuple[Wire, ...]
Function = Callable[[OpContext], Made]
ML = "ai.onnx.ml"


class Row(NamedTuple):
    """One operator; `layer` names an equivalent layer with the same operands."""

    domain: str
    op: str
    function: Function
    layer: str = ""


ROWS: dict[tuple[str, str], Row] = {}


def register(op: str, function: Function, *, domain: str = "", layer: str = "") -> None:
    """Register a row; a second row for the same operator is a bug."""
    assert (domain, op) not in ROWS, f"two rows for {op}"
    ROWS[domain, op] = Row(domain, op, function, layer)


def operator(*ops: str, domain: str = "") -> Callable[[Function], Function]:
    """Register a function for operators."""

    def enter(function: Function) -> Function:
        for op in ops:
            register(op, function, domain=domain)
        return function

    return enter


def plain(table: dict[str, str]) -> None:
    """Register operators that become one layer with the same operands: op to layer and version."""
    for op, kind in table.items():
        register(op, _plain(kind), layer=kind)


def _plain(kind: str) -> Function:
    return lambda context: context.layer(kind, *context.all())


def lacks(leaf: Leaf) -> bool:
    """Whether an operator has no row, and so needs its definition."""
    return (leaf.domain, leaf.op) not in ROWS and _reason(leaf) is None


_SEQUENCE = "let the loop stack the elements (as a scan output) instead of appending them"
_REASONS: tuple[tuple[str, str, str], ...] = (
    ("Sequence", "OpenVINO IR has no sequences", _SEQUENCE),
    ("ConcatFromSequence", "OpenVINO IR has no sequences", _SEQUENCE),
    ("SplitToSequence", "OpenVINO IR has no sequences", "use Split, or slice in the loop"),
    ("Optional", "OpenVINO IR has no optionals", "use the value itself"),
    ("Random", "OpenVINO draws different random numbers", "make them an input of the model"),
    ("Multinomial", "OpenVINO draws different random numbers", "make them an input of the model"),
    ("Bernoulli", "OpenVINO draws different random numbers", "make them an input of the model"),
    ("String", "OpenVINO has no operators on strings", "do it before the model runs"),
    ("RegexFullMatch", "OpenVINO has no operators on strings", "do it before the model runs"),
    ("TfIdfVectorizer", "OpenVINO has no operators on strings", "do it before the model runs"),
)


def _reason(leaf: Leaf) -> tuple[str, str] | None:
    """Why an operator has no form, and a hint, if they are known."""
    reasons = ((why, hint) for prefix, why, hint in _REASONS if leaf.op.startswith(prefix))
    return next(reasons, None)


def row_of(leaf: Leaf) -> Row:
    """The row of a leaf; raises Refusal if there is none."""
    row = ROWS.get((leaf.domain, leaf.op))
    if row is not None:
        return row
    reason = _reason(leaf)
    if reason is not None:
        raise Refusal(*reason)
    named = f"{leaf.domain}::{leaf.op}" if leaf.domain else leaf.op
    raise Refusal(f"there is no layer, and no definition, for {named}", "replace it by others")
