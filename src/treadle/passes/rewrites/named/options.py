"""What a user may say of a named rewrite besides its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """Where, for whom, and how large.

    `paths`: globs over the paths of loops and branches. `portable`: runtimes that must take the
    result and answer rightly. `capacity`: the extent of a cache of fixed size.
    """

    paths: tuple[str, ...] = ("*",)
    portable: tuple[str, ...] = ()
    capacity: int | None = None
