"""LSTM, GRU and RNN."""

# ruff: noqa: E501 - tables, a row a line

from __future__ import annotations

import numpy as np
from openvino import opset3, opset4, opset5

from tools.openvino.recorded.case import case, const, f, i


def enter() -> None:
    """All of them."""
    x, h, c = f(2, 3), f(2, 4), f(2, 4)
    case(
        "lstm_cell",
        lambda x, h, c, w, r, z: opset4.lstm_cell(x, h, c, w, r, z, 4),
        x,
        h,
        c,
        f(16, 3),
        f(16, 4),
        f(16),
    )
    case(
        "gru_cell",
        lambda x, h, w, r, z: opset3.gru_cell(x, h, w, r, z, 4),
        x,
        h,
        f(12, 3),
        f(12, 4),
        f(12),
    )
    case(
        "gru_cell_linear",
        lambda x, h, w, r, z: opset3.gru_cell(x, h, w, r, z, 4, linear_before_reset=True),
        x,
        h,
        f(12, 3),
        f(12, 4),
        f(16),
    )
    case(
        "rnn_cell",
        lambda x, h, w, r, z: opset3.rnn_cell(x, h, w, r, z, 4, ["tanh"], [], []),
        x,
        h,
        f(4, 3),
        f(4, 4),
        f(4),
    )
    for way, d in (("FORWARD", 1), ("REVERSE", 1), ("BIDIRECTIONAL", 2)):
        xs, hs = f(2, 5, 3), f(2, d, 4)
        n = i(5, 3, dtype=np.int32)
        case(
            f"lstm_{way.lower()}",
            lambda x, h, c, n, w=way, d=d: opset5.lstm_sequence(x, h, c, n, *WEIGHTS[4, d], 4, w),
            xs,
            hs,
            hs + 1,
            n,
        )
        case(
            f"gru_{way.lower()}",
            lambda x, h, n, w=way, d=d: opset5.gru_sequence(x, h, n, *WEIGHTS[3, d], 4, w),
            xs,
            hs,
            n,
        )
        case(
            f"rnn_{way.lower()}",
            lambda x, h, n, w=way, d=d: opset5.rnn_sequence(x, h, n, *WEIGHTS[1, d], 4, w),
            xs,
            hs,
            n,
        )


WEIGHTS = {
    (gates, d): [const(f(d, gates * 4, 3), np.float32), const(f(d, gates * 4, 4), np.float32), const(f(d, gates * 4), np.float32)]
    for gates in (1, 3, 4)
    for d in (1, 2)
}  # fmt: skip
