"""CF702: imports domains that are used but not imported.

A domain of the model's functions gets version 1, any other domain its newest known version, as in
onnxruntime. Declines for the standard's own domain: the intended opset is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from treadle import ops
from treadle.ir import (
    Block,
    Leaf,
    Model,
    Step,
    domain_of,
    map_steps,
    walk_block,
)
from treadle.passes.fixes.fix import Fix


def import_opsets(model: Model) -> tuple[Model, list[Fix]]:
    """Import an opset for every domain of the model's nodes, and of each function's."""
    done: list[Fix] = []
    missing = _missing(model.main, model.opsets, {})
    opsets = {**model.opsets, **missing}
    main = _versioned(model.main, missing)
    done += _said(missing, "")
    functions = {}
    for identity, function in model.functions.items():
        own = _missing(function.block, function.opsets, model.opsets)
        block = _versioned(function.block, own)
        functions[identity] = replace(function, block=block, opsets={**function.opsets, **own})
        done += _said(own, str(identity))
    if not done:
        return model, []
    return replace(model, main=main, opsets=opsets, functions=functions), done


def _said(missing: Mapping[str, int], path: str) -> Iterable[Fix]:
    return [Fix("CF702", path, f'imported opset {v} of "{d}"') for d, v in missing.items()]


def _missing(block: Block, given: Mapping[str, int], known: Mapping[str, int]) -> dict[str, int]:
    domains = dict.fromkeys(domain_of(visit.step) for visit in walk_block(block))
    return {
        domain: known.get(domain) or ops.assumed_opset(domain) or 1
        for domain in domains
        if domain and domain not in given
    }


def _versioned(block: Block, opsets: Mapping[str, int]) -> Block:
    def change(step: Step) -> Step:
        if not isinstance(step, Leaf) or step.domain not in opsets:
            return step
        opset = opsets[step.domain]
        version = ops.since_version(step.domain, step.op, opset) or opset
        return replace(step, version=version, info=replace(step.info, version=version))

    return map_steps(block, change) if opsets else block
