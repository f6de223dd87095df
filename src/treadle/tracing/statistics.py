"""Summarizes a value over all iterations in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(slots=True)
class Statistics:
    """Statistics over all elements of all occurrences.

    `count` is the number of elements, `nans` of NaNs and `infs` of infinities; `minimum`, `maximum`
    and `mean` are over the finite elements, whose sum is `total`.
    """

    count: int = 0
    nans: int = 0
    infs: int = 0
    minimum: float = np.inf
    maximum: float = -np.inf
    total: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of the finite elements; NaN if there are none."""
        finite = self.count - self.nans - self.infs
        return self.total / finite if finite else float("nan")

    def add(self, value: object) -> None:
        """Add the elements of a numeric tensor, or of a sequence of them."""
        if isinstance(value, list):
            for each in value:
                self.add(each)
        if not isinstance(value, np.ndarray) or value.dtype.kind in "OUSc":
            return
        if value.dtype.kind in "iu":
            self._add_finite(value.size, value)
            return
        numbers = value.astype(np.float64, copy=False)
        self._add_finite(numbers.size, numbers[np.isfinite(numbers)])
        self.nans += int(np.isnan(numbers).sum())
        self.infs += int(np.isinf(numbers).sum())

    def _add_finite(self, count: int, finite: np.ndarray) -> None:
        self.count += count
        if finite.size:
            self.minimum = min(self.minimum, finite.min().item())
            self.maximum = max(self.maximum, finite.max().item())
            self.total += float(finite.sum(dtype=np.float64))

    def merge(self, other: Statistics) -> None:
        """Add all elements that another object has seen."""
        self.count += other.count
        self.nans += other.nans
        self.infs += other.infs
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        self.total += other.total
