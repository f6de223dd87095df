"""Canonicalization: passes that bring a kernel to the form that strategies look for.

    extents that guards compare        one of them
    whole numbers in a narrow range    in 32, 16 or 8 bits, not in 64
    x % 7 == 1                         a product and a comparison
    max(x) beside argmax(x)            one reduction
    a small branch                     both sides, and selects
    where(c, s + x, s)                 s + where(c, x, 0)
    carried values                    without reshapes and concats around them
    data[i + n] in iteration i        a scan slice
    columns taken and stacked         rows of a transposition
    squeeze(f(unsqueeze(x)))           f(x)
    operators between loops           a loop over their rows
    operators before a loop           in the loop that slices what they make
    rows one place behind             carried diagonals of a grid
    rows cut out of longer ones       the rows that stay, and the new one
    loops that consume each other     one loop
    checks of indices                 before the loop, or none

A kernel to which none applies is returned unchanged.
"""

from __future__ import annotations

from functools import partial

from treadle.jit.kernel.debugging import check_when_debugging
from treadle.jit.kernel.ir import Kernel
from treadle.jit.schedule.algebra.conditional_updates import with_plain_updates
from treadle.jit.schedule.algebra.diagonals import with_carried_diagonals
from treadle.jit.schedule.algebra.equal_extents import with_equal_extents
from treadle.jit.schedule.algebra.extremes import with_joint_extremes
from treadle.jit.schedule.algebra.index_checks import with_early_index_checks
from treadle.jit.schedule.algebra.narrowing import with_narrow_numbers
from treadle.jit.schedule.algebra.remainder_tests import with_remainder_tests
from treadle.jit.schedule.algebra.shift_registers import with_shift_registers
from treadle.jit.schedule.algebra.unit_axes import with_read_shapes
from treadle.jit.schedule.branch_to_select import with_selects
from treadle.jit.schedule.carried_forms import with_simple_carried_values
from treadle.jit.schedule.layouts.columns_to_rows import with_rows
from treadle.jit.schedule.row_loops import with_row_loops
from treadle.jit.schedule.stacked_loops import with_fused_loops
from treadle.jit.schedule.sunk_producers import with_sunk_producers
from treadle.jit.schedule.takes_to_slices import with_scan_slices

_PASSES = (
    with_equal_extents, with_narrow_numbers, with_remainder_tests, with_joint_extremes,
    with_selects, with_simple_carried_values, with_plain_updates, with_scan_slices, with_rows,
    with_row_loops, with_sunk_producers, with_simple_carried_values, with_read_shapes,
    with_carried_diagonals, with_shift_registers, with_fused_loops,
)  # fmt: skip


def canonical(kernel: Kernel, *, may_assume: bool = False) -> Kernel:
    """The kernel in canonical form; `may_assume`: guards may expect what holds in most runs."""
    for run in (*_PASSES, partial(with_early_index_checks, may_assume=may_assume)):
        changed = run(kernel)
        kernel = kernel if changed is kernel else check_when_debugging(changed)
    return kernel
