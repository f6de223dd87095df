"""Non-maximum suppression and regions of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from openvino import opset5, opset9

from tools.openvino.recorded.case import RANDOM, case, const, pos


def enter() -> None:
    """All of them."""
    _lowered()
    _pooled()


def _lowered() -> None:
    """The sizes are above 0, of others OpenVINO gives infinite scores."""
    at, size = RANDOM.uniform(0, 2, (2, 9, 2)), RANDOM.uniform(0.2, 1.5, (2, 9, 2))
    boxes = {"corner": [at, at + size], "center": [at, size]}
    scores = RANDOM.uniform(0, 1, (2, 3, 9)).astype(np.float32)
    for version, module in ((5, opset5), (9, opset9)):
        for encoding, parts in boxes.items():
            for sort, sigma in ((False, 0.1), (True, 0.5), (True, 2.0)):
                flags: dict[str, Any] = {"box_encoding": encoding, "sort_result_descending": sort}
                limits = [const(6), *(const(v, np.float32) for v in (0.4, 0.1, sigma))]
                case(
                    f"nms_{version}_soft_{encoding}_{sigma}",
                    lambda x, y, m=module, n=limits, k=flags: m.non_max_suppression(x, y, *n, **k),
                    np.concatenate(parts, 2).astype(np.float32),
                    scores,
                )
    equal = np.round(scores * 4) / 4
    limits = [const(9), *(const(v, np.float32) for v in (0.4, 0.0, 0.5))]
    corners = np.concatenate(boxes["corner"], 2).astype(np.float32)
    case(
        "nms_9_soft_equal",
        lambda x, y: opset9.non_max_suppression(x, y, *limits),
        corners,
        equal,
    )
    for sigma in (0.0, 0.5):
        case(
            f"nms_9_soft_computed_{sigma}",
            lambda x, y, s: opset9.non_max_suppression(x, y, *limits[:3], s),
            corners,
            scores,
            np.array(sigma, np.float32),
        )


def _pooled() -> None:
    """Of images above 0: where all samples are negative OpenVINO's largest is 0."""
    image = pos(1, 2, 6, 8)
    regions = np.array([[0.3, 0.2, 4.1, 3.3], [1, 0.5, 6.5, 5], [-1, -1, 2, 9]], np.float32)
    which = np.zeros(3, np.int32)
    for aligned in ("asymmetric", "half_pixel_for_nn", "half_pixel"):
        for mode in ("avg", "max"):
            case(
                f"roi_align_9_{mode}_{aligned}",
                lambda x, r, n, m=mode, a=aligned: opset9.roi_align(x, r, n, 2, 3, 2, 0.9, m, a),
                image,
                regions,
                which,
            )
