"""Carried values: what the body may change of them between iterations.

A carried value keeps its kind and dtype (Loop: "state variables ... must be the same type"); its
shape may change in a Loop and may not in a Scan (spec digest 3.1, 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treadle.errors import RunError
from treadle.interp.frame import Frame


@dataclass(frozen=True, slots=True)
class CarriedRule:
    """The name of one carried value, and whether its shape may change."""

    name: str
    shape_is_fixed: bool

    def check(self, old: object, new: object, path: str, frame: Frame) -> None:
        """Raise RunError if `new` may not follow `old`; an absent optional fits any."""
        if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
            if old.dtype == new.dtype and (not self.shape_is_fixed or old.shape == new.shape):
                return
        elif old is None or new is None or type(old) is type(new):
            return
        what = "a Scan's state keeps its dtype and shape" if self.shape_is_fixed else (
            "a carried value keeps its dtype"
        )  # fmt: skip
        raise RunError(
            f'carried value "{self.name}" was {describe(old)} and became {describe(new)}; {what}',
            path,
            frame.iterations,
        )


def describe(value: object) -> str:
    """The kind of a run-time value in words: `float32[2, 3]`, `a sequence`, `absent`."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return "absent" if value is None else "a sequence" if isinstance(value, list) else "a map"
