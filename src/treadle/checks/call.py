"""Rules about calls of model-local functions: numbers of inputs and outputs, missing attributes."""

from __future__ import annotations

from collections.abc import Iterator

from treadle import ops
from treadle.checks.arity import counted
from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Call, Function, Leaf, Model, Reference, walk, walk_block


def findings(call: Call, function: Function, path: str) -> Iterator[Finding]:
    """Report a call with more inputs or outputs than the function has, or without an attribute.

    Fewer are allowed: inputs and outputs left out at the end are absent. An attribute may be left
    out if it has a default, or if no operator in the function requires it.
    """
    for noun, given, most in (
        ("input", len(call.operands), len(function.block.params)),
        ("output", len(call.results), len(function.block.results)),
    ):
        if given > most:
            message = f"{call.function} is called with {counted(given, noun)}, it has {most}"
            yield finding("CF705", path, message, "remove the others")
    absent = {n for n in function.attributes if n not in call.attributes}
    if not absent:
        return
    for name, operator in _required(function).items():
        if name in absent:
            message = f"{call.function} is called without {name}, which its {operator} requires"
            yield finding("CF209", path, message, f"give {name}")


def _required(function: Function) -> dict[str, str]:
    """The attributes of the function that an operator inside requires, and that operator."""
    return {
        attribute.value.name: step.op
        for step in (visit.step for visit in walk_block(function.block))
        if isinstance(step, Leaf)
        for name, attribute in step.attributes.items()
        if isinstance(attribute.value, Reference) and ops.requires(step, name)
    }


def uncalled(model: Model) -> Iterator[Finding]:
    """Report functions that no step of the model calls."""
    called = {visit.step.function for visit in walk(model) if isinstance(visit.step, Call)}
    for identity in model.functions:
        if identity not in called:
            message = f"nothing calls the function {identity}"
            yield finding("CF708", str(identity), message, "remove it")
