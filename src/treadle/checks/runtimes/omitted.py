"""CF811: inputs left out at the end by an empty name, on which onnxruntime crashes the process.

Measured on releases 1.31 and 1.32, in child processes, for every operator of the standard: each
input of a node in a function, left out by the caller. The type rules of these operators look at
the number of inputs only, and then read the type of one that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Model, omissions

_CRASHES = {("", "LayerNormalization"): 2, ("", "DFT"): 2}
"""The position of the input, by operator."""


def of_omitted(model: Model) -> Iterator[Finding]:
    """Report nodes whose last input is left out, by an empty name or by a caller."""
    for omission in omissions(model):
        leaf = omission.leaf
        position = _CRASHES.get((leaf.domain, leaf.op))
        if position in omission.positions:
            who = (
                f"the call at {omission.caller} leaves out" if omission.caller else '"" stands for'
            )
            message = f"{who} input {position} of {leaf.op}: onnxruntime crashes the process"
            hint = "give the function the input, or inline it" if omission.caller else ""
            yield finding("CF811", omission.path, message, hint or "remove the empty name")
