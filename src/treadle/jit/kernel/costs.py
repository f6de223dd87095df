"""What things cost, in nanoseconds: the one place with such numbers, and with the sizes of caches.

Scalar functions carry their costs with them (`scalar_functions.py`); `schedule/cost_model.py` adds
up what nodes and nests cost. Measured on two cores of AMD's Zen 4 and Zen 5. Decisions do not
change if a number is 10 % off, but would if it were off by a factor of 10.
"""

from __future__ import annotations

READ, WRITTEN = 0.012, 0.02
"""An element of four bytes read from an array in the cache, and one written, in a vectorized loop.
"""
PRODUCT, FACTOR, ROWS_TOGETHER = 0.018, 0.03, 4
"""A product in a matrix product, and a number of the right matrix, shared by ROWS_TOGETHER rows."""
SUMMED = 1.0
"""An element of a long sum, at most: each addition waits for the one before."""
SCALAR_SLOWDOWN = 2
"""How many times as long a product takes whose rows are not contiguous."""

ITERATION = 2
"""An iteration of a native loop, beside its nodes."""
WORTH_CALLING_BACK = 50_000
"""The work from which a C library asks its caller's threads to share a nest."""

CALL = 5_000.0
"""A host call of numpy, beside what numpy computes."""
PROVIDED_CALL = 13_000.0
"""A host call of onnxruntime's kernel."""
BOXING_CALL = 2_000.0
"""A call that only boxes or unboxes values."""
HEAVY_CALL = 200_000.0
"""A host call in which numpy computes much."""
LIST_CALL = 15_000.0
"""Converting a ragged list at the boundary of a region."""

OTHER_ITERATION = 1_500.0
"""What onnxruntime spends on an iteration of a Loop, beside its operators."""
OTHER_BRANCH = 1_000.0
"""What onnxruntime spends on an If, beside its operators."""
OTHER_OPERATOR = 300.0
"""What onnxruntime spends on an operator, beside its elements."""
OTHER_ELEMENT = 0.5
"""What onnxruntime spends on an element of an operator's result."""
DEFICIT_OF_BYTES = 0.007
"""How far native code is behind onnxruntime in a product of whole numbers of 8 bits, for each
multiplication: onnxruntime has instructions for four of them at once."""

COMPILING = 40e6
"""Compiling any kernel."""
COMPILING_STEP = 1e6
"""What each operator of a body adds."""

L1_BYTES = 24_576
"""The bytes of the L1 cache that a loop's own values may take: three quarters of 32 kB."""
LARGE_MATRIX = 1_024
"""The elements of a matrix that is worth being read once for many rows."""
ASSUMED_TERMS = 16
"""The assumed number of terms of a sum, where it is not known."""
ASSUMED_TRIPS = 10
"""The assumed number of iterations of a loop, where it is not known."""
