"""Attributes of opset 6 and older that opset 7 withdrew: left out where they say nothing.

    Add <broadcast = 1> (a, b)             Add (a, b)
    Add <broadcast = 1, axis = 0> (a, b)   declined

Without an axis, the old broadcasting is that of opset 7 wherever it is allowed.
"""

from __future__ import annotations

from dataclasses import replace

from treadle import ops
from treadle.ir import Leaf
from treadle.passes.versions.no_form import NoForm

_NEW = 7


def without_legacy_attributes(step: Leaf) -> Leaf:
    """The step without attributes that opset 7 withdrew; raises NoForm for one that counts."""
    version = ops.since_version("", step.op, _NEW)
    if version is None or step.version >= version:
        return step
    schema = ops.schema("", step.op, version)
    assert schema is not None, "a version has a schema"
    gone = step.attributes.keys() - schema.attributes.keys()
    counting = sorted(name for name in gone if not _says_nothing(step, name))
    if counting:
        why = f"opset 7 withdrew {', '.join(counting)}"
        raise NoForm(why, "bring the model to opset 7 with its own tools first")
    kept = {name: each for name, each in step.attributes.items() if name not in gone}
    return replace(step, attributes=kept) if gone else step


def _says_nothing(step: Leaf, name: str) -> bool:
    if name == "is_test":
        return step.attributes[name].value != 0
    return name == "consumed_inputs" or (name == "broadcast" and "axis" not in step.attributes)
