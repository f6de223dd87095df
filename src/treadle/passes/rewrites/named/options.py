"""The options of a named rewrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treadle.ir import Call, Function, Leaf, Model, Type
from treadle.passes.expand_functions import Expand


def _nothing(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
    return None


Run = Callable[[Model, Mapping[str, np.ndarray]], Sequence[np.ndarray]]
"""The outputs of a small model of tensors for these feeds."""


def _no_run(model: Model, feeds: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
    raise AssertionError("nobody said how to run a model")


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """The steps to rewrite, and definitions of operators.

    `paths`: globs over the paths of loops and branches. `expand`: the function that the standard
    defines an operator by. `run` confirms on data what was proven.
    `capacity`: how many items a static cache holds.
    """

    paths: tuple[str, ...] = ("*",)
    expand: Expand = _nothing
    run: Run = _no_run
    capacity: int | None = None
