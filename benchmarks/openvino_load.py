"""Times loading a large OpenVINO IR: python -m benchmarks.openvino_load.

Files of 20,000 layers are made in a temporary folder, about 9 MB each, printed as OpenVINO prints
them: a chain of one kind, many kinds, and a Loop whose body holds nearly all of them. Each is
loaded in processes of their own. Seconds are those of `treadle.load`, on the processor and on the
clock, in the median and at worst; the peak is of the whole process. Exit status 1: a median on the
processor is above what is allowed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.growth import peak

ALLOWED = 1.5
_MATRIX = np.eye(3, dtype=np.float32)
_CONSTANTS = {
    "row": ("f32", "1, 3", np.ones((1, 3), np.float32)),
    "matrix": ("f32", "3, 3", _MATRIX),
    "places": ("i64", "2", np.arange(2)),
    "axis": ("i64", "", np.array(0)),
    "trips": ("i64", "", np.array(1)),
    "true": ("boolean", "", np.array([True])),
}
_WORDS = {"f32": "FP32", "f16": "FP16", "i64": "I64", "boolean": "BOOL"}
_VALUE = ("f32", (2, 3))
Port = tuple[str, tuple[int, ...]]
Source = tuple[int, int, Port]
"""A layer, its output port, and what that holds."""


class Body:
    """Layers and edges as text, as they come."""

    def __init__(self) -> None:
        self.layers: list[str] = []
        self.edges: list[str] = []

    def layer(
        self,
        kind: str,
        version: int,
        gives: Port | None,
        *reads: Source,
        data: str = "",
        more: str = "",
    ) -> Source:
        """One layer with one output, or none."""
        number, name = len(self.layers), f"a_name_as_long/as_exporters_give_them/to_{kind}"
        lines = [
            f'<layer id="{number}" name="{name}_{number}" type="{kind}" version="opset{version}">'
        ]
        lines += [f"\t<data {data} />"] if data else []
        lines += list(_ports("input", 0, [port for _, _, port in reads]))
        lines += list(_ports("output", len(reads), [] if gives is None else [gives]))
        self.layers.append("\n".join([*lines, *([more] if more else []), "</layer>"]))
        for place, (layer, port, _) in enumerate(reads):
            source = f'from-layer="{layer}" from-port="{port}"'
            self.edges.append(f'<edge {source} to-layer="{number}" to-port="{place}" />')
        return number, len(reads), gives or _VALUE

    def constant(self, name: str) -> Source:
        """A Const layer."""
        element, shape, array = _CONSTANTS[name]
        place = _places()[name]
        data = f'element_type="{element}" shape="{shape}" offset="{place}" size="{array.nbytes}"'
        dims = tuple(map(int, shape.split(","))) if shape else ()
        return self.layer("Const", 1, (element, dims), data=data)

    def __str__(self) -> str:
        layers, edges = "\n".join(self.layers), "\n".join(self.edges)
        return f"<layers>\n{layers}\n</layers>\n<edges>\n{edges}\n</edges>"


def _ports(tag: str, first: int, held: Sequence[Port]) -> Iterator[str]:
    if not held:
        return
    yield f"\t<{tag}>"
    for number, (element, dims) in enumerate(held, first):
        yield f'\t\t<port id="{number}" precision="{_WORDS[element]}">'
        yield from (f"\t\t\t<dim>{dim}</dim>" for dim in dims)
        yield "\t\t</port>"
    yield f"\t</{tag}>"


def _places() -> dict[str, int]:
    """Where each constant lies in the .bin."""
    places, end = {}, 0
    for name, (_, _, array) in _CONSTANTS.items():
        places[name] = end
        end += array.nbytes
    return places


def _chain(body: Body, value: Source, count: int) -> Source:
    while len(body.layers) < count:
        value = body.layer("ReLU", 1, _VALUE, value)
    return value


def _mixed(body: Body, value: Source, count: int) -> Source:
    while len(body.layers) < count:
        value = body.layer("ReLU", 1, _VALUE, value)
        value = body.layer(
            "Add", 1, _VALUE, value, body.constant("row"), data='auto_broadcast="numpy"'
        )
        data = 'transpose_a="false" transpose_b="false"'
        value = body.layer("MatMul", 1, _VALUE, value, body.constant("matrix"), data=data)
        half = body.layer("Convert", 1, ("f16", (2, 3)), value, data='destination_type="f16"')
        value = body.layer("Convert", 1, _VALUE, half, data='destination_type="f32"')
        shape = body.layer("ShapeOf", 3, ("i64", (2,)), value, data='output_type="i64"')
        read = shape, body.constant("places"), body.constant("axis")
        shape = body.layer("Gather", 8, ("i64", (2,)), *read, data='batch_dims="0"')
        value = body.layer("Reshape", 1, _VALUE, value, shape, data='special_zero="false"')
        gate = body.layer("Sigmoid", 1, _VALUE, value)
        value = body.layer("Multiply", 1, _VALUE, value, gate, data='auto_broadcast="numpy"')
    return value


def _looped(body: Body, value: Source, count: int) -> Source:
    inner = Body()
    start = inner.layer("Parameter", 1, _VALUE, data='shape="2,3" element_type="f32"')
    after = inner.layer("Result", 1, None, _mixed(inner, start, count - 10))
    again = inner.layer("Result", 1, None, inner.constant("true"))
    more = (
        f'<port_map><input external_port_id="2" internal_layer_id="{start[0]}" />'
        f'<output external_port_id="3" internal_layer_id="{after[0]}" />'
        f'<output external_port_id="-1" internal_layer_id="{again[0]}" '
        'purpose="execution_condition" /></port_map>\n'
        f'<back_edges><edge from-layer="{after[0]}" to-layer="{start[0]}" />'
        f"</back_edges>\n<body>\n{inner}\n</body>"
    )
    return body.layer(
        "Loop", 5, _VALUE, body.constant("trips"), body.constant("true"), value, more=more
    )


KINDS: dict[str, Callable[[Body, Source, int], Source]] = {
    "one kind": _chain, "many kinds": _mixed, "in a Loop": _looped,
}  # fmt: skip


def write(kind: str, count: int, path: Path) -> None:
    """Write the .xml with about this number of layers, and its .bin."""
    body = Body()
    first = body.layer("Parameter", 1, _VALUE, data='shape="2,3" element_type="f32"')
    body.layer("Result", 1, None, KINDS[kind](body, first, count - 1))
    path.write_text(f'<?xml version="1.0"?>\n<net name="large" version="11">\n{body}\n</net>\n')
    path.with_suffix(".bin").write_bytes(
        b"".join(each.tobytes() for *_, each in _CONSTANTS.values())
    )


def load(path: str) -> dict[str, float]:
    """What loading a file costs this process."""
    import treadle

    began, ticked = time.perf_counter(), time.process_time()
    treadle.load(path)
    spent = {"processor": time.process_time() - ticked, "clock": time.perf_counter() - began}
    return {**spent, "peak": peak()}


def _fresh(path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.openvino_load", "--one", str(path)]
    found: dict[str, float] = json.loads(
        subprocess.run(command, check=True, capture_output=True).stdout
    )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 if a file takes longer than is allowed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.openvino_load", description=__doc__)
    parser.add_argument("--layers", type=int, default=20_000, help="about how many each file has")
    parser.add_argument("--times", type=int, default=5, help="how often each is loaded")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        sys.stdout.write(json.dumps(load(options.one)))
        return 0
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = Path(folder) / "large.xml"
            write(kind, options.layers, path)
            runs = [_fresh(path) for _ in range(options.times)]
            slow = _shown(kind, path.stat().st_size, runs) > ALLOWED or slow
    return int(slow)


def _shown(kind: str, size: int, runs: Sequence[dict[str, float]]) -> float:
    """Prints one line; gives the seconds on the processor."""
    taken = {clock: [run[clock] for run in runs] for clock in ("processor", "clock")}
    said = (f"{clock} {median(each):.2f} s, worst {max(each):.2f}" for clock, each in taken.items())
    highest = max(run["peak"] for run in runs)
    sys.stdout.write(f"{kind:10} {size / 1e6:5.2f} MB: {'; '.join(said)}; peak {highest:.0f} MB\n")
    return median(taken["processor"])


if __name__ == "__main__":
    sys.exit(main())
