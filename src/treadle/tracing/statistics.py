"""What a value was over all iterations, in a few numbers: nothing else of it is kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(slots=True)
class Statistics:
    """Of all elements of all times.

    `count` of them there are, `nans` are NaN and `infs` infinite; `minimum`, `maximum` and `mean`
    are those of the rest.
    """

    count: int = 0
    nans: int = 0
    infs: int = 0
    minimum: float = np.inf
    maximum: float = -np.inf
    _sum: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of the finite elements; NaN where there is none."""
        finite = self.count - self.nans - self.infs
        return self._sum / finite if finite else float("nan")

    def add(self, value: object) -> None:
        """Take the elements of a tensor of numbers, or of a sequence of them."""
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
