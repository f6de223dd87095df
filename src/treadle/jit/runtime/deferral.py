"""Which calls go to another engine while their code is compiled in the background."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from treadle.ir import dtype_of
from treadle.jit.policy.waiting import pays_to_wait
from treadle.jit.runtime.background import Job
from treadle.jit.runtime.specialize import Signature
from treadle.locks import ForkSafeLock
from treadle.plan import Region, RunContext

_KEPT_ELEMENTS = 64
"""Arrays up to this size are kept with their values, on which a kernel may depend."""


class Cache(Protocol):
    """The kernels of a region."""

    lock: ForkSafeLock
    deferral: Deferral | None

    def is_ready(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether these arrays need no compiling."""
        ...

    def remember(self, shapes: Any, arrays: Sequence[np.ndarray]) -> object:
        """Find or compile the kernel for these arrays, for calls with the same shapes."""
        ...


@dataclass(eq=False, slots=True)
class Deferral:
    """The jobs of a region, by what its arrays are known by, without those that have succeeded.

    `owner` is what the code is for: when it is gone, nothing more is compiled.
    """

    region: Region
    owner: weakref.ref[Any]
    jobs: dict[Any, Job] = field(default_factory=dict)

    @property
    def is_busy(self) -> bool:
        """Whether code is being compiled for this region, or will be."""
        return any(job.is_started and not job.is_over for job in list(self.jobs.values()))

    def pending(self) -> list[Signature]:
        """The dtypes and shapes whose code is being compiled, or waits to be."""
        return [
            tuple((dtype_of(each[0]), each[1]) for each in shapes if isinstance(each, tuple))
            for shapes, job in list(self.jobs.items())
            if not job.is_over
        ]

    def code_for(
        self, cache: Cache, shapes: Any, arrays: Sequence[np.ndarray], context: RunContext
    ) -> Job | None:
        """The code that other engines stand in for, None if there is code or the call waits for it.

        A call that waits does so even if the code is being compiled already: it then waits for it.
        """
        if context.waits_for_code or not self.region.next_best_engine:
            return None
        job = self.jobs.get(shapes)
        if job is None:
            if cache.is_ready(arrays) or pays_to_wait(self.region, arrays):
                return None
            made = [_stand_in(array) for array in arrays]
            work = partial(self._make, cache, shapes, made)
            job = self.jobs.setdefault(shapes, Job(work, self.owner))
        return None if job.is_over else job

    def _make(self, cache: Cache, shapes: Any, arrays: Sequence[np.ndarray]) -> None:
        cache.remember(shapes, arrays)
        self.jobs.pop(shapes, None)


def _stand_in(array: np.ndarray) -> np.ndarray:
    """An array of the same dtype and shape that the caller does not write to."""
    if array.size <= _KEPT_ELEMENTS:
        return array.copy()
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)


_caches: weakref.WeakSet[Any] = weakref.WeakSet()


def deferring(cache: Any, region: Region, owner: object) -> Deferral:
    """The deferral of a cache, which a forked process begins anew."""
    _caches.add(cache)
    return Deferral(region, weakref.ref(owner))


def _begin_anew() -> None:
    for cache in list(_caches):
        for job in cache.deferral.jobs.values():
            job.cancel()
        cache.deferral.jobs.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
