"""Operators that read or write parts of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from openvino import opset1, opset3, opset4, opset5, opset6, opset7, opset8, opset12, opset15

from tools.openvino.recorded.case import RANDOM, case, const, f, i


def enter() -> None:
    """All of them."""

    def strided(first: Any, last: Any, steps: Any, **masks: list[int]) -> Callable[..., Any]:
        names = ("begin", "end", "new", "shrink", "ellipsis")
        given = [masks.get(name, [0] * len(first)) for name in names]
        return lambda x: opset1.strided_slice(x, const(first), const(last), const(steps), *given)

    case("strided_masks", strided([1, 1], [0, 3], [1, 1], begin=[1, 0], end=[1, 0]), f(4, 5, 2))
    case("strided_shrink", strided([-1, 1], [0, 3], [1, 1], shrink=[1, 0]), f(4, 5))
    case("strided_new", strided([0, 1], [0, 3], [1, 1], new=[1, 0]), f(4, 2))
    case("strided_ellipsis", strided([0, 1], [0, 2], [1, 1], ellipsis=[1, 0]), f(2, 3, 4))
    case(
        "strided_ellipsis_shrink",
        strided([1, 0, 1], [2, 0, 2], [1, 1, 1], ellipsis=[0, 1, 0], shrink=[1, 0, 1]),
        f(2, 3, 4),
    )
    case(
        "strided_new_behind",
        strided([1, 0, 0], [2, 0, 0], [1, 1, 1], ellipsis=[0, 1, 0], new=[0, 0, 1]),
        f(2, 3, 4),
    )
    case("strided_negative", strided([-1], [0], [-2], end=[1]), f(6, 2))
    case(
        "strided_dynamic",
        lambda x, y: opset1.strided_slice(x, y, const([3, 4]), const([1, 2]), [0, 1], [0, 0]),
        f(4, 5),
        i(1, 2),
    )
    case(
        "slice", lambda x: opset8.slice(x, const([4]), const([0]), const([-1]), const([1])), f(2, 6)
    )
    case(
        "slice_axes",
        lambda x: opset8.slice(x, const([0, 1]), const([2, 9]), const([1, 2])),
        f(3, 6),
    )
    case(
        "gather",
        lambda x, y: opset8.gather(x, y, const(1)),
        f(2, 4),
        i([0, 2], [3, 1], dtype=np.int32),
    )
    case("gather_negative", lambda x, y: opset8.gather(x, y, const(0)), f(5), i(-1, 2))
    case(
        "gather_batch",
        lambda x, y: opset8.gather(x, y, const(1), 1),
        f(2, 5, 3),
        i([0, 4, 1, 2], [3, 3, 0, 1]),
    )
    case(
        "gather_batch_axis2",
        lambda x, y: opset8.gather(x, y, const(2), 1),
        f(2, 5, 6),
        i([0, 4, 1], [3, 5, 0]),
    )
    case(
        "gather_batch_many",
        lambda x, y: opset8.gather(x, y, const(2), 1),
        f(2, 3, 4, 2),
        RANDOM.integers(0, 4, (2, 2, 3)),
    )
    case("gather_7", lambda x, y: opset7.gather(x, y, const(1)), f(2, 4), i(0, 2))
    case("gather_1", lambda x, y: opset1.gather(x, y, const(0)), f(3, 4), i(0, 2))
    case("gather_nd", lambda x, y: opset8.gather_nd(x, y, 1), f(2, 3, 2), i([[1]], [[2]])[:, 0])
    case(
        "gather_nd_5",
        lambda x, y: opset5.gather_nd(x, y, 2),
        f(2, 3, 4),
        RANDOM.integers(0, 4, (2, 3, 1)),
    )
    case(
        "gather_elements", lambda x, y: opset6.gather_elements(x, y, 1), f(2, 3), i([0, 2], [1, 1])
    )
    case(
        "scatter_update",
        lambda x, y, z: opset3.scatter_update(x, y, z, const(0)),
        f(4, 2),
        i(1, 3),
        f(2, 2),
    )
    case(
        "scatter_update_1",
        lambda x, y, z: opset3.scatter_update(x, y, z, const(1)),
        f(3, 4),
        i(1, 3),
        f(3, 2),
    )
    case(
        "scatter_update_2d",
        lambda x, y, z: opset3.scatter_update(x, y, z, const(1)),
        f(3, 4, 2),
        i([1, 3]),
        f(3, 1, 2, 2),
    )
    case("scatter_nd", opset4.scatter_nd_update, f(4, 2), i([1], [3]), f(2, 2))
    case(
        "scatter_nd_sum",
        lambda x, y, z: opset15.scatter_nd_update(x, y, z, "sum"),
        f(4, 2),
        i([1], [1]),
        f(2, 2),
    )
    case(
        "scatter_nd_sub",
        lambda x, y, z: opset15.scatter_nd_update(x, y, z, "sub"),
        f(4, 2),
        i([1], [1]),
        f(2, 2),
    )
    case(
        "scatter_elements",
        lambda x, y, z: opset3.scatter_elements_update(x, y, z, const(1)),
        f(2, 3),
        i([0], [2]),
        f(2, 1),
    )
    case(
        "scatter_elements_sum",
        lambda x, y, z: opset12.scatter_elements_update(x, y, z, const(0), "sum", True),
        f(3),
        i(0, 0, 2),
        f(3),
    )
