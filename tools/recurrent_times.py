"""Times of onnxruntime for loops of exporters, and for the operators that they become.

    python -m tools.recurrent_times

100 items of 64 numbers, 128 hidden ones, one sequence: processor time of one thread, the least of
25 runs, the loop and the operator by turns. Prints the table of docs/rewriting.md.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

import numpy as np
import onnxruntime

import treadle
from tests.passes.rewrites.recurrent.exported import FEATURES, FORMS, HIDDEN, feeds_of, written
from treadle.formats.onnx import to_bytes

_ITEMS, _FEATURES, _HIDDEN, _RUNS = 100, 64, 128, 25
_LARGER = {FEATURES: _FEATURES, FEATURES + HIDDEN: _FEATURES + _HIDDEN} | {
    factor * HIDDEN: factor * _HIDDEN for factor in (1, 2, 3, 4, 8)
}
_SIZED = re.compile(r"float\[[^]]*\]|int64\[1\] \{\d+\}|hidden_size = \d+")
_TITLES = {
    "script LSTM": "PyTorch's script exporter",
    "script LSTMCell": "PyTorch's script exporter, LSTMCell",
    "jax GRU": "jax2onnx",
    "TensorFlow GRU": "tf2onnx",
    "TensorFlow LSTM": "tf2onnx, with lengths",
    "onnxscript RNN": "onnxscript",
    "Keras GRU": "Keras",
}


def larger(text: str) -> str:
    """The text with the extents of features and hidden numbers that are timed."""
    return _SIZED.sub(lambda found: re.sub(r"\b\d+\b", _scaled, found[0]), text)


def _scaled(found: re.Match[str]) -> str:
    return str(_LARGER.get(int(found[0]), found[0]))


def _session(model: treadle.Model) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(to_bytes(model), options)


def _seconds(session: onnxruntime.InferenceSession, feeds: Mapping[str, np.ndarray]) -> float:
    started = time.process_time()
    session.run(None, feeds)
    return time.process_time() - started


def main() -> None:
    """Print a row for each exporter."""
    print(f"onnxruntime {onnxruntime.__version__}\n")
    print("| written by | operator | loop | operator |\n|---|---|---|---|")
    for name, (text, operator) in FORMS.items():
        loop = written(larger(text))
        feeds = dict(feeds_of(loop, _ITEMS, 1))
        both = [_session(loop), _session(treadle.rewrite(loop, "scan-to-recurrent"))]
        rounds = [[_seconds(each, feeds) for each in both] for _ in range(_RUNS)]
        before, after = (f"{least * 1e3:.2f} ms" for least in map(min, zip(*rounds, strict=True)))
        print(f"| {_TITLES[name]} | {operator} | {before} | {after} |")


if __name__ == "__main__":
    main()
