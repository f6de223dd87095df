"""RunMode: which program a run needs; a session prepares one per kind of run."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PLAIN", "RunMode"]


class RunMode(NamedTuple):
    """The kind of program a run needs.

    `watched`: a listener must see every value; `bounded`: iterations are counted; `weighed`: the
    bytes loops hold are counted; `overridden`: names of inputs with a default that are fed.
    """

    watched: bool = False
    bounded: bool = False
    weighed: bool = False
    overridden: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """Describe the runs for `explain`: "runs with bounded iterations"."""
        bounds = (("iterations", self.bounded), ("bytes", self.weighed))
        found = [word for word, is_bounded in bounds if is_bounded]
        said = [f"with bounded {' and '.join(found)}"] if found else []
        said += ["with a listener"] if self.watched else []
        said += [f"that feed {', '.join(sorted(self.overridden))}"] if self.overridden else []
        return f"runs {', '.join(said)}" if said else "ordinary runs"


PLAIN = RunMode()
"""A run that feeds only inputs without a default, without limits or a listener."""
