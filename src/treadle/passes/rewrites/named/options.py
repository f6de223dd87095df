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
    raise AssertionError("no function to run a model was given")


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """The steps to rewrite, and definitions of operators.

    `paths`: globs over the paths of loops and branches. `expand`: the function that the standard
    defines an operator by. `run` runs a model, to confirm a proof on data. `capacity`: the number
    of items in a static cache.
    """

    paths: tuple[str, ...] = ("*",)
    expand: Expand = _nothing
    run: Run = _no_run
    capacity: int | None = None
