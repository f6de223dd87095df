"""Times ten million rows of a scalar filter, from Parquet to Parquet: python -m tools.map_rows.

Each row is a number that a loop of eight iterations filters. treadle.Predictor and onnxruntime are
called in turn with the same batches, in one process and one thread, after two calls each that are
not counted; what is told is processor time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx.parser
import onnxruntime
import pyarrow
import pyarrow.parquet

import treadle

BATCH = 65536
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
filter (float[N] x) => (float[N] y) {
    trips = Constant <value = int64 {8}> ()
    y = Loop (trips, "", x) <body = step (int64 i, bool go, float[N] state)
        => (bool on, float[N] next) {
        on = Identity (go)
        decay = Constant <value = float {0.9}> ()
        kept = Mul (state, decay)
        bounded = Tanh (x)
        next = Add (kept, bounded)
    }>
}"""
Call = Callable[[pyarrow.RecordBatch], pyarrow.Array]


def main() -> int:
    """The exit code: 0 where both give the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        values = np.random.default_rng(3).normal(size=given.rows).astype(np.float32)
        pyarrow.parquet.write_table(pyarrow.table({"x": values}), folder / "rows.parquet")
        calls = {"treadle.Predictor": predicting(), "onnxruntime": running()}
        for call, seconds in zip(calls, mapped(folder, list(calls.values())), strict=True):
            each = seconds / given.rows
            print(f"{call}: {each * 1e9:.0f} ns of processor time a row, {1 / each:,.0f} a second")
        compare(folder, len(calls))
    return 0


def predicting() -> Call:
    """The rows through treadle.Predictor."""
    options = treadle.SessionOptions(intra_op_num_threads=1)
    predict = treadle.Predictor(MODEL, errors="raise", options=options)
    return lambda batch: predict(pyarrow.Table.from_batches([batch]))["y"].combine_chunks()


def running() -> Call:
    """The rows through a session of onnxruntime: a batch is a tensor."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    data = onnx.parser.parse_model(MODEL).SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return lambda batch: pyarrow.array(session.run(None, {"x": batch["x"].to_numpy()})[0])


def mapped(folder: Path, calls: Sequence[Call]) -> list[float]:
    """Write a file for each call, and give its processor time, without reading and first calls."""
    schema = pyarrow.schema({"y": pyarrow.float32()})
    writers = [
        pyarrow.parquet.ParquetWriter(folder / f"{k}.parquet", schema) for k in range(len(calls))
    ]
    seconds = [0.0] * len(calls)
    source = pyarrow.parquet.ParquetFile(folder / "rows.parquet")
    first = next(source.iter_batches(batch_size=BATCH))
    for call in calls:
        call(first)
        call(first.slice(0, 1000))  # another extent: what is compiled for any is compiled now
    for batch in source.iter_batches(batch_size=BATCH):
        for k, call in enumerate(calls):
            started = time.process_time()
            made = call(batch)
            seconds[k] += time.process_time() - started
            writers[k].write_table(pyarrow.table([made], schema))
    for writer in writers:
        writer.close()
    return seconds


def compare(folder: Path, count: int) -> None:
    """Fail where the files differ."""
    first, *others = (pyarrow.parquet.read_table(folder / f"{k}.parquet") for k in range(count))
    for other in others:
        np.testing.assert_allclose(
            first["y"].to_numpy(), other["y"].to_numpy(), rtol=1e-5, atol=1e-6
        )


if __name__ == "__main__":
    sys.exit(main())
