"""Forms of operators that need several ONNX operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from openvino import (
    opset1,
    opset2,
    opset3,
    opset4,
    opset5,
    opset7,
    opset8,
    opset9,
    opset11,
    opset12,
    opset13,
    opset16,
)

from tools.openvino.recorded.case import case, const, f, i, pos


def enter() -> None:
    """All of them."""
    _boxes()
    _resampled()
    _sampled()
    _written()
    _arranged()
    _windows()
    _cells()


def _boxes() -> None:
    boxes = np.array(
        [
            [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11], [0, 10.1, 1, 11.1]],
            [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11], [0, 20, 1, 21]],
        ],
        np.float32,
    )
    scores = np.round(pos(2, 2, 4), 2)
    scores[0, 0, 2] = scores[1, 1, 3] = 0.5
    limits = [const(3), const(0.5, np.float32), const(0.2, np.float32)]
    for sort in (False, True):
        flags: dict[str, Any] = {"box_encoding": "corner", "sort_result_descending": sort}
        name = "sorted" if sort else "plain"
        case(
            f"nms_1_{name}",
            lambda x, y, k=flags: opset1.non_max_suppression(x, y, *limits, **k),
            boxes,
            scores,
        )
        for version, module in ((3, opset3), (4, opset4), (5, opset5), (9, opset9)):
            case(
                f"nms_{version}_{name}",
                lambda x, y, m=module, k=flags: m.non_max_suppression(
                    x, y, *limits, **k, output_type="i32"
                ),
                boxes,
                scores,
            )
    case(
        "nms_center",
        lambda x, y: opset9.non_max_suppression(x, y, *limits, box_encoding="center"),
        boxes + np.array([0, 0, 1, 1], np.float32),
        scores,
    )
    none = [const(3), const(0.5, np.float32), const(2.0, np.float32)]
    case("nms_none", lambda x, y: opset9.non_max_suppression(x, y, *none), boxes, scores)


def _resampled() -> None:
    for mode in ("nearest", "linear", "cubic"):
        for corners in (False, True):
            for size in ((5, 7), (3, 2)):
                flags = {
                    "axes": [2, 3],
                    "mode": mode,
                    "align_corners": corners,
                    "pads_begin": [0],
                    "pads_end": [0],
                }
                case(
                    f"interpolate_1_{mode}_{int(corners)}_{size[0]}",
                    lambda x, s=size, k=flags: opset1.interpolate(x, const(s), k),
                    f(1, 2, 4, 5),
                )
    for place in ("half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"):
        for size in ((7, 9), (3, 2)):
            case(
                f"interpolate_simple_{place}_{size[0]}",
                lambda x, s=size, p=place: opset11.interpolate(
                    x,
                    const(s),
                    "nearest",
                    "sizes",
                    axes=const([2, 3]),
                    coordinate_transformation_mode=p,
                    nearest_mode="simple",
                ),
                f(1, 1, 4, 5),
            )
    for rounding in ("floor", "ceil", "round_prefer_ceil"):
        case(
            f"interpolate_tf_{rounding}",
            lambda x, r=rounding: opset11.interpolate(
                x, const([1.5, 0.6], np.float32), "nearest", "scales", axes=const([2, 3]),
                coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode=r,
            ),
            f(1, 1, 4, 5),
        )  # fmt: skip
    for mode in ("bilinear_pillow", "bicubic_pillow"):
        for size in ((3, 2), (7, 9)):
            case(
                f"interpolate_{mode}_{size[0]}",
                lambda x, m=mode, s=size: opset11.interpolate(
                    x, const(s), m, "sizes", axes=const([2, 3])
                ),
                f(1, 2, 6, 8),
            )


def _sampled() -> None:
    grid = np.clip(f(1, 3, 2, 2), -1, 1)
    for mode in ("bilinear", "nearest", "bicubic"):
        flags = {"align_corners": True, "mode": mode, "padding_mode": "border"}
        case(
            f"grid_sample_{mode}",
            lambda x, g, k=flags: opset9.grid_sample(x, g, k),
            f(1, 2, 4, 5),
            grid,
        )
    rois = i([0, 0, 3, 3], [1, 0.5, 3.5, 3], dtype=np.float32)
    for aligned in ("asymmetric", "half_pixel_for_nn"):
        case(
            f"roi_align_{aligned}",
            lambda x, r, n, a=aligned: opset9.roi_align(x, r, n, 2, 2, 2, 1.0, "avg", a),
            f(1, 2, 5, 5),
            rois,
            i(0, 0, dtype=np.int32),
        )


def _written() -> None:
    places = i(0, 0, 2, 2)
    for word in ("mean", "sum", "prod", "min", "max"):
        for start in (True, False):
            case(
                f"scatter_elements_{word}_{int(start)}",
                lambda x, p, u, w=word, s=start: opset12.scatter_elements_update(
                    x, p, u, const(0), w, s
                ),
                f(4),
                places,
                f(4),
            )
    case(
        "scatter_elements_mean_i32",
        lambda x, p, u: opset12.scatter_elements_update(x, p, u, const(0), "mean", True),
        i(1, 2, 3, 4, dtype=np.int32),
        places,
        i(4, 4, -8, 0, dtype=np.int32),
    )
    on, off = const(5.0, np.float32), const(1.0, np.float32)
    case("one_hot_negative", lambda x: opset1.one_hot(x, const(3), on, off, -1), i(-1, 0, 3, 2))
    case(
        "one_hot_from_behind",
        lambda x: opset16.one_hot(x, const(3), on, off, -1, negative_indices_mode="normalize"),
        i(-1, 0, 2, -3),
    )
    case("eye_batch", lambda x: opset9.eye(x, const(4), const(-1), "f32", const([2, 1])), i(3)[0])
    for right in (True, False):
        case(
            f"bucketize_{int(right)}",
            lambda x, e, r=right: opset3.bucketize(x, e, "i32", r),
            f(2, 3),
            i(-1, 0, 0.5, dtype=np.float32),
        )


def _arranged() -> None:
    case(
        "pad_symmetric", lambda x: opset1.pad(x, const([2, 1]), const([0, 3]), "symmetric"), f(2, 4)
    )
    for mode in ("blocks_first", "depth_first"):
        case(
            f"depth_to_space_3d_{mode}",
            lambda x, m=mode: opset1.depth_to_space(x, m, 2),
            f(2, 16, 2, 3, 1),
        )
        case(
            f"space_to_depth_3d_{mode}",
            lambda x, m=mode: opset1.space_to_depth(x, m, 2),
            f(2, 3, 2, 4, 6),
        )
        case(
            f"depth_to_space_1d_{mode}",
            lambda x, m=mode: opset1.depth_to_space(x, m, 2),
            f(2, 6, 3),
        )
    case(
        "space_to_depth_depth", lambda x: opset1.space_to_depth(x, "depth_first", 2), f(1, 2, 4, 6)
    )
    case(
        "batch_to_space",
        lambda x: opset2.batch_to_space(
            x, const([1, 2, 3, 1]), const([0, 1, 0, 0]), const([0, 0, 2, 0])
        ),
        f(12, 2, 3, 2),
    )
    case(
        "space_to_batch",
        lambda x: opset2.space_to_batch(
            x, const([1, 2, 3, 1]), const([0, 1, 0, 0]), const([0, 0, 2, 0])
        ),
        f(2, 3, 4, 2),
    )
    case("roll", lambda x: opset7.roll(x, const([1, -5]), const([0, -1])), f(2, 3, 4))
    case("roll_one", lambda x: opset7.roll(x, const([4]), const([1])), f(2, 3))
    case("grn", lambda x: opset1.grn(x, 0.5), f(2, 3, 4))


def _windows() -> None:
    case("adaptive_avg_pool_2", lambda x: opset8.adaptive_avg_pool(x, const([2, 3])), f(1, 2, 5, 7))
    case("adaptive_avg_pool_1d", lambda x: opset8.adaptive_avg_pool(x, const([4])), f(1, 2, 10))
    for axis in (1, 2):
        case(
            f"max_pool_axis_{axis}",
            lambda x, a=axis: opset8.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], axis=a),
            f(2, 3, 4, 4),
        )
    case("lrn_spatial", lambda x: opset1.lrn(x, const([2, 3]), 0.3, 0.75, 1.0, 3), f(1, 2, 5, 5))
    for mask in (False, True):
        given = (f(4, 4),) if mask else ()
        case(
            f"attention_causal_{int(mask)}",
            lambda q, k, v, *m: opset13.scaled_dot_product_attention(q, k, v, *m, causal=True),
            f(1, 2, 4, 3),
            f(1, 2, 4, 3),
            f(1, 2, 4, 3),
            *given,
        )


def _cells() -> None:
    x, h = f(2, 3), f(2, 4)
    case(
        "rnn_cell_alpha",
        lambda x, h, w, r, z: opset3.rnn_cell(x, h, w, r, z, 4, ["relu"], [0.3], [0.1]),
        x,
        h,
        f(4, 3),
        f(4, 4),
        f(4),
    )
    case(
        "gru_cell_relu",
        lambda x, h, w, r, z: opset3.gru_cell(
            x, h, w, r, z, 4, ["sigmoid", "relu"], [1.0], [2.0], 0.7
        ),
        x,
        h,
        f(12, 3),
        f(12, 4),
        f(12),
    )
