"""Inputs that are left out although the operator needs them: onnxruntime crashes the process."""

from __future__ import annotations

from treadle import ops
from treadle.ir import Leaf, Operands


def omission_refusal(step: Leaf, operands: Operands) -> str:
    """Why the step has no meaning with these operands; "" if it has.

    Inputs left out at the end are not written, so only what the schema needs is missed.
    """
    schema = ops.schema(step.domain, step.op, step.version)
    if schema is None or None not in operands:
        return ""
    position = ops.missed_input(schema, operands)
    return "" if position is None else f"input {position} of {step.op} is left out"
