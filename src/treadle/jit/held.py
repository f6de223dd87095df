"""What native code has no form for: held outside for a run, natively the number of its place.

Strings, optionals, sequences of elements that differ, tensors of unknown rank. The places are a
stack: a loop that makes some remembers how high it was before, and at the end of an iteration takes
down all that came since but what it carries on.

    box(x)             x, to be held
    box_list(x)        the items of x, as a sequence
    unbox(x)           what is held, as a tensor
    nothing()          an absent value
    mark()             how high the stack is
    settle(m, *kept)   all from place m on goes, then kept are put there
    Apart(x)           the parts of a list or an optional; Together(*parts)   what they are of
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from treadle.ir import Leaf, Value
from treadle.jit.kernel_ir import HOLDER
from treadle.jit.lists import apart, ragged
from treadle.jit.parts import APART, TOGETHER, elements, nothing, tensors

Run = Callable[[Sequence[Any]], Sequence[Any]]
_OPTIONAL, _MOST_OF_A_TENSOR = (2, 4), 2
HANDLE = np.dtype("V8")
"""The dtype of a number that an input held outside is known by, natively."""


def keeper(op: str, operands: int, results: int) -> Leaf:
    """One of the operators above."""
    takes = tuple(Value(f"x{k}") for k in range(operands))
    return Leaf(HOLDER, op, 1, takes, tuple(Value(f"y{k}") for k in range(results)))


def keeping(leaf: Leaf, held: list[Any]) -> Run:
    """What the operator does with what a run holds."""
    if leaf.op == "mark":
        return lambda _: (np.array(len(held), np.int64),)
    if leaf.op in (APART, TOGETHER):
        return partial(_to_parts if leaf.op == APART else _from_parts, leaf)
    return _settling(held) if leaf.op == "settle" else _KEEPERS[leaf.op]


def _settling(held: list[Any]) -> Run:
    def settle(given: Sequence[Any]) -> Sequence[Any]:
        mark, *kept = given
        del held[int(mark) :]
        return kept

    return settle


def _items(given: Sequence[Any]) -> Sequence[Any]:
    return ([np.array(item) for item in given[0]],)


def _to_parts(leaf: Leaf, given: Sequence[Any]) -> Sequence[Any]:
    (value,), count = given, len(leaf.results)
    there = [np.array(value is not None)] if count in _OPTIONAL else []
    if count > _MOST_OF_A_TENSOR:
        dtype, rank = elements(leaf.results)
        return [*there, *ragged(value or [], dtype.numpy, rank)]
    return [*there, nothing(tensors(leaf.results)[-1]) if value is None else value]


def _from_parts(leaf: Leaf, given: Sequence[Any]) -> Sequence[Any]:
    is_optional = len(given) in _OPTIONAL
    if is_optional and not given[0].item():
        return (None,)
    parts = given[1:] if is_optional else given
    return (apart(*parts),) if len(parts) > 1 else parts


_KEEPERS: dict[str, Run] = {
    "box": lambda given: given,
    "box_list": _items,
    "unbox": lambda given: given,
    "nothing": lambda _: (None,),
}


def entered(value: object, held: list[Any]) -> np.ndarray:
    """The number of an input, which is held from now on."""
    held.append(value)
    return np.array(len(held) - 1, np.int64).view(HANDLE)
