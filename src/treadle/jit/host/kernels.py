"""The kernels of host calls: numpy's, or another engine's for single operators."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from treadle import ops
from treadle.errors import KernelError, Unsupported
from treadle.ir import Block, Constant, DType, Leaf, Literal, Model, Tensor, Type, Value
from treadle.messages import join_words
from treadle.ops import Prepared
from treadle.plan import (
    Engine,
    FallbackRequired,
    Region,
    RunContext,
    Runnable,
    is_compute_heavy,
)

Given = tuple[Type | None, np.ndarray | None]
"""The known type of an operand, and its elements if they are constant."""
_MAX_VARYING = 64
"""The number of operators remembered as having results of varying shape."""
_FLOATS = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)


@dataclass(eq=False, slots=True)
class HostKernels:
    """Finds the kernels of operators.

    `others` are the engines for operators that numpy lacks or computes slowly; `model` is the model
    that the operators belong to.
    """

    others: Sequence[Engine] = ()
    model: Model = field(default_factory=lambda: Model(Block()))
    _lent: dict[object, Leaf] = field(default_factory=dict)
    _ready: dict[Leaf, Prepared] = field(default_factory=dict)
    _varying: set[Leaf] = field(default_factory=set)

    def has(self, leaf: Leaf) -> bool:
        """Whether there is a kernel, judged by the operator alone."""
        return not leaf.blocks and (_is_numpys(leaf) or self._lender(leaf) is not None)

    def needs_another(self, leaf: Leaf) -> bool:
        """Whether only another engine has one."""
        return not _is_numpys(leaf) and self._lender(leaf) is not None

    def lends(self, leaf: Leaf) -> bool:
        """Whether it is a leaf that `fitted` returned for another engine."""
        return leaf in self._ready

    def fitted(self, leaf: Leaf, given: Sequence[Given | None]) -> Leaf:
        """The leaf to call for these operands, None for an absent one.

        It stands for a session of another engine if one runs it. Raises Unsupported if no engine
        can.
        """
        is_wanted = not _is_numpys(leaf) or (is_compute_heavy(leaf) and _is_of_floats(given))
        lender = self._lender(leaf) if is_wanted else None
        if lender is None:
            ops.bind_kernel(leaf)
            return leaf
        key = (leaf, *(each and (each[0], _digest(each[1])) for each in given))
        if key not in self._lent:
            made, constants = _over(leaf, given)
            self._ready[made] = self._borrowed(lender, made, constants)
            self._lent[key] = made
        return self._lent[key]

    def prepare(self, leaf: Leaf) -> Prepared:
        """The kernel of a leaf from `fitted`; the caller is inside `ops.ignore_fp_warnings()`."""
        ready = self._ready.get(leaf)
        return ops.bind_kernel(leaf, silent=False) if ready is None else ready

    def vary(self, leaf: Leaf) -> bool:
        """Record that its results vary in shape; returns whether this is new."""
        is_new = leaf not in self._varying and len(self._varying) < _MAX_VARYING
        if is_new:
            self._varying.add(leaf)
        return is_new

    def varies(self, leaf: Leaf) -> bool:
        """Whether its results are recorded as varying in shape."""
        return leaf in self._varying

    def _lender(self, leaf: Leaf) -> Engine | None:
        verdicts = ((e, e.judge(leaf, self.model, inside=False)) for e in self.others)
        return next((engine for engine, verdict in verdicts if verdict.takes), None)

    def _borrowed(self, lender: Engine, leaf: Leaf, constants: Sequence[Constant]) -> Prepared:
        """The single leaf as a region of another engine; numpy runs operands that it declines."""
        known = {constant.value for constant in constants}
        inputs = [(k, v) for k, v in enumerate(leaf.operands) if v is not None and v not in known]
        outputs = tuple(value for value in leaf.results if value is not None)
        region = Region(
            leaf.info.path, lender.name, "", (leaf,), tuple(value for _, value in inputs), outputs,
            constants=tuple(constants),
        )  # fmt: skip
        call = _by_name(lender.prepare(region, self.model), [value.name for _, value in inputs])
        places = [(value.name, k) for k, value in inputs]
        own, is_whole = _numpys(leaf), len(outputs) == len(leaf.results)

        def run(operands: Sequence[Any]) -> tuple[Any, ...]:
            try:
                made = call({name: operands[index] for name, index in places})
            except FallbackRequired as refusal:
                if own is not None:
                    return own(operands)
                given = join_words(map(ops.describe, operands))
                name = f"{leaf.op}-{leaf.version}({given})"
                raise KernelError(f"{name}: {refusal.error.reason}") from refusal
            if is_whole:
                return tuple(made)
            rest = iter(made)
            return tuple(None if value is None else next(rest) for value in leaf.results)

        return run


def _by_name(runnable: Runnable, names: Sequence[str]) -> Callable[[dict[str, Any]], Sequence[Any]]:
    """A call of the runnable with its inputs in order, by name."""
    call = runnable.traits.by_name(names) or (
        lambda feed: cast(list[Any], runnable(tuple(feed.values()), RunContext(waits=True)))
    )
    return cast(Callable[[dict[str, Any]], Sequence[Any]], call)


def _numpys(leaf: Leaf) -> Prepared | None:
    """Numpy's kernel, if there is one."""
    try:
        return ops.bind_kernel(leaf, silent=False)
    except Unsupported:
        return None


def _is_numpys(leaf: Leaf) -> bool:
    return ops.kernel(leaf.domain, leaf.op, leaf.version) is not None


def _is_of_floats(given: Sequence[Given | None]) -> bool:
    """Whether results may differ in their last bits only; integers must be identical."""
    type_ = given[0][0] if given and given[0] is not None else None
    return isinstance(type_, Tensor) and type_.dtype in _FLOATS


def _digest(array: np.ndarray | None) -> object:
    """A key of these elements: equal elements may be another array each time."""
    if array is None:
        return None
    elements = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return array.shape, hashlib.sha256(elements.data).digest()


def _over(leaf: Leaf, given: Sequence[Given | None]) -> tuple[Leaf, list[Constant]]:
    """The leaf over new values of these types, and the constants among them."""
    values = [each and Value(f"x{k}", each[0]) for k, each in enumerate(given)]
    results = [v and Value(f"y{k}", None, v.inferred) for k, v in enumerate(leaf.results)]
    own = replace(leaf, operands=tuple(values), results=tuple(results))
    return own, list(_constants(values, given))


def _constants(values: Sequence[Value | None], given: Sequence[Given | None]) -> Iterator[Constant]:
    for value, each in zip(values, given, strict=True):
        if value is not None and each is not None and each[1] is not None:
            yield Constant(value, Literal.of(each[1], value.name))
