"""Nodes with changed attributes, types and operands, checked: no file may end or hang the process.

    python -m tools.type_rules [--every 10]

`treadle.check` asks onnx's type rules, which are C++ and read some attributes unchecked. The models
are onnx's node cases at every version of their operator. They are checked in child processes. A
child that dies, or is silent for twenty seconds, is reported; the next starts after that model.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import itertools
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import onnx
from onnx import helper
from onnx.defs import OpSchema

import treadle
from tests.ops.node_suite import control_flow, node_cases
from treadle import TreadleError

_PARENT_DEATH_SIGNAL = 1
_SILENCE = 20
_START = 600
_WHOLE = sorted(
    {sign * value + step for value in (0, 2, 4, 16, 2**16, 2**31, 2**32, 2**62)
     for sign in (-1, 1) for step in (-1, 0, 1)} | {-(2**63), 2**63 - 1}
)  # fmt: skip
_REAL = (float("nan"), float("inf"), -1.0, 0.0, 1e38)
_TEXT = (
    "", " ", "a", "a,a", "a,a/", "a,a-", "..a", "a..", "ab,...", "->", "a->", ",,,,", "(((", "[a",
    "NOTSET", "SAME_UPPER", "constant", "\xff",
)  # fmt: skip
_KIND = OpSchema.AttrType
_ELEMENTS = (1, 7, 8, 9, 11, 15, 16, 23)


def main() -> None:
    """Check all models, or every Nth, and list those that end or hang the process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, help="check every Nth model only")
    parser.add_argument("--after", type=int, help="in a child: the number of the last model done")
    given = parser.parse_args()
    if given.after is not None:
        return _check(given.every, given.after)
    found = list(fatal("tools.type_rules", ["--every", str(given.every)]))
    print(f"{len(found)} models end or hang the process")
    sys.exit(bool(found))


def _check(every: int, after: int) -> None:
    for number, (name, model) in enumerate(models()):
        if number <= after or number % every:
            continue
        os.write(1, f"{number} {name}\n".encode(errors="replace"))
        try:
            treadle.check(model)
        except TreadleError:
            continue


def fatal(
    module: str, arguments: Sequence[str], is_report: Callable[[str], bool] = lambda _line: False
) -> Iterator[str]:
    """The models that end or hang the tool's children, which print each before they try it.

    A line that `is_report` takes names no model.
    """
    last, ended = "-1", False
    while not ended:
        child = subprocess.Popen(
            [sys.executable, "-m", module, "--after", last.split()[0], *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=end_with_parent,
        )
        before = last
        for line in _lines(child):
            last = last if is_report(line) else line
        ended = child.wait() == 0
        if not ended:
            how = "hangs" if child.returncode == -9 else f"ends with {child.returncode}"
            print(f"{how}: {last}", flush=True)
            yield last
            ended = last == before


def end_with_parent() -> None:
    """Have Linux kill this process when its parent ends, however it ends."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _lines(child: subprocess.Popen[bytes]) -> Iterator[str]:
    """The lines that a child prints; it is killed when it is silent for too long."""
    assert child.stdout is not None
    rest, wait = b"", _START
    while select.select([child.stdout], [], [], wait)[0]:
        read = os.read(child.stdout.fileno(), 1 << 16)
        if not read:
            return
        *lines, rest = (rest + read).split(b"\n")
        wait = _SILENCE
        yield from (line.decode(errors="replace") for line in lines)
    child.kill()


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Every changed model with a name that tells the change."""
    seen = set()
    for case in node_cases():
        if control_flow(case.model) or len(case.model.graph.node) != 1:
            continue
        node = case.model.graph.node[0]
        form = (node.op_type, tuple(sorted(a.name for a in node.attribute)), len(node.input))
        if form in seen:
            continue
        seen.add(form)
        for version in _versions(node):
            model = copy.deepcopy(case.model)
            for entry in model.opset_import:
                if entry.domain == node.domain:
                    entry.version = version
            for what, changed in itertools.chain(_attributes(model, version), _operands(model)):
                yield f"{node.op_type}-{version} {what} {case.name}", changed


def _versions(node: onnx.NodeProto) -> list[int]:
    known = onnx.defs.get_all_schemas_with_history()
    return sorted(
        {s.since_version for s in known if (s.domain, s.name) == (node.domain, node.op_type)}
    )


def _attributes(model: onnx.ModelProto, version: int) -> Iterator[tuple[str, onnx.ModelProto]]:
    node = model.graph.node[0]
    schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    for name, rule in schema.attributes.items():
        for value in (None, *_values(node, name, rule.type)):
            changed = copy.deepcopy(model)
            kept = [a for a in changed.graph.node[0].attribute if a.name != name]
            del changed.graph.node[0].attribute[:]
            changed.graph.node[0].attribute.extend(kept)
            if value is not None:
                changed.graph.node[0].attribute.append(helper.make_attribute(name, value))
            yield f"{name}={str(value)[:60]!r}", changed


def _values(node: onnx.NodeProto, name: str, kind: object) -> Iterator[object]:
    if kind == _KIND.INT:
        yield from _WHOLE
    elif kind == _KIND.INTS:
        length = max((len(a.ints) for a in node.attribute if a.name == name), default=2)
        for value in _WHOLE:
            yield from ([value], [value] * length, [1] * (length - 1) + [value])
        yield from ([0] * 100_000, [1] * 70)
    elif kind == _KIND.FLOAT:
        yield from _REAL
    elif kind == _KIND.FLOATS:
        yield from ([value] for value in _REAL)
    elif kind == _KIND.STRING:
        yield from _TEXT


def _operands(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.ModelProto]]:
    """The operands with other types, with edge values as initializers, and left out."""
    for position, value in enumerate(model.graph.input):
        tensor = value.type.tensor_type
        dims = [dim.dim_value for dim in tensor.shape.dim]
        shapes: list[list[object] | None] = [
            [], [0], [3], [2, 3], [2, 3, 4], [*dims, 2], list(dims[:-1]), [1] * 9, None,
            *([extent] * len(dims) for extent in (0, 1, -1, 2**31, 2**62, 2**63 - 1, "n")),
        ]  # fmt: skip
        types = [helper.make_tensor_type_proto(tensor.elem_type, each) for each in shapes]
        types += [helper.make_tensor_type_proto(each, dims) for each in _ELEMENTS]
        for type_ in (onnx.TypeProto(), *types):
            changed = copy.deepcopy(model)
            changed.graph.input[position].type.CopyFrom(type_)
            yield f"{value.name} of {str(type_).split()!r:.80}", changed
        if tensor.elem_type == onnx.TensorProto.INT64 and len(dims) <= 1:
            for whole in _WHOLE:
                changed = copy.deepcopy(model)
                count = dims[0] if dims else 1
                data = helper.make_tensor(value.name, 7, dims, [whole] * count)
                changed.graph.initializer.append(data)
                yield f"{value.name} is {whole}", changed
    for position in range(len(model.graph.node[0].input)):
        changed = copy.deepcopy(model)
        changed.graph.node[0].input[position] = ""
        yield f"no input {position}", changed


if __name__ == "__main__":
    main()
