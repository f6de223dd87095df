"""What is left of the limits of a run that is recorded in windows."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from treadle.ir import Branch, Leaf, Model, walk_block
from treadle.plan import Limits, Memory

_UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Remaining:
    """Run options for one window: `options` are those of the whole run, which ends at `ends`.

    `memory` is that for results; None for new arrays.
    """

    options: Any = None
    limits: Limits = _UNLIMITED
    ends: float = 0.0
    falls_back: bool = True
    memory: Memory | None = None

    @classmethod
    def of(cls, options: Any) -> Remaining | None:
        """All of the limits of these run options; None without options."""
        if options is None:
            return None
        limits = getattr(options, "limits", Limits())
        return cls(options, limits, time.monotonic() + (limits.seconds or 0))

    @property
    def terminate(self) -> bool:
        """Whether the run was told to stop."""
        return self.options is not None and bool(self.options.terminate)

    @property
    def may_stop(self) -> bool:
        """Whether the window may have to stop before its end."""
        return self.options is not None

    def after(self, iterations: int) -> Remaining:
        """The run options for what follows after `iterations` further iterations."""
        limits = self.limits
        if limits.iterations is not None:
            limits = replace(limits, iterations=max(0, limits.iterations - iterations))
        if limits.seconds is not None:
            limits = replace(limits, seconds=max(0.0, self.ends - time.monotonic()))
        return replace(self, limits=limits)


def without_fallback(options: Remaining | None = None) -> Remaining:
    """The same run options for a run that fails where an engine refuses it."""
    return replace(options or Remaining(None), falls_back=False)


def is_kept_in_windows(options: Any, model: Model, loops: Iterable[str]) -> bool:
    """Whether windows of these loops keep the limits of a run as the whole run does.

    Iterations are counted by window, so no other loop may count; exposed values would count as
    bytes.
    """
    limits = getattr(options, "limits", Limits())
    if limits.bytes is not None or getattr(options, "adapters", None):
        return False
    visits = list(walk_block(model.main))
    counting = {v.path for v in visits if not isinstance(v.step, Leaf | Branch)}
    return limits.iterations is None or counting <= set(loops)
