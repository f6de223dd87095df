"""Selects the parts of a model that become operators of onnxruntime: all of it, or its loops.

the whole model, if all of it has profitable native code
otherwise, in every block, outermost first:
    each loop that has native code, with the small steps around it
    loops in the bodies of the other steps
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from treadle import jit
from treadle.build.kernels import Leaving, fits_always, leaving, why_loses
from treadle.build.typings import Typing
from treadle.errors import Unsupported
from treadle.ir import Branch, Leaf, Loop, Model, Step, Type, bodies, ports
from treadle.jit import FreeKernel
from treadle.plan import (
    BlockPlan,
    EngineTraits,
    Region,
    RunContext,
    RunnableTraits,
    Verdict,
    plan,
    whole_region,
)

__all__ = ["Partition", "partition_of"]


@dataclass(frozen=True, eq=False, slots=True)
class Partition:
    """A model's blocks in regions, the kernels of compiled ones, and the reasons against others.

    `is_certain`: the kernels match all possible inputs of the model.
    """

    main: BlockPlan
    leaving: Mapping[Region, Leaving]
    reasons: tuple[str, ...]
    is_certain: bool = False


def partition_of(
    model: Model, typings: Sequence[Typing], declared: Mapping[str, Type | None]
) -> Partition:
    """Partition a model; each part gets a kernel for each of the typings.

    `declared` are the types of the model's inputs, which onnxruntime checks.
    """
    whole, reasons = _as_a_whole(model, typings, declared)
    parts = whole or _in_parts(model, typings)
    return parts if parts.leaving or parts.reasons else replace(parts, reasons=reasons)


def _as_a_whole(
    model: Model, typings: Sequence[Typing], declared: Mapping[str, Type | None]
) -> tuple[Partition | None, tuple[str, ...]]:
    """The model as one operator; or why it is none."""
    region = whole_region(model)
    if not any(any(bodies(step)) for step in region.steps):
        return None, ()
    found = leaving(region, _types(region, typings))
    fed = [declared.get(value.name) for value in region.inputs]
    is_certain = any(fits_always(kernel, fed) for kernel in found.kernels)
    reasons = found.reasons or why_loses(region, found, is_certain=is_certain)
    if reasons or not all(_keeps_lengths(region, kernel) for kernel in found.kernels):
        return None, reasons
    main = BlockPlan(model.main, "main", (region,))
    return Partition(main, {region: found}, (), is_certain), ()


def _keeps_lengths(region: Region, kernel: FreeKernel) -> bool:
    """Whether loops may slice the inputs at any length, as they may in a loop."""
    numbers = {value: number for number, value in enumerate(region.inputs)}
    sliced = {
        (numbers[port.operand], port.role.axis)
        for step in region.steps
        if isinstance(step, Loop)
        for port in ports(step).sliced
        if port.operand in numbers
    }
    return sliced & set(kernel.open_axes) <= kernel.looped


def _in_parts(model: Model, typings: Sequence[Typing]) -> Partition:
    engine = _Leaver(typings)
    main = plan(model, (engine,)).main
    chosen = {
        each: each.runnable.found
        for each in _regions(main)
        if isinstance(each.runnable, _Left)
    }  # fmt: skip
    return Partition(main, chosen, tuple(dict.fromkeys(engine.reasons)))


def _types(region: Region, typings: Sequence[Typing]) -> list[list[Type | None]]:
    return [[typing(value) for value in region.inputs] for typing in typings]


def _regions(block: BlockPlan) -> Iterator[Region]:
    """The regions of a block and its bodies."""
    for region in block.regions:
        yield region
        for body in region.bodies.values():
            yield from _regions(body)


@dataclass(frozen=True, eq=False, slots=True)
class _Left:
    """Stands for a compiled region: it is not run in this process."""

    found: Leaving

    @property
    def traits(self) -> RunnableTraits:
        """It has no abilities."""
        return RunnableTraits()

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """Raise an error: the region is not run in this process."""
        raise AssertionError("a compiled region is not run in this process")


@dataclass(frozen=True, eq=False, slots=True)
class _Leaver:
    """Judges which steps can be compiled; an implementation of `plan.Engine` for the planner."""

    typings: Sequence[Typing]
    reasons: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name in plans."""
        return "library"

    @property
    def traits(self) -> EngineTraits:
        """It has no abilities."""
        return EngineTraits()

    def judge(self, step: Step, model: Model, *, inside: bool) -> Verdict:
        """Whether it is a step that contains a loop, and has native code completely."""
        missing = dict.fromkeys(jit.operators_without_code((step,)))
        why = "; ".join(f"{operator} has no native code" for operator in missing)
        if isinstance(step, Leaf):
            joins = None if why else partial(jit.may_join, step, model)
            return Verdict(False, why or "no loop", joins)
        if not why and _has_loop(step):
            return Verdict(True, "it has native code")
        if why and isinstance(step, Loop):
            self.reasons.append(why)
        is_branch = isinstance(step, Branch) and not why
        return Verdict(False, why or "no loop", partial(bool, is_branch) if is_branch else None)

    def prepare(self, region: Region, model: Model) -> _Left:
        """Compile the kernels of the region.

        Raises Unsupported if there are none or they do not pay.
        """
        found = leaving(region, _types(region, self.typings))
        reasons = found.reasons or why_loses(region, found, is_certain=False)
        if reasons:
            self.reasons.extend(reasons)
            raise Unsupported(region.path, None, "; ".join(reasons))
        return _Left(found)


def _has_loop(step: Step) -> bool:
    return isinstance(step, Loop) or any(
        _has_loop(each) for _, body in bodies(step) for each in body.steps
    )
