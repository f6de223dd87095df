"""Replaces regions of a model by operators of a library: `operators.onnx`.

fits = treadle.DIGEST::lstm_0_fits(inputs) outputs = treadle.DIGEST::lstm_0(inputs) if fits else the
original steps
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from treadle.ir import (
    Block,
    Branch,
    DType,
    Leaf,
    Model,
    Step,
    Tensor,
    Value,
    clone_with_new_values,
    map_bodies,
    reads,
)
from treadle.plan import BlockPlan, Region

__all__ = ["FITS", "Operator", "with_operators", "with_params_of"]

FITS = "_fits"
"""The suffix of the operator that tests whether a region's kernels match."""


@dataclass(frozen=True, eq=False, slots=True)
class Operator:
    """The replacement of a region: an operator's name, and whether the original steps stay."""

    name: str
    has_fallback: bool


def with_operators(
    model: Model, plan: BlockPlan, operators: Mapping[Region, Operator], domain: str
) -> Model:
    """Replace regions of the model, also in bodies."""
    main = _with_operators(plan, operators, domain)
    return replace(model, main=main, opsets={**model.opsets, domain: 1})


def _with_operators(plan: BlockPlan, operators: Mapping[Region, Operator], domain: str) -> Block:
    steps: list[Step] = []
    for region in plan.regions:
        operator = operators.get(region)
        if operator is not None:
            steps += _instead(region, operator, domain)
        else:
            steps += (_with_bodies(step, region, operators, domain) for step in region.steps)
    block = replace(plan.block, steps=tuple(steps))
    read = {value for step in steps for value in reads(step)} | set(block.results)
    kept = read.union(block.params)
    constants = tuple(constant for constant in block.constants if constant.value in kept)
    return replace(block, constants=constants)


def _with_bodies(
    step: Step, region: Region, operators: Mapping[Region, Operator], domain: str
) -> Step:
    """Replace the regions in the bodies of a step."""

    def change(name: str, body: Block) -> Block:
        own = region.bodies.get(name)
        return body if own is None else _with_operators(own, operators, domain)

    return map_bodies(step, change)


def _instead(region: Region, operator: Operator, domain: str) -> list[Step]:
    if not operator.has_fallback:
        return [Leaf(domain, operator.name, 1, region.inputs, region.outputs)]
    fits = Value(f"{operator.name}{FITS}", Tensor(DType.BOOL, ()))
    asks = Leaf(domain, f"{operator.name}{FITS}", 1, region.inputs, (fits,))
    constants = tuple(constant.value for constant in region.constants)
    operands = (*region.inputs, *constants)
    branch = Branch(
        fits, _renewed(_compiled(region, operator, domain, operands), f"{operator.name}_then"),
        _renewed(Block(operands, (), region.steps, region.outputs), f"{operator.name}_else"),
        operands, region.outputs,
    )  # fmt: skip
    return [asks, branch]


def _compiled(region: Region, operator: Operator, domain: str, params: tuple[Value, ...]) -> Block:
    step = Leaf(domain, operator.name, 1, region.inputs, region.outputs)
    return Block(params, (), (step,), region.outputs)


def _renewed(block: Block, name: str) -> Block:
    """Copy the block over new values, with a unique name."""
    return replace(clone_with_new_values(block, partial(_unshaped, name)), name=name)


def _unshaped(name: str, value: Value) -> Value:
    """A copy of the value; for a tensor without its shape, which is dynamic."""
    known = value.type
    kind = Tensor(known.dtype, None) if isinstance(known, Tensor) else known
    return Value(f"{name}_{value.name}", kind)


def with_params_of(model: Model, original: Model) -> Model:
    """Declare the inputs of the model as those of another model, by name."""
    declared = {value.name: value.type for value in original.main.params}
    params = set(model.main.params)
    main = clone_with_new_values(
        model.main,
        lambda value: (
            Value(value.name, declared.get(value.name, value.type)) if value in params else value
        ),
    )
    return replace(model, main=main)
