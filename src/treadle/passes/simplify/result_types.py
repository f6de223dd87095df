"""Declares the types of all results of bodies, including those that passes added.

onnx's shape inference takes the types of a loop's outputs from there, and rejects a loop without
them. Unknown types stay undeclared.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, Declaration, Step, Value, map_bodies
from treadle.passes.erase_symbols import erase_symbols
from treadle.passes.simplify.context import PassContext


def with_result_types(block: Block, at: PassContext) -> Block:
    """Make bodies declare every result of proven type; the block's own results stay as they are."""

    def declared(step: Step) -> Step:
        return map_bodies(step, lambda _, body: with_result_types(_claiming(body, at), at))

    return replace(block, steps=tuple(map(declared, block.steps)))


def _claiming(body: Block, at: PassContext) -> Block:
    claims = body.claims or (Declaration(),) * len(body.results)
    pairs = zip(body.results, claims, strict=True)
    return replace(body, claims=tuple(_said(value, claim, at) for value, claim in pairs))


def _said(value: Value | None, claim: Declaration, at: PassContext) -> Declaration:
    if value is None or claim.type is not None:
        return claim
    return replace(claim, type=value.declared or erase_symbols(at.type(value)))
