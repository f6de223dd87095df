"""What can be wrong with an If: its counts, its condition, how its branches agree."""

from __future__ import annotations

from treadle.checks.arity import body_outputs, counted, node_inputs, node_outputs
from treadle.checks.rules import finding
from treadle.errors import Finding


def arity(
    inputs: int,
    outputs: int,
    then_params: int,
    else_params: int,
    then_results: int,
    else_results: int,
    path: str,
) -> list[Finding]:
    """The counts of an If node and its branches, the same in every version (spec digest, 2.2).

    Outputs left out as "" count. A branch takes no inputs and gives one output per node output.
    """
    found = node_inputs("If", inputs, 1, 1, path) + node_outputs("If", outputs, path)
    wanted = f"it has {counted(outputs, 'output')}"
    for branch, params, results in (
        ("then_branch", then_params, then_results),
        ("else_branch", else_params, else_results),
    ):
        if params:
            message = f"the {branch} declares {counted(params, 'input')}, a branch takes none"
            hint = "read outer values by their names"
            found.append(finding("CF601", f"{path}.{branch}", message, hint))
        found += body_outputs(branch, results, outputs, wanted, path)
    return found
