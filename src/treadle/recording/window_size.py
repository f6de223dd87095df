"""How many iterations a window has."""

from __future__ import annotations

FIRST_SIZE = 64
"""Iterations of the first window of a loop."""
LARGEST_SIZE = 8_192
"""Iterations of the longest window."""
_TARGET = 8 << 20
"""Bytes of recorded values that a window is made to hold."""
_GROWTH = 8
"""How many times longer than the one before a window is at most."""

_SECONDS = 0.05
"""How long a window may take where memory holds all windows anyway."""
_GROWTH_IN_TIME = 1024


def size_in_time(size: int, seconds: float) -> int:
    """The length of the next window, from the time that one of `size` iterations took.

    A power of two, so that windows of other runs have the same length.
    """
    seconds = max(seconds, 1e-9)
    fitting, in_a_second = int(size * _SECONDS / seconds), int(size / seconds)
    most = max(1, min(FIRST_SIZE, in_a_second), min(fitting, size * _GROWTH_IN_TIME))
    return 1 << most.bit_length() - 1


def next_size(size: int, bytes_held: int) -> int:
    """The length of the next window, from the bytes that one of `size` iterations held."""
    fitting = size * _TARGET // max(bytes_held, 1)
    return max(1, min(fitting, size * _GROWTH, LARGEST_SIZE))
