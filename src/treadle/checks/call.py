"""Rules about calls of model-local functions: the number of inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.arity import counted
from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Call, Function, Model, walk


def findings(call: Call, function: Function, path: str) -> Iterator[Finding]:
    """Report a call with more inputs or outputs than the function has.

    Fewer are allowed: inputs and outputs left out at the end are absent.
    """
    for noun, given, most in (
        ("input", len(call.operands), len(function.block.params)),
        ("output", len(call.results), len(function.block.results)),
    ):
        if given > most:
            message = f"{call.function} is called with {counted(given, noun)}, it has {most}"
            yield finding("CF705", path, message, "remove the others")


def uncalled(model: Model) -> Iterator[Finding]:
    """Report functions that no step of the model calls."""
    called = {visit.step.function for visit in walk(model) if isinstance(visit.step, Call)}
    for identity in model.functions:
        if identity not in called:
            message = f"nothing calls the function {identity}"
            yield finding("CF708", str(identity), message, "remove it")
