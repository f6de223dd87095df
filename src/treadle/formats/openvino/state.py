"""ReadValue and Assign: a variable is an input `state:NAME` and an output `state:NAME:next`.

The input has the variable's initial value as its default, so a first run needs no feed; a later one
is fed the previous run's output. A computed initial value is used until the input
`state:NAME:given`, false by default, is true.

A variable of a body is carried through the enclosing loop, and passed through an If: both then use
the variable in their own block.
"""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.block_builder import LayerBlockBuilder
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.elements import element_type
from treadle.formats.openvino.records import Layer
from treadle.formats.openvino.shapes import read_shape
from treadle.formats.openvino.variables import Assigned, Variable
from treadle.ir import Block, Branch, Literal, Tensor, Value

MAIN = "main"
PREFIX = "state:"
SUFFIX = ":next"
_GIVEN = ":given"


def read_value(draft: LayerBlockBuilder, layer: Layer, operands: tuple[Value, ...]) -> Value:
    """Read the current value of a variable."""
    name = _name(layer)
    if name in draft.read_values:
        return draft.read_values[name]
    literal = draft.literals.get(operands[0]) if operands else _said(layer)
    if literal is not None:
        value = enter(draft, name, literal).before
    else:
        value = _computed(draft, name, operands[0])
    draft.read_values[name] = value
    return value


def assign(draft: LayerBlockBuilder, layer: Layer, operands: tuple[Value, ...]) -> None:
    """Assign a new value to a variable."""
    if len(operands) != 1:
        raise IrError("CF909", f"it has {len(operands)} inputs, wanted 1")
    draft.assigned[_name(layer)] = Assigned(operands[0], layer.line)


def enter(draft: LayerBlockBuilder, name: str, initial: Literal) -> Variable:
    """Have a block use a variable; raises IrError if another layer of it does."""
    if name in draft.variables:
        hint = "give each of them a variable of its own"
        raise IrError("CF908", f"the variable {name} is used by several layers and bodies", hint)
    rank_only = Tensor(initial.dtype, (None,) * initial.array.ndim)
    before = draft.value(f"{PREFIX}{name}", rank_only)
    draft.know(before, rank_only)
    variable = draft.variables[name] = Variable(before, initial)
    return variable


def settle(draft: LayerBlockBuilder) -> dict[str, Variable]:
    """The variables of a finished block, each with its final value."""
    for name, (value, line) in draft.assigned.items():
        variable = draft.variables.get(name)
        if variable is None:
            hint = "read it in the body that assigns it"
            raise IrError("CF908", f"nothing reads the variable {name} in this body", hint, line)
        variable.after = value
        given = draft.variables.get(f"{name}{_GIVEN}")
        if given is not None:
            given.after = draft.constant(np.array(True))
    return draft.variables


def _name(layer: Layer) -> str:
    if "variable_id" not in layer.data:
        raise IrError("CF905", "it has no attribute variable_id")
    return layer.data["variable_id"]


def _said(layer: Layer) -> Literal:
    """The initial value of a variable that only its attributes describe: zeros."""
    kind = element_type(layer.data.get("variable_type", ""))
    shape = read_shape(layer.data.get("variable_shape", "..."))
    if kind is None or shape is None:
        raise IrError(
            "CF905", "neither an input nor its attributes give the initial value of the variable"
        )
    extents = [dim if isinstance(dim, int) else 0 for dim in shape]
    return Literal.of(np.zeros(extents, kind.dtype.numpy))


def _computed(draft: LayerBlockBuilder, name: str, start: Value) -> Value:
    """The fed value, or else the computed initial value."""
    type_ = draft.type_of(start)
    if type_.dtype is None or type_.shape is None:
        raise IrError("CF908", "the type of the variable's initial value is not known")
    extents = [dim if isinstance(dim, int) else 0 for dim in type_.shape]
    before = enter(draft, name, Literal.of(np.zeros(extents, type_.dtype.numpy))).before
    given = enter(draft, f"{name}{_GIVEN}", Literal.of(np.array(False))).before
    sides = []
    for side, branch in (("then", 0), ("else", 1)):
        params = tuple(Value(word) for word in ("before", "start"))
        sides.append(Block(params, (), (), (params[branch],), name=side))
    result = draft.value(f"{name}/value", before.declared)
    info = draft.info("If")
    draft.steps.append(Branch(given, sides[0], sides[1], (before, start), (result,), info))
    return result
