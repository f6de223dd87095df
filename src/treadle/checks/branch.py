"""Rules about If: its counts, its condition, and whether its branches agree."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.arity import body_outputs, counted, node_inputs, node_outputs
from treadle.checks.constants import Known, is_true
from treadle.checks.rules import finding
from treadle.checks.types import (
    disallowed,
    is_one_element,
    is_tensor_of,
    kinds_contradict,
    shapes_contradict,
)
from treadle.errors import Finding
from treadle.ir import Branch, DType, Value, show_type

_UNEQUAL_SHAPES_FROM = 11


def arity(
    inputs: int,
    outputs: int,
    then_params: int,
    else_params: int,
    then_results: int,
    else_results: int,
    path: str,
) -> list[Finding]:
    """Check the counts of an If node and its branches.

    They are the same in every version (Operators.md, If).

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


def findings(branch: Branch, path: str) -> Iterator[Finding]:
    """Find every contradiction between the types of a Branch's values and the standard."""
    type_ = branch.condition.inferred
    found = f"the condition {branch.condition.name} is {show_type(type_)}"
    if not is_tensor_of(type_, DType.BOOL):
        yield finding("CF602", path, f"{found}, wanted bool[]", "cast it to bool")
    elif not is_one_element(type_):
        yield finding("CF603", path, f"{found}, wanted one element", "reduce it to one element")
    pairs = zip(branch.then.results, branch.otherwise.results, strict=True)
    for position, pair in enumerate(pairs):
        yield from _results(branch, position, *pair, path)
    if branch.info.op == "If" and not branch.info.domain:
        yield from disallowed("If", branch.info.version, branch.results, path)


def _results(
    branch: Branch, position: int, then: Value | None, otherwise: Value | None, path: str
) -> Iterator[Finding]:
    if then is None or otherwise is None:
        return
    one, two = then.inferred, otherwise.inferred
    message = (
        f"output {position} is {show_type(one)} in the then_branch ({then.name})"
        f" and {show_type(two)} in the else_branch ({otherwise.name})"
    )
    if kinds_contradict(one, two):
        yield finding("CF604", path, message, "let both branches give the same type")
    elif _wants_equal_shapes(branch) and shapes_contradict(one, two):
        hint = f"If-{branch.info.version} wants equal shapes; import opset 11 or newer"
        yield finding("CF605", path, message, hint)


def _wants_equal_shapes(branch: Branch) -> bool:
    return not branch.info.domain and 0 < branch.info.version < _UNEQUAL_SHAPES_FROM


def advice(branch: Branch, path: str, known: Known) -> Iterator[Finding]:
    """Report a condition that has the same value in every run."""
    truth = is_true(known, branch.condition)
    if truth is not None:
        word, never = ("true", "else_branch") if truth else ("false", "then_branch")
        message = f"the condition {branch.condition.name} is always {word}: the {never} never runs"
        yield finding("CF606", path, message, "replace the If by the other branch")
