"""Converts a whole model to another opset: main block, functions, imports and IR version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from treadle.errors import Finding
from treadle.infer import IncrementalInference
from treadle.ir import (
    Block,
    Call,
    Constant,
    Function,
    FunctionId,
    Literal,
    Model,
    block_values,
    bodies,
    map_blocks,
    map_bodies,
    verified,
    walk,
)
from treadle.passes.expand_functions import Expand, expand_functions
from treadle.passes.expand_scan8 import SCAN
from treadle.passes.fixes import FOR_RUNTIMES, repair
from treadle.passes.inline_functions import inline_functions
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Change, Report
from treadle.passes.simplify import simplify
from treadle.passes.uniquify_names import uniquify_names
from treadle.passes.versions.convert import Conversion
from treadle.passes.versions.definitions import Definitions
from treadle.passes.versions.node_names import with_unique_node_names
from treadle.passes.versions.rewriter import Names
from treadle.passes.versions.scan8 import without_scan8

_SEQUENCE_MAP_SINCE = 17
_FIRST_IR_VERSIONS = {
    9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9,
    21: 10, 22: 10, 23: 11, 24: 12, 25: 13,
}  # fmt: skip
"""The IR version released with an opset (onnx's Versioning.md); 25 also covers newer ones."""
_ABOUT_LISTS = ("seq(", "optional(", "Sequence", "Optional")
_FUNCTIONS_SINCE = 8
_UNLISTED_SINCE = 4

WithoutLists = Callable[[Model, Obstacles], tuple[Model, Report]]
"""Gives the model with tensors in place of lists; what is in the way joins the obstacles."""


@verified
def convert_version(
    model: Model,
    opset: int,
    expand: Expand,
    ir_version: int | None = None,
    without_lists: WithoutLists | None = None,
) -> tuple[Model, Report]:
    """Convert the model to an opset of the standard's operators; returns it and the changes.

    If there are obstacles, it is tried once more on the simplified model, which has more constants
    and stacks instead of lists that only grow, then on the model that `without_lists` gives, which
    has tensors in place of all lists and optionals. `expand` returns the function by which the
    standard defines an operator. Raises Unsupported with every remaining obstacle.
    """
    converted, report, obstacles = _converted(model, opset, expand)
    if obstacles.found:
        simpler, cleaned = simplify(inline_functions(model))
        simpler = repair(simpler, FOR_RUNTIMES)[0]
        again, more, left = _converted(simpler, opset, expand)
        if len(left.found) <= len(obstacles.found):
            converted, report, obstacles = again, cleaned + more, left
        if obstacles.found and without_lists is not None:
            expanded = expand_functions(inline_functions(simpler), expand)
            told = Obstacles(obstacles.name)
            tensors, stacked = without_lists(expanded, told)
            obstacles.found += _with_clause(told.found, obstacles.found)
            if stacked.done:
                tensors = repair(simplify(tensors)[0], FOR_RUNTIMES)[0]
                converted, report, obstacles = _converted(tensors, opset, expand)
                report = cleaned + stacked + report
    obstacles.refuse()
    made = replace(converted, ir_version=_ir_version(model, opset, ir_version))
    return with_unique_node_names(_unlisted(made)), report


def _with_clause(lists: Sequence[Finding], steps: Sequence[Finding]) -> list[Finding]:
    """Why lists cannot become tensors, with the clause of a step that takes lists."""
    clauses = (found.clause for found in steps)
    clause = next((each for each in clauses if any(word in each for word in _ABOUT_LISTS)), "")
    return [replace(found, clause=found.clause or clause) for found in lists]


def _unlisted(model: Model) -> Model:
    """The model without constants that bodies list as inputs, which only IR version 3 allows."""
    if model.ir_version < _UNLISTED_SINCE:
        return model

    def changed(block: Block) -> Block:
        steps = tuple(map_bodies(step, lambda _, body: changed(body)) for step in block.steps)
        constants = tuple(replace(c, listed=False) if c.listed else c for c in block.constants)
        same = all(
            a is b for a, b in zip(steps + constants, block.steps + block.constants, strict=True)
        )
        return block if same else replace(block, steps=steps, constants=constants)

    return map_blocks(model, changed)


def _ir_version(model: Model, opset: int, wanted: int | None) -> int:
    if wanted is not None:
        return wanted
    least = _FIRST_IR_VERSIONS[min(max(opset, 9), 25)]
    if opset >= model.opsets.get("", 1):
        return max(model.ir_version, least)
    return min(model.ir_version, max(least, _FUNCTIONS_SINCE if model.functions else 0))


def _converted(model: Model, opset: int, expand: Expand) -> tuple[Model, Report, Obstacles]:
    model = without_calls(model, expand, opset)
    facts, definitions = IncrementalInference.of_model(model), Definitions(expand)
    names = Names(all_names(model))
    functions, done, whole = {}, list[Change](), True
    for identity, function in model.functions.items():
        inner = _with_constants(facts.in_function(identity), function.block)
        conversion = Conversion(opset, inner, names, definitions, strict=True)
        functions[identity] = _function(conversion, function, identity)
        done += conversion.done
        whole = whole and not conversion.obstacles.found
    if not whole:
        return _converted(uniquify_names(inline_functions(model)), opset, expand)
    conversion = Conversion(opset, facts, names, definitions)
    main = conversion.typed_block(model.main, "main")
    made = replace(model, main=main, functions=functions, opsets={**model.opsets, "": opset})
    return made, Report((*done, *conversion.done)), conversion.obstacles


def _function(conversion: Conversion, function: Function, identity: FunctionId) -> Function:
    block = conversion.block(function.block, str(identity))
    return replace(function, block=block, opsets={**function.opsets, "": conversion.target})


def _with_constants(facts: IncrementalInference, block: Block) -> IncrementalInference:
    for constant in _constants(block):
        if isinstance(constant.data, Literal):
            facts.constant(constant.value, constant.data)
    return facts


def _constants(block: Block) -> Sequence[Constant]:
    found = list(block.constants)
    for step in block.steps:
        for _, body in bodies(step):
            found += _constants(body)
    return found


def without_calls(model: Model, expand: Expand, opset: int = 0) -> Model:
    """The model without Scan-8, and without SequenceMap if the opset lacks it."""
    made = [v.step for v in walk(model) if isinstance(v.step, Call) and v.step.version]
    if any(step.function == SCAN for step in made):
        model = without_scan8(model)
    if made and opset < _SEQUENCE_MAP_SINCE:
        model = expand_functions(inline_functions(model), expand)
    return model


def all_names(model: Model) -> set[str]:
    """The names of every value of the model."""
    blocks = [model.main, *(function.block for function in model.functions.values())]
    blocks += [body for visit in walk(model) for _, body in bodies(visit.step)]
    return {value.name for block in blocks for value in block_values(block)}
