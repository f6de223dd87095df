"""The engine: jit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path

from treadle.ir import (
    Branch,
    Call,
    Leaf,
    Loop,
    Model,
    Optional,
    Sequence,
    Step,
    Tensor,
    Value,
    bodies,
    operator_of,
    reads,
)
from treadle.jit.lists import is_list
from treadle.jit.lower import escapes, lowering
from treadle.jit.nodes import NATIVE
from treadle.jit.runnable import Native
from treadle.jit.specialise import Lengths, conditions, known_inputs
from treadle.jit.store import Store, default_folder
from treadle.jit.team import cores
from treadle.plan import Region, Runnable, Verdict

_DEAR = frozenset(("Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"))
_OF_LISTS = frozenset(("SequenceEmpty", "SequenceLength", "SequenceAt", "ConcatFromSequence"))
_OF_SHAPES = frozenset(("Shape", "Size"))
_MOST_ELEMENTS = 65536


@dataclass(frozen=True, slots=True)
class Jit:
    """Compiles loops to machine code; an implementation of `plan.Engine`.

    `store` keeps the code for other processes; `threads` is how many a run may use;
    `counts`: the code counts iterations, since a run bounds them; `weighs`: so it does what loops
    hold.
    """

    store: Store | None = None
    threads: int = 1
    counts: bool = False
    weighs: bool = False

    @classmethod
    def of(cls, options: object) -> Jit:
        """With the settings that a session's options give it."""
        named = getattr(options, "cache_dir", None)
        folder = default_folder() if named is None else Path(named) if named else None
        threads = getattr(options, "intra_op_num_threads", 0) or cores()
        return cls(None if folder is None else Store(folder), threads)

    @property
    def name(self) -> str:
        """The name users give it by."""
        return "jit"

    def bounded(self, *, counts: bool, weighs: bool) -> Jit:
        """The engine for runs that bound their iterations, or what loops hold."""
        return replace(self, counts=counts, weighs=weighs)

    def judge(self, step: Step, model: Model, *, inside: bool) -> Verdict:
        """Whether it is a loop all of whose steps have native code."""
        if not isinstance(step, Loop):
            why = f"jit compiles loops, not {operator_of(step)} alone"
            return Verdict(False, why, None if inside else partial(_is_small, step))
        if inside and not (self.counts or self.weighs):
            return Verdict(False, "every iteration must be seen, and native code shows none")
        why = _refusal(step)
        return Verdict(False, f"jit: {why}") if why else Verdict(True, "compiled to native code")

    def prepare(self, region: Region, model: Model) -> Runnable:
        """The region, compiled for each kind of data when it first comes."""
        known = known_inputs(region, model)
        lists = tuple(k for k, value in enumerate(region.outputs) if is_list(value))
        lengths = Lengths.of(region)
        return Native(
            region, lengths, conditions(region), known, self.store, self.threads, lists,
            self.counts, self.weighs,
        )  # fmt: skip


def _is_small(step: Step) -> bool:
    """Whether the step is worth taking along beside a loop: native, cheap, its shapes known."""
    if not isinstance(step, Leaf) or step.op in _DEAR or not _is_native(step):
        return False
    if lowering(step.domain, step.op, step.version) is None:
        return False
    if step.op in _OF_LISTS:
        return True
    looked_at = step.results if step.op in _OF_SHAPES else (*step.operands, *step.results)
    shapes = [_extents(value) for value in looked_at if value is not None]
    return all(shape is not None and prod(shape) <= _MOST_ELEMENTS for shape in shapes)


def _extents(value: Value) -> tuple[int, ...] | None:
    """The shape where every extent of it is known."""
    shape = value.type.shape if isinstance(value.type, Tensor) else None
    if shape is None:
        return None
    extents = tuple(extent for extent in shape if isinstance(extent, int))
    return extents if len(extents) == len(shape) else None


def _refusal(step: Step) -> str:
    """Why it is not compiled; "" where it is."""
    match step:
        case Call():
            return f"no native code for {operator_of(step)}"
        case Leaf():
            is_known = lowering(step.domain, step.op, step.version) or escapes(step)
            return "" if is_known else f"no native code for {step.op}-{step.version}"
        case Loop() | Branch():
            inner = (_refusal(s) for _, body in bodies(step) for s in body.steps)
            return next(filter(None, inner), "")


def _is_native(step: Step) -> bool:
    """Whether what it reads and gives has a native form, as far as types tell."""
    for value in (*step.results, *reads(step)):
        type_ = value.type if value is not None else None
        while isinstance(type_, Optional | Sequence):
            type_ = type_.element
        if type_ is not None and not isinstance(type_, Tensor):
            return False
        if isinstance(type_, Tensor) and type_.dtype is not None and type_.dtype not in NATIVE:
            return False
    return True
