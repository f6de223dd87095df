"""Rewrites every loop to the form of ONNX's Loop or Scan, for export.

    x sliced along `axis`           Gather(x, i, axis) in the body; -1 - i where reversed
    no trip count, but slices       trip count = the length of the longest of them
    stacked along another `axis`    stacked along 0, transposed behind the loop
    stacked in reverse              Slice by -1 behind the loop

A loop that only slices becomes a Scan, unless it may have no items: onnxruntime rejects a Scan of
length 0. Loops read from ONNX are left unchanged. Declines, loop by loop, if a stack of unknown
rank has to be transposed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from treadle import ops
from treadle.infer import infer
from treadle.ir import (
    Block,
    BlockBuilder,
    Branch,
    Condition,
    Invariant,
    Iteration,
    Leaf,
    Loop,
    Model,
    Role,
    Sliced,
    Stacked,
    Step,
    Tensor,
    Value,
    attribute,
    map_blocks,
    ports,
    reads,
    verified,
    walk,
)
from treadle.passes.copy_passthrough_results import copy_passthrough_results
from treadle.passes.inline_block import inline_blocks
from treadle.passes.uniquify_names import uniquify_names

_PLAIN = Stacked()


@verified
def to_onnx_loops(model: Model) -> Model:
    """Bring all loops into ONNX's forms, with types on all values; itself if all are.

    Bodies of other formats get unique result values and names.
    """
    loops = _loops(model)
    if not any(_is_foreign(loop) or is_mixed(loop) for loop in loops) and not _is_bare(model):
        return model
    if any(_is_foreign(v.step) for v in walk(model) if isinstance(v.step, Loop | Branch)):
        model = copy_passthrough_results(model)
        written = with_onnx_loops(infer(model), lambda loop: is_mixed(loop) or _may_be_empty(loop))
        return uniquify_names(written)
    return with_onnx_loops(infer(model), is_mixed)


@verified
def unmix_loops(model: Model) -> Model:
    """Rewrite the loops that have no ONNX form; the model must have types."""
    return with_onnx_loops(model, is_mixed) if any(map(is_mixed, _loops(model))) else model


def is_mixed(loop: Loop) -> bool:
    """Whether a loop has neither the form of ONNX's Loop nor of its Scan."""
    bent = any(stack != _PLAIN for stack in loop.stacks)
    if not ports(loop).sliced:
        return bent
    roles = set(map(type, loop.roles))
    if any((loop.trip, loop.condition, loop.body.results[0])) or _starts_empty(loop):
        return True
    return bool({Iteration, Condition} & roles)


def _starts_empty(loop: Loop) -> bool:
    """Whether a state that may change its shape starts with an extent of 0 and then grows.

    Such a state of a TensorIterator only keeps its last value. ONNX's Scan cannot express that: its
    states keep their shape.
    """
    return not loop.fixed_state and any(
        0 in _shape(port.initial) and _shape(port.initial) != _shape(port.next)
        for port in ports(loop).carried
    )


def _shape(value: Value | None) -> tuple[object, ...]:
    type_ = None if value is None else value.type
    return type_.shape or () if isinstance(type_, Tensor) else ()


def mixed_refusal(loop: Loop) -> str:
    """Why a mixed loop cannot be written in a form of ONNX; "" if it can."""
    orders = [_order(port.element, port.role) for port in ports(loop).stacked]
    return "" if None not in orders else "the rank of a stacked element is not known"


def _loops(model: Model) -> list[Loop]:
    return [visit.step for visit in walk(model) if isinstance(visit.step, Loop)]


def with_onnx_loops(model: Model, wanted: Callable[[Loop], bool]) -> Model:
    """Rewrite the selected loops as ONNX Loops; the model must have types, and gets types."""
    opset = model.opsets.get("", 0)

    def lowered(step: Step, path: str) -> Block | None:
        if not isinstance(step, Loop) or not wanted(step):
            return None
        # inner loops go first: replacing values have no types
        inner = inline_blocks(step.body, lowered, f"{path}.body")
        return _lowered(replace(step, body=inner), opset)

    return infer(map_blocks(model, lambda block: inline_blocks(block, lowered)))


def _is_bare(model: Model) -> bool:
    """Whether the types of its results are undeclared, which ONNX requires."""
    return not model.main.claims and any(v is None or v.type is None for v in model.main.results)


def _is_foreign(step: Loop | Branch) -> bool:
    return bool(step.info.domain)


def _may_be_empty(loop: Loop) -> bool:
    """Whether a loop other than a Scan may slice tensors without items."""
    sliced = ports(loop).sliced
    lengths = [_length(port.operand, port.role.axis) for port in sliced]
    has_items = any(isinstance(length, int) and length > 0 for length in lengths)
    return bool(sliced) and not loop.fixed_state and not has_items


def _length(value: Value | None, axis: int) -> object:
    shape = _shape(value)
    return shape[axis] if -len(shape) <= axis < len(shape) else None


def _lowered(loop: Loop, opset: int) -> Block | None:
    orders = [_order(port.element, port.role) for port in ports(loop).stacked]
    if any(order is None for order in orders):
        return None
    writer = _Writer(loop, opset)
    results = writer.loop()
    carried = len(results) - len(loop.stacks)
    made: list[Value] = list(results[:carried])
    for value, role, order in zip(results[carried:], loop.stacks, orders, strict=True):
        assert order is not None, "looked at above"
        made.append(writer.turned(value, role, order))
    return writer.builder.build(*made)


def _order(element: Value | None, role: Stacked) -> list[int] | None:
    """The permutation that moves axis 0 to the stack's axis; [] if it is there."""
    if role.axis == 0:
        return []
    type_ = None if element is None else element.type
    shape = type_.shape if isinstance(type_, Tensor) else None
    if shape is None:
        return None
    rank = len(shape) + 1
    order = list(range(1, rank))
    order.insert(role.axis % rank, 0)
    return [] if order == list(range(rank)) else order


class _Writer:
    """Rewrites one loop: the steps before it, the loop, and the steps after it."""

    def __init__(self, loop: Loop, opset: int) -> None:
        self.old, self.opset = loop, opset
        self.builder = BlockBuilder(loop.info.name)
        self.given = [
            self.builder.param(value.name if value is not None else "absent")
            for value in reads(loop)
        ]

    def _version(self, op: str) -> int:
        version = ops.since_version("", op, self.opset)
        assert version is not None, f"opset {self.opset} has no {op}"
        return version

    def leaf(self, op: str, *operands: Value, **attributes: object) -> Value:
        named = {name: attribute(name, value) for name, value in attributes.items()}
        return self.builder.leaf(op, self._version(op), *operands, attributes=named)

    def loop(self) -> tuple[Value, ...]:
        """The loop over whole values.

        Its results are those of the old one, stacked along axis 0.
        """
        old, operands = self.old, self.given[2:]
        trip = None if old.trip is None else self.given[0]
        condition = None if old.condition is None else self.given[1]
        if trip is None:
            trip = self._count()
        roles: tuple[Role, ...] = tuple(
            Invariant() if isinstance(r, Sliced) else r for r in old.roles
        )
        body, roles = self._body(roles)
        results = tuple(self.builder.value(v.name if v else "unused") for v in old.results)
        stacks = (_PLAIN,) * len(old.stacks)
        info = replace(old.info, domain="", op="Loop", version=self._version("Loop"))
        self.builder.add(Loop(trip, condition, roles, tuple(operands), body, stacks, results, info))
        return results

    def _count(self) -> Value | None:
        """The length of the sliced tensors: of the longest, so that a shorter one is an error."""
        fed = [role for role in self.old.roles if not isinstance(role, Iteration | Condition)]
        pairs = zip(fed, self.given[2:], strict=True)
        lengths = [self._length(v, role.axis) for role, v in pairs if isinstance(role, Sliced)]
        return self.leaf("Max", *lengths) if len(lengths) > 1 else next(iter(lengths), None)

    def _length(self, value: Value, axis: int) -> Value:
        axis_constant = self.builder.constant(np.array(axis))
        return self.leaf("Gather", self.leaf("Shape", value), axis_constant)

    def _body(self, roles: tuple[Role, ...]) -> tuple[Block, tuple[Role, ...]]:
        # [*params, slices] -> the same with whole values; the slices are gathered first
        body = self.old.body
        inner = BlockBuilder(body.name, [v.name for v in body.params])
        iteration = ports(self.old).iteration
        extra: tuple[Value, ...] = ()
        if iteration is None:
            iteration = inner.value("iteration")
            roles, extra = (*roles, Iteration()), (iteration,)
        params, steps = [], []
        back = None
        for role, param in zip(self.old.roles, body.params, strict=True):
            if not isinstance(role, Sliced):
                params.append(param)
                continue
            whole = inner.value(f"{param.name}_whole")
            params.append(whole)
            place = iteration
            if role.reverse:
                back = back or self._back(inner, iteration)
                place = back
            axis = {"axis": attribute("axis", role.axis)}
            operands = (whole, place)
            steps.append(Leaf("", "Gather", self._version("Gather"), operands, (param,), axis))
        before = inner.build()
        block = replace(
            body,
            params=(*params, *extra),
            constants=(*body.constants, *before.constants),
            steps=(*before.steps, *steps, *body.steps),
        )
        return block, roles

    def _back(self, inner: BlockBuilder, iteration: Value) -> Value:
        last = inner.constant(np.array(-1), "last")
        return inner.leaf("Sub", self._version("Sub"), last, iteration, result="from_behind")

    def turned(self, value: Value, role: Stacked, order: list[int]) -> Value:
        """The stack in the layout of the old loop."""
        if role.reverse:
            bounds = [self.builder.constant(np.array([n])) for n in (-1, -(2**63), 0, -1)]
            value = self.leaf("Slice", value, *bounds)
        return self.leaf("Transpose", value, perm=order) if order else value
