"""What can be wrong with a Loop: its counts, its trip count and condition, what it carries."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.checks.arity import (
    absent_inputs,
    body_inputs,
    body_outputs,
    counted,
    node_inputs,
    node_outputs,
)
from treadle.checks.rules import finding
from treadle.errors import Finding

_LEAST_INPUTS_OF_LOOP_1 = 3


def arity(
    version: int,
    inputs: int,
    outputs: int,
    body_params: int,
    body_results: int,
    path: str,
    absent: Sequence[int] = (),
) -> list[Finding]:
    """The counts of an ONNX Loop node and its body (spec digest, sections 1 and 2.3).

    `inputs` and `outputs` count those left out as "" too; `absent` are the positions of such
    inputs. `body_params` are the body's inputs as the file has them, without those that an IR
    version up to 3 lists for its initializers.

        body_params == 2 + carried        where carried = inputs - 2
        body_results == 1 + outputs       where outputs = carried + stacked
    """
    least = _LEAST_INPUTS_OF_LOOP_1 if version < 11 else 2
    carried = max(inputs - 2, 0)
    found = node_inputs("Loop", inputs, least, None, path)
    found += node_outputs("Loop", outputs, path)
    found += absent_inputs("Loop", absent, 2, path)
    given = f"the iteration number, the condition and {counted(carried, 'carried value')}"
    found += body_inputs("body", body_params, 2 + carried, given, path)
    if outputs < carried:
        message = f"Loop has {counted(carried, 'carried value')} and {counted(outputs, 'output')}"
        hint = 'give it one output for each carried value; "" where it is not wanted'
        return [*found, finding("CF204", path, message, hint)]
    stacked = counted(outputs - carried, "stacked element")
    needed = f"the condition, {counted(carried, 'carried value')} and {stacked}"
    return found + body_outputs("body", body_results, 1 + outputs, needed, path)
