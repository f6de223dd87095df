"""Runs ragged rows through an LSTM on two Ray workers, one killed: python -m tools.ray_rows.

Every row has to come back once, in order, and equal to what a plain loop over the rows gives. The
rate of treadle.Predictor stands beside onnxruntime's, which is given rows of equal length together
too. Needs `pip install 'treadle[data]' 'ray[data]'`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
import pyarrow
import ray
from onnx import numpy_helper

import treadle

HIDDEN = 8
LONGEST = 40
WORKERS = 2
MODEL = f"""<ir_version: 8, opset_import: ["" : 18]>
lstm (float[N, T] x) => (float[N, {HIDDEN}] h_last) {{
    minus = Constant <value = int64[1] {{-1}}> ()
    width = Constant <value = int64[1] {{{HIDDEN}}}> ()
    rows = Shape <start = 0, end = 1> (x)
    state = Concat <axis = 0> (rows, width)
    zeros = ConstantOfShape (state)
    steps = Transpose <perm = [1, 0]> (x)
    items = Unsqueeze (steps, minus)
    h_last, c_last = Scan <num_scan_inputs = 1, body = step
        (float[N, {HIDDEN}] h, float[N, {HIDDEN}] c, float[N, 1] item)
        => (float[N, {HIDDEN}] h_next, float[N, {HIDDEN}] c_next) {{
        from_item = MatMul (item, w)
        from_state = MatMul (h, r)
        gates = Add (from_item, from_state)
        i, o, f, g = Split <axis = 1, num_outputs = 4> (gates)
        input = Sigmoid (i)
        output = Sigmoid (o)
        forget = Sigmoid (f)
        cell = Tanh (g)
        kept = Mul (forget, c)
        new = Mul (input, cell)
        c_next = Add (kept, new)
        bounded = Tanh (c_next)
        h_next = Mul (output, bounded)
    }}> (zeros, zeros, items)
}}"""


def main() -> int:
    """The exit code: 0 where every row is there, in order and right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=4096)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "lstm.onnx").write_bytes(model())
        table = rows(given.rows)
        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
        wanted = plain_loop(folder / "lstm.onnx", table)
        for mapper in (Predicting, OnnxRuntime):
            found, killed = mapped(mapper, folder, table, given.batch)
            compare(found, table, wanted)
            tell(mapper.__name__, found, killed)
    return 0


def model() -> bytes:
    """The LSTM with its weights."""
    made = onnx.parser.parse_model(MODEL)
    random = np.random.default_rng(1)
    for name, height in (("w", 1), ("r", HIDDEN)):
        value = random.normal(size=(height, 4 * HIDDEN)).astype(np.float32) / 2
        made.graph.initializer.append(numpy_helper.from_array(value, name))
    data: bytes = made.SerializeToString()
    return data


def rows(count: int) -> pyarrow.Table:
    """Signals of 1 to 40 steps, numbered."""
    random = np.random.default_rng(2)
    lengths = random.integers(1, LONGEST + 1, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = random.normal(size=offsets[-1]).astype(np.float32)
    signals = pyarrow.ListArray.from_arrays(offsets, values)
    return pyarrow.table({"id": np.arange(count), "signal": signals})


def plain_loop(path: Path, table: pyarrow.Table) -> np.ndarray:
    """A call of a session for each row."""
    session = treadle.InferenceSession(path)
    signals = table["signal"].combine_chunks()
    values, offsets = signals.values.to_numpy(), signals.offsets.to_numpy()
    started = time.process_time()
    found = np.empty((table.num_rows, HIDDEN), np.float32)
    for k in range(table.num_rows):
        row = values[offsets[k] : offsets[k + 1]]
        (found[k],) = session.run(None, {"x": row[None]})[0]
    each = (time.process_time() - started) / table.num_rows
    print(f"plain loop: {each * 1e6:.1f} µs of processor time a row", flush=True)
    return found


class Predicting:
    """treadle.Predictor, which also writes down the process and its time."""

    def __init__(self, folder: Path) -> None:
        options = treadle.SessionOptions(intra_op_num_threads=1)
        self._call = treadle.Predictor(folder / "lstm.onnx", {"x": "signal"}, options=options)
        self._folder = folder

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        """The batch with the outputs, the process and its seconds."""
        return timed(self._call, batch, self._folder)


class OnnxRuntime:
    """The same with onnxruntime alone: rows of equal length run together."""

    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(folder / "lstm.onnx", options)
        self._folder = folder

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        """As above."""
        return timed(self._run, batch, self._folder)

    def _run(self, batch: pyarrow.Table) -> pyarrow.Table:
        signals = batch["signal"].combine_chunks()
        lengths = signals.value_lengths().to_numpy()
        starts, values = signals.offsets.to_numpy()[:-1], signals.values.to_numpy()
        found = np.empty((len(lengths), HIDDEN), np.float32)
        for length in np.unique(lengths):
            where = np.flatnonzero(lengths == length)
            x = values[starts[where, None] + np.arange(length)]
            (found[where],) = self._session.run(None, {"x": x})
        column = pyarrow.FixedSizeListArray.from_arrays(found.ravel(), HIDDEN)
        return batch.append_column("h_last", column)


def timed(call: Any, batch: pyarrow.Table, folder: Path) -> pyarrow.Table:
    """What a call gives, with the number of the process and its seconds for each row."""
    with (folder / f"{os.getpid()}.pid").open("a", encoding="utf-8") as batches:
        batches.write(".")
    started = time.process_time()
    made = call(batch)
    seconds = (time.process_time() - started) / max(batch.num_rows, 1)
    columns = {"process": [os.getpid()], "seconds": [seconds]}
    for name, value in columns.items():
        made = made.append_column(name, pyarrow.array(value * batch.num_rows))
    return made


def mapped(
    mapper: type, folder: Path, table: pyarrow.Table, batch: int
) -> tuple[pyarrow.Table, int]:
    """The rows through two workers; one is killed when a fifth of the batches has begun."""
    for file in folder.glob("*.pid"):
        file.unlink()
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    ray.data.DataContext.get_current().enable_progress_bars = False
    starts = range(0, table.num_rows, batch)
    source = ray.data.from_arrow([table.slice(start, batch).combine_chunks() for start in starts])
    made = source.map_batches(
        mapper,
        fn_constructor_args=(folder,),
        compute=ray.data.ActorPoolStrategy(size=WORKERS),
        num_cpus=0.5,
        batch_size=batch,
        batch_format="pyarrow",
    )
    killed: list[int] = []
    enough = len(starts) / 5
    killer = threading.Thread(target=kill_one, args=(folder, enough, killed), daemon=True)
    killer.start()
    parts = list(made.iter_batches(batch_size=batch, batch_format="pyarrow"))
    killer.join(1)
    (process,) = killed
    return pyarrow.concat_tables(parts), process


def kill_one(folder: Path, enough: float, killed: list[int]) -> None:
    """Kill a worker, as the system does when memory is short, after this number of batches."""
    while sum(file.stat().st_size for file in folder.glob("*.pid")) < enough:
        time.sleep(0.005)
    process = int(min(folder.glob("*.pid")).stem)
    os.kill(process, signal.SIGKILL)
    killed.append(process)


def compare(found: pyarrow.Table, table: pyarrow.Table, wanted: np.ndarray) -> None:
    """Fail where a row is missing, twice, out of order or wrong."""
    np.testing.assert_array_equal(found["id"].to_numpy(), table["id"].to_numpy())
    made = found["h_last"].combine_chunks().flatten().to_numpy().reshape(-1, HIDDEN)
    np.testing.assert_allclose(made, wanted, rtol=2e-5, atol=2e-6)


def tell(name: str, found: pyarrow.Table, killed: int) -> None:
    """The rate, and which processes made the rows."""
    each = float(np.mean(found["seconds"].to_numpy()))
    made_by = {
        item["values"]: item["counts"] for item in found["process"].value_counts().to_pylist()
    }
    print(f"{name}: {found.num_rows} rows, once each, in order, equal to the plain loop")
    print(f"    rows by process {made_by}; {killed} was killed")
    print(
        f"    {each * 1e6:.2f} µs of processor time a row, {1 / each:,.0f} rows a second",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
