"""Canonicalization: passes that bring a kernel to the form that strategies look for.

    extents that guards compare        one of them
    carried values that are equal      one
    what is carried and not read       not carried
    carried counters                   functions of the iteration number, and trip counts
    initial if i == 0 else state       the state, carried from the initial value
    several equal steps an iteration   one of them an iteration
    rows collected in carried arrays   stacked outputs
    sums of products with a matrix     matrix products
    rows times computed matrices       sums of products
    whole numbers in a narrow range    in 32, 16 or 8 bits, not in 64, nor in floats
    int(c) * a + (1 - int(c)) * b      where(c, a, b)
    where(c, scatter(s, ...), s)       a scatter of what c chooses
    x % 7 == 1                         a product and a comparison
    x / n of whole numbers            in floats, which vectors divide
    the least of stacked rows         functions of the rows
    sums of several axes              rows are added first
    maxima of windows over two axes   of windows over one, twice
    max(x) beside argmax(x)            one reduction
    a small branch                     both sides, and selects
    iterations that change nothing     not run
    carried parts of one value         the value
    concats of narrow columns         each column by itself
    k @ transpose(state)              k @ state, which is carried transposed
    carried values                    without reshapes and concats around them
    guards of counters                 before their loop, once
    data[i + n] in iteration i        a scan slice
    items of joined tensors            items of the tensors
    items of reversed tensors          items of the tensors
    transposed items of constants      items of transposed constants
    states kept from a number on       a loop before it, and one behind
    where(c, s + x, s)                 s + where(c, x, 0)
    products with picked matrices     a product for each
    columns taken and stacked         rows of a transposition
    squeeze(f(unsqueeze(x)))           f(x)
    operators between loops           a loop over their rows
    operators before a loop           in the loop that slices what they make
    rows one place behind             carried diagonals of a grid
    rows cut out of longer ones       the rows that stay, and the new one
    loops that consume each other     one loop
    products no iteration waits for   behind a loop that stacks their rows
    long functions of numbers         loops of their own
    whole numbers that may be small    in 32 bits, behind a guard
    elements of rows that are taken   elements of the matrix
    checks of indices                 before the loop, or none

A kernel to which none applies is returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from treadle.jit.kernel.debugging import check_when_debugging
from treadle.jit.kernel.ir import Kernel
from treadle.jit.schedule.algebra.carried_liveness import with_live_carried_values
from treadle.jit.schedule.algebra.collected_outputs import with_stacked_outputs
from treadle.jit.schedule.algebra.columns_apart import with_columns_apart
from treadle.jit.schedule.algebra.conditional_scatters import with_conditional_scatters
from treadle.jit.schedule.algebra.conditional_updates import with_plain_updates
from treadle.jit.schedule.algebra.diagonals import with_carried_diagonals
from treadle.jit.schedule.algebra.equal_extents import with_equal_extents
from treadle.jit.schedule.algebra.first_iteration import with_initial_values
from treadle.jit.schedule.algebra.fission.function_fission import with_split_loops
from treadle.jit.schedule.algebra.fission.product_fission import with_products_apart
from treadle.jit.schedule.algebra.hoisted_guards import with_hoisted_guards
from treadle.jit.schedule.algebra.index_checks import with_early_index_checks
from treadle.jit.schedule.algebra.induction_variables import with_induction_variables
from treadle.jit.schedule.algebra.integers.assumed_ranges import with_assumed_ranges
from treadle.jit.schedule.algebra.integers.float_divisions import with_float_divisions
from treadle.jit.schedule.algebra.integers.known_comparisons import with_known_comparisons
from treadle.jit.schedule.algebra.integers.narrowing import with_narrow_numbers
from treadle.jit.schedule.algebra.integers.remainder_tests import with_remainder_tests
from treadle.jit.schedule.algebra.integers.whole_choices import with_whole_choices
from treadle.jit.schedule.algebra.item_forms import with_plain_items
from treadle.jit.schedule.algebra.item_sources import with_items_of_sources
from treadle.jit.schedule.algebra.joined_states import with_joined_states
from treadle.jit.schedule.algebra.loop_bounds import with_tight_bounds
from treadle.jit.schedule.algebra.masked_iterations import with_split_masks
from treadle.jit.schedule.algebra.picked_matrices import with_picked_matrices
from treadle.jit.schedule.algebra.reductions.contractions import with_contractions
from treadle.jit.schedule.algebra.reductions.extremes import with_joint_extremes
from treadle.jit.schedule.algebra.reductions.row_products import with_row_products
from treadle.jit.schedule.algebra.reductions.row_reductions import with_row_reductions
from treadle.jit.schedule.algebra.reductions.stacked_rows import with_separate_rows
from treadle.jit.schedule.algebra.reductions.turned_reductions import with_turned_reductions
from treadle.jit.schedule.algebra.reductions.window_reductions import with_window_reductions
from treadle.jit.schedule.algebra.rerolling import with_rerolled_loops
from treadle.jit.schedule.algebra.shift_registers import with_shift_registers
from treadle.jit.schedule.algebra.swapped_rows import with_swapped_rows
from treadle.jit.schedule.algebra.turned_scatters import with_turned_scatters
from treadle.jit.schedule.algebra.turned_updates import with_turned_updates
from treadle.jit.schedule.algebra.unit_axes import with_read_shapes
from treadle.jit.schedule.branch_to_select import with_selects
from treadle.jit.schedule.carried_forms import with_simple_carried_values
from treadle.jit.schedule.layouts.columns_to_rows import with_rows
from treadle.jit.schedule.layouts.taken_elements import with_taken_elements
from treadle.jit.schedule.layouts.turned_items import with_turned_items
from treadle.jit.schedule.row_loops import with_row_loops
from treadle.jit.schedule.stacked_loops import with_fused_loops
from treadle.jit.schedule.sunk_producers import with_sunk_producers
from treadle.jit.schedule.takes_to_slices import with_scan_slices

_PASSES = (
    with_equal_extents, with_live_carried_values, with_items_of_sources,
    with_induction_variables, with_initial_values,
    with_tight_bounds, with_joined_states, with_rerolled_loops, with_stacked_outputs,
    with_contractions, with_row_products, with_whole_choices, with_turned_scatters,
    with_conditional_scatters, with_swapped_rows, with_known_comparisons, with_narrow_numbers,
    with_remainder_tests, with_float_divisions, with_row_reductions, with_window_reductions,
    with_separate_rows,
    with_joint_extremes, with_turned_reductions, with_selects, with_columns_apart,
    with_turned_updates, with_simple_carried_values, with_rerolled_loops,
    with_hoisted_guards, with_scan_slices, with_items_of_sources, with_plain_items,
    with_turned_items,
    with_split_masks, with_plain_updates, with_picked_matrices, with_rows, with_row_loops,
    with_sunk_producers,
    with_simple_carried_values, with_read_shapes, with_carried_diagonals, with_shift_registers,
    with_fused_loops, with_products_apart, with_split_loops, with_taken_elements,
)  # fmt: skip

_ASSUMING: tuple[Callable[..., Kernel], ...] = with_assumed_ranges, with_early_index_checks
"""Passes that may write guards which expect what holds in most runs."""


def canonical(kernel: Kernel, *, may_assume: bool = False) -> Kernel:
    """The kernel in canonical form; `may_assume`: guards may expect what holds in most runs."""
    passes: list[Callable[[Kernel], Kernel]] = [*_PASSES]
    passes += [partial(run, may_assume=may_assume) for run in _ASSUMING]
    for run in passes:
        changed = run(kernel)
        kernel = kernel if changed is kernel else check_when_debugging(changed)
    return kernel
