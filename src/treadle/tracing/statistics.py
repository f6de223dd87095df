"""Summarizes a value over all iterations in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(slots=True)
class Statistics:
    """Statistics over all elements of all occurrences.

    `count` is the number of elements, `nans` of NaNs and `infs` of infinities; `minimum`, `maximum`
    and `mean` are over the finite elements.
    """

    count: int = 0
    nans: int = 0
    infs: int = 0
    minimum: float = np.inf
    maximum: float = -np.inf
    _sum: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of the finite elements; NaN if there are none."""
        finite = self.count - self.nans - self.infs
        return self._sum / finite if finite else float("nan")

    def add(self, value: object) -> None:
        """Add the elements of a numeric tensor, or of a sequence of them."""
        if isinstance(value, list):
            for each in value:
                self.add(each)
        if not isinstance(value, np.ndarray) or value.dtype.kind in "OUSc":
            return
        numbers = value.astype(np.float64, copy=False)
        finite = numbers[np.isfinite(numbers)]
        self.count += numbers.size
        self.nans += int(np.isnan(numbers).sum())
        self.infs += int(np.isinf(numbers).sum())
        if finite.size:
            self.minimum = min(self.minimum, float(finite.min()))
            self.maximum = max(self.maximum, float(finite.max()))
            self._sum += float(finite.sum())
