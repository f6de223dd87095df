"""Rules about attributes that refer to an attribute of the function around their node."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from treadle import ops
from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Block, Call, Leaf, Model, Reference, walk_block


def findings(model: Model) -> Iterator[Finding]:
    """Report references in the main graph, and references to attributes a function does not have.

    The first have no value. onnxruntime reads 0, "" or an empty list, which the file does not say.
    """
    yield from _undeclared(model.main, "main", None)
    for identity, function in model.functions.items():
        declared = {*function.attributes, *function.defaults}
        yield from _undeclared(function.block, str(identity), declared)


def _undeclared(block: Block, path: str, declared: Collection[str] | None) -> Iterator[Finding]:
    for visit in walk_block(block, path):
        if not isinstance(visit.step, Leaf | Call):
            continue
        for name, attribute in visit.step.attributes.items():
            reference = attribute.value
            if not isinstance(reference, Reference):
                continue
            if declared is None:
                message = f"{name} refers to the attribute {reference.name} of a function"
                message = f"{message}, but the node is in no function"
                yield finding("CF212", visit.path, message, f"write the value of {name}")
            elif reference.name not in declared:
                message = f"{name} refers to {reference.name}, which its function does not declare"
                hint = f"declare {reference.name} as an attribute of the function"
                required = isinstance(visit.step, Leaf) and ops.requires(visit.step, name)
                yield finding("CF213", visit.path, message, hint, blocks=required)
