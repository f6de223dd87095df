"""What a user may say of a named rewrite besides its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.ir import Call, Function, Leaf, Type
from treadle.passes.expand_functions import Expand


def _nothing(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
    return None


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """Where to rewrite, and by what definitions.

    `paths`: globs over the paths of loops and branches. `expand`: the function that the standard
    defines an operator by.
    """

    paths: tuple[str, ...] = ("*",)
    expand: Expand = _nothing
