"""Which program a run needs: a session prepares one for each kind of run that comes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PLAIN", "RunMode"]


class RunMode(NamedTuple):
    """Which program a run needs.

    `watched`: a listener must see every value; `bounded`: iterations are counted; `weighed`: so is
    what loops hold; `overridden`: defaults that are fed.
    """

    watched: bool = False
    bounded: bool = False
    weighed: bool = False
    overridden: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """Which runs it is for, as `explain` says it: "runs with bounded iterations"."""
        bounds = (("iterations", self.bounded), ("bytes", self.weighed))
        found = [word for word, is_bounded in bounds if is_bounded]
        said = [f"with bounded {' and '.join(found)}"] if found else []
        said += ["with a listener"] if self.watched else []
        said += [f"that feed {', '.join(sorted(self.overridden))}"] if self.overridden else []
        return f"runs {', '.join(said)}" if said else "ordinary runs"


PLAIN = RunMode()
"""A run with nothing but feeds for what has no default."""
