"""Operators of treadle's own domain: for passes, where no standard operator exists."""

from __future__ import annotations

import numpy as np

from treadle.errors import KernelError
from treadle.ops.kernels.registry import evaluates


@evaluates("SequenceLength", 1, domain="treadle")
def sequence_length(length: np.ndarray, *extents: np.ndarray) -> np.ndarray:
    """The entry of Scan-8's sequence_lens for one row, as int64[1], checked against the extents.

    `extents` are the lengths of the row's sequences, one int64[1] each; all must be equal.
    """
    longest = sorted({int(extent[0]) for extent in extents})
    if len(longest) > 1:
        raise KernelError(f"the sequences have different lengths: {longest}")
    if length.dtype != np.int64 or length.ndim:
        found = f"{length.dtype} of rank {length.ndim + 1}"
        raise KernelError(f"sequence_lens is {found}, wanted int64 of rank 1")
    if not 0 <= length <= longest[0]:
        raise KernelError(f"sequence_lens has the entry {length}, wanted 0 to {longest[0]}")
    return length.reshape(1)
