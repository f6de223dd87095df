"""ReadValue and Assign: a variable is an input `state:NAME` and an output `state:NAME:next`.

The input has the variable's initial value as its default, so a first run needs no feed; a later one
is fed what the run before gave.
"""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.draft import Draft
from treadle.formats.openvino.elements import element_type
from treadle.formats.openvino.faults import Fault
from treadle.formats.openvino.records import Layer
from treadle.formats.openvino.shapes import read_shape
from treadle.ir import Literal, Tensor, Value

MAIN = "main"
_PREFIX = "state:"


def read_value(draft: Draft, path: str, layer: Layer, operands: tuple[Value, ...]) -> Value:
    """The input that stands for a variable."""
    name = f"{_PREFIX}{_variable(path, layer)}"
    known = next((p for p in draft.params if p.name == name), None)
    if known is not None:
        return known
    initial = _initial(draft, layer, operands)
    param = draft.param(name, Tensor(initial.dtype, (None,) * initial.array.ndim))
    draft.defaults[param] = initial
    return param


def assigned(path: str, layer: Layer, operands: tuple[Value, ...]) -> str:
    """The name of the output an Assign gives."""
    if len(operands) != 1:
        raise Fault("CF909", f"it has {len(operands)} inputs, wanted 1")
    return f"{_PREFIX}{_variable(path, layer)}:next"


def _variable(path: str, layer: Layer) -> str:
    if path != MAIN:
        hint = "carry it through the loop as a state instead"
        raise Fault("CF908", "a variable inside a body is not supported", hint)
    if "variable_id" not in layer.data:
        raise Fault("CF905", "it has no attribute variable_id")
    return layer.data["variable_id"]


def _initial(draft: Draft, layer: Layer, operands: tuple[Value, ...]) -> Literal:
    if operands:
        literal = draft.literals.get(operands[0])
        if literal is None:
            raise Fault("CF908", "a variable whose initial value is computed is not supported")
        return literal
    kind = element_type(layer.data.get("variable_type", ""))
    shape = read_shape(layer.data.get("variable_shape", "..."))
    if kind is None or shape is None:
        raise Fault("CF905", "neither an input nor its attributes say where the variable begins")
    extents = [dim if isinstance(dim, int) else 0 for dim in shape]
    return Literal.of(np.zeros(extents, kind.dtype.numpy))
