"""Maxima and sums of windows over two axes: of windows of rows first, then of those of columns.

    max over (2, 3) of x[i0 + i2, i1 + i3]  =  max over (2) of m[i0 + i2, i1]
                                               where m = max over (2) of x[i0, i1 + i2]

A window of 3 x 3 takes four comparisons so and not eight, one of 5 x 5 eight and not 24. Sums of
floats stay one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from treadle.jit.kernel.ir import Axis, Kernel, Node, Reduce, View, op_of, static_shape
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes

_MIN_ELEMENTS = 256
_GAIN = 0.75
"""The most work, of that of whole windows, that two steps may be."""


@dataclass(frozen=True, slots=True)
class _Window:
    """Axes of a view: `place` and `index` are the window's and the result's along one axis.

    `row` is the window's other axis, `source` the operand's axis that the two read, of which
    `extent` elements are read.
    """

    place: int
    row: int
    index: int
    source: int
    extent: int


@rewrite_pass
def with_window_reductions(kernel: Kernel) -> Rules | None:
    """The kernel with such reductions in two steps; itself if it has none."""
    found = {node: window for node in all_nodes(kernel.main) if (window := _window(node))}
    return replacing(found, _in_two_steps)


def _is_candidate(node: Node) -> bool:
    """Whether it reduces two axes of a view at known places, in any order."""
    op = node.op
    if not isinstance(op, Reduce) or len(op.axes) != 2 or not node.home.is_loop:
        return False
    (view,) = node.operands
    if not isinstance(view.op, View) or not view.is_static or node.size < _MIN_ELEMENTS:
        return False
    is_exact = op.function == "add" and node.dtype.numpy.kind in "iu"
    is_known = all(isinstance(axis.offset, int) for axis in view.op.axes)
    return is_known and (is_exact or op.function in ("max", "min"))


def _window(node: Node) -> _Window | None:
    """The window of a reduction, if two steps take less time."""
    if not _is_candidate(node):
        return None
    op, (view,) = op_of(node, Reduce), node.operands
    place, row = sorted(op.axes)
    one, other = _reading(view, place), _reading(view, row)
    if one is None or other is None or one == other:
        return None
    shape = static_shape(view)
    axis = op_of(view, View).axes[one]
    steps = dict(axis.terms)
    (index,) = steps.keys() - {place}
    if index in op.axes or min(steps.values()) < 1 or _reading(view, index) != one:
        return None
    extent = sum(step * (shape[k] - 1) for k, step in steps.items()) + 1
    whole = shape[index] * (shape[place] * shape[row] - 1)
    parts = extent * (shape[row] - 1) + shape[index] * (shape[place] - 1)
    return _Window(place, row, index, one, extent) if parts <= _GAIN * whole else None


def _reading(view: Node, number: int) -> int | None:
    """The only axis of the operand that is read along an axis of the view, and along one other."""
    axes = op_of(view, View).axes
    found = [k for k, axis in enumerate(axes) if any(at == number for at, _ in axis.terms)]
    terms = axes[found[0]].terms if len(found) == 1 else ()
    return found[0] if len(terms) == 2 == len(dict(terms)) else None


def _in_two_steps(rebuild: Rebuild, node: Node, window: _Window) -> Node:
    """The reduction of rows, and that of the results."""
    builder, function = rebuild.builder, op_of(node, Reduce).function
    (view,) = node.operands
    source, axes, shape = view.operands[0], op_of(view, View).axes, list(static_shape(view))
    place, row, index = window.place, window.row, window.index
    left = [k for k in range(len(shape)) if k != place]
    moved = {k: new for new, k in enumerate(left)}
    rows = [
        Axis(axis.offset, ((moved[index], 1),))
        if k == window.source
        else Axis(axis.offset, tuple((moved[at], step) for at, step in axis.terms))
        for k, axis in enumerate(axes)
    ]
    wide = [window.extent if k == index else shape[k] for k in left]
    read = builder.view(rebuild.nodes[source], wide, rows)
    kept = [k for k in left if k != row]
    reduced = builder.add(
        Reduce(function, (moved[row],)),
        node.dtype,
        tuple(window.extent if k == index else shape[k] for k in kept),
        read,
    )
    left = [k for k in range(len(shape)) if k != row]
    moved = {k: new for new, k in enumerate(left)}
    steps = tuple((moved[at], step) for at, step in axes[window.source].terms)
    columns = [Axis(0, steps if k == index else ((moved[k], 1),)) for k in kept]
    again = builder.view(reduced, [shape[k] for k in left], columns)
    out = tuple(shape[k] for k in kept)
    assert prod(out) == node.size, "a result for each window"
    made = builder.add(Reduce(function, (moved[place],)), node.dtype, out, again)
    return builder.reshape(made, node.shape)
