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
    """Where, for whom, and how large.

    `paths`: globs over the paths of loops and branches. `portable`: runtimes that must take the
    result and answer rightly. `capacity`: the extent of a cache of fixed size. `expand`: the
    function that the standard defines an operator by.
    """

    paths: tuple[str, ...] = ("*",)
    portable: tuple[str, ...] = ()
    capacity: int | None = None
    expand: Expand = _nothing
