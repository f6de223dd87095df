"""Simplifies carried values: removes what exporters wrap around them.

    invariant   next = state                         the initial value itself, not carried
    parts       next = Concat(a, b, ...)             a, b, ... one by one, where the body reads
                                                     every element of the state out of one of them,
                                                     or as the diagonal of a grid
    reshaped    next = a, axes of extent 1 apart     a
    turned      next = a, transposed                 a, where the body only reads it turned back
    wider       next = a, in more bits               a, where it began in the fewer bits, too
    16 bits     next = state with new rows           the floats in 32 bits, where the body reads
                                                     all of them so

Strategies then see one form of each carried value. A kernel is rewritten until it has no such
value.
"""

from __future__ import annotations

from treadle.jit.kernel.ir import (
    Axis,
    CarriedArg,
    Concat,
    DimOf,
    Elementwise,
    Kernel,
    Loop,
    Node,
    View,
    op_of,
)
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, yielded
from treadle.jit.kernel.view_bounds import axis_bounds, keeps_order
from treadle.jit.schedule.algebra.diagonals import is_sliced_along_rows
from treadle.jit.schedule.algebra.turned_states import turned_forms
from treadle.jit.schedule.algebra.wide_states import wide_forms
from treadle.jit.schedule.carried_rewrite import CarriedForm, CarriedForms, CarriedRewrite

_MAX_PARTS = 16


@fixpoint_pass
def with_simple_carried_values(kernel: Kernel) -> Rules | None:
    """The kernel with carried values in their simplest forms."""
    forms = _forms(kernel)
    return CarriedRewrite(forms).rules if forms else None


def _forms(kernel: Kernel) -> CarriedForms:
    nodes = all_nodes(kernel.main)
    loops = [node for node in nodes if isinstance(node.op, Loop)]
    candidates = {
        state: form
        for node in loops
        for state, after in zip(op_of(node, Loop).states, op_of(node, Loop).nexts, strict=True)
        if (form := _form(op_of(node, Loop), state, after)) is not None
    }
    if not kernel.counts_loops:
        candidates = {**turned_forms(loops, nodes), **wide_forms(loops, nodes), **candidates}
    if any(form.axis is not None for form in candidates.values()):
        apart = _not_read_apart(kernel, candidates)
        candidates = {state: form for state, form in candidates.items() if state not in apart}
    return candidates


def _form(loop: Loop, state: Node, after: Node) -> CarriedForm | None:
    """A simpler form of a carried value, as far as its next value shows."""
    if after is state:
        return CarriedForm(())
    if not state.shape or len(state.shape) != len(after.shape):
        return None
    op = after.op
    if isinstance(op, View) and _is_reshaped(after):
        return _reshaped(state, after)
    if state.shape != after.shape or _is_of_changing_shape(loop, state):
        return None
    are_known = all(each.is_static for each in (state, *after.operands))
    if isinstance(op, Concat) and are_known and 1 < len(after.operands) <= _MAX_PARTS:
        return CarriedForm(tuple(operand.shape for operand in after.operands), op.axis)
    return None


def _reshaped(state: Node, after: Node) -> CarriedForm | None:
    """The form with the axes of extent 1 of the value that the next one is a view of."""
    ones = [extent == 1 for extent in state.shape]
    if ones != [extent == 1 for extent in after.shape]:
        return None
    long = iter(axis for axis, is_one in enumerate(ones) if not is_one)
    (given,) = after.operands
    kept = tuple(None if extent == 1 else next(long) for extent in given.shape)
    shape = tuple(1 if axis is None else state.shape[axis] for axis in kept)
    return CarriedForm((shape,), kept=kept)


def _is_of_changing_shape(loop: Loop, state: Node) -> bool:
    number = op_of(state, CarriedArg).number
    return any(
        isinstance(node.op, DimOf) and not node.operands and node.op.number == number
        for node in loop.body.nodes
    )


def _is_reshaped(after: Node) -> bool:
    """Whether the next value is a view that differs in axes of extent 1 only.

    A view of another carried value has more of them: values that take turns do not change forever.
    """
    (given,) = after.operands
    is_narrow = len(given.shape) < len(after.shape)
    return keeps_order(after) and (is_narrow or isinstance(given.op, Elementwise))


def _not_read_apart(kernel: Kernel, candidates: CarriedForms) -> set[Node]:
    """The states to split of which some node reads more than one part."""
    found = set[Node]()
    for node in all_nodes(kernel.main):
        for read in (*node.operands, *yielded(node)):
            form = candidates.get(read)
            if form is None or form.axis is None or _reads_one(node, read, form):
                continue
            if kernel.counts_loops or not _reads_rows(node, read, form, kernel):
                found.add(read)
    return found


def _reads_rows(reader: Node, state: Node, form: CarriedForm, kernel: Kernel) -> bool:
    """Whether a node reads a border and what follows it, for loops that carry the diagonal."""
    if not isinstance(reader.op, View) or reader.operands != (state,) or len(form.shapes) != 2:
        return False
    (border, rest), is_start = form.shapes, reader.op.axes == (Axis(0, ((0, 1),)),)
    if border != (1,) or not is_start or reader.shape[0] != rest[0]:
        return False
    return is_sliced_along_rows(reader, kernel)


def _reads_one(reader: Node, state: Node, form: CarriedForm) -> bool:
    assert form.axis is not None
    if not isinstance(reader.op, View) or reader.operands != (state,):
        return False
    bounds = axis_bounds(reader.op.axes[form.axis], reader.shape)
    if bounds is None:
        return False
    end = 0
    for shape in form.shapes:
        extent = shape[form.axis]
        assert isinstance(extent, int)
        if end <= bounds[0]:
            last = end + extent
            if bounds[1] < last:
                return True
        end += extent
    return False
