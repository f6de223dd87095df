"""Rewrites loops that have no ONNX form, such as OpenVINO's, into ONNX forms.

OpenVINO's loops may slice inputs, and stack along any axis or in reverse; the pass for ONNX export
expresses both by Gather, Transpose and Slice.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.errors import Unsupported
from treadle.infer import infer
from treadle.ir import Block, Loop, Model, Value, bodies, with_operands
from treadle.passes import is_mixed, unmix_loops
from treadle.plan import Region


def in_onnx_forms(region: Region, model: Model) -> Region:
    """Copy the region over the same inputs, without mixed loops; its other values are new.

    Raises Unsupported if a mixed loop remains: a stacked element has no known rank.
    """
    if not _has_mixed(region.block()):
        return region
    told = {value: Value(value.name, value.type) for value in region.inputs}
    steps = tuple(with_operands(step, told) for step in region.steps)
    block = replace(region.block(), params=tuple(told.values()), steps=steps)
    main = unmix_loops(infer(Model(block, opsets=model.opsets))).main
    given = dict(zip(main.params, region.inputs, strict=True))
    steps = tuple(with_operands(step, given) for step in main.steps)
    outputs = tuple(value for value in main.results if value is not None)
    plain = replace(region, steps=steps, outputs=outputs, constants=main.constants)
    if _has_mixed(plain.block()):
        raise Unsupported(
            "Loop", None, "a loop that both slices and counts has no ONNX form", region.path
        )
    return plain


def _has_mixed(block: Block) -> bool:
    for step in block.steps:
        if isinstance(step, Loop) and is_mixed(step):
            return True
        if any(_has_mixed(body) for _, body in bodies(step)):
            return True
    return False
