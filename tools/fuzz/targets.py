"""The targets of fuzzing: seeds, mutation, and the code that runs on a mutated case.

A case goes wrong when anything but a TreadleError or a MemoryError comes of it (`TREADLE_DEBUG`
lets treadle's own bugs through as they are), when it takes too long, or when engines differ.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import numpy as np
import onnx
from google.protobuf.message import DecodeError

import treadle
from tests.formats.openvino.fixtures import DATA, NAMES
from tests.properties.test_programs import test_native_code_agrees_with_interp as agreement
from tools import mutated_models as changes
from tools.openvino import tampering
from treadle.checks import RUNTIMES
from treadle.cli.archive import read_archive, write_archive
from treadle.errors import TreadleError
from treadle.warming import made_up_value

_LARGEST_SEED = 4000
_BETWEEN = b"\n<!-- weights -->\n"
_LIMITS = treadle.RunOptions(max_seconds=2, max_iterations=1000, max_bytes=2**26)
_ENGINES = (("interp",), ("jit", "interp"))


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to fuzz. `change` makes another case of one; without, its bytes are changed."""

    attempt: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    change: Callable[[bytes, random.Random], bytes] | None = None


@cache
def _folder() -> Path:
    """The process's own folder for the files of a case."""
    return Path(tempfile.mkdtemp(prefix="treadle-fuzz-"))


def _expected(call: Callable[..., object], *arguments: object, **named: object) -> None:
    try:
        call(*arguments, **named)
    except (TreadleError, MemoryError):
        return


def _every_function(source: object) -> None:
    """Check, rewrite and write a model."""
    treadle.check(source, portable=RUNTIMES)
    try:
        model = treadle.load(source)
    except TreadleError:
        return
    for function in (treadle.infer, treadle.optimize):
        _expected(function, model)
    _expected(treadle.repair, model, portable=RUNTIMES)
    for suffix in (".onnx", ".onnxtxt", ".xml"):
        _expected(treadle.save, model, _folder() / f"saved{suffix}")


def _model(data: bytes) -> None:
    _every_function(data)


def _text(data: bytes) -> None:
    _every_function(data.decode(errors="replace") + "\n")


def _ir(data: bytes) -> None:
    text, _, weights = data.partition(_BETWEEN)
    path = _folder() / "case.xml"
    path.write_bytes(text)
    path.with_suffix(".bin").write_bytes(weights)
    _every_function(path)


def _archive(data: bytes) -> None:
    path = _folder() / "case.npz"
    path.write_bytes(data)
    try:
        read_archive(path, "in:")
    except (click.UsageError, MemoryError):
        return


def _run(data: bytes) -> None:
    for engines in _ENGINES:
        _expected(_ran, data, engines)


def _ran(data: bytes, engines: tuple[str, ...]) -> None:
    session = treadle.InferenceSession(data, engines=engines)
    params = {value.name: value.type for value in session.model.main.params}
    try:
        feed = {
            given.name: made_up_value(given.name, params[given.name], 0, {})
            for given in session.get_inputs()
        }
    except (click.UsageError, ValueError):  # the model does not say enough, or far too much
        return
    session.run(None, feed, _LIMITS)


def _program(data: bytes) -> None:
    agreement.hypothesis.fuzz_one_input(data)


def _model_seeds() -> Iterator[bytes]:
    yield from (data for data in changes.protos() if len(data) < _LARGEST_SEED)


def _text_seeds() -> Iterator[bytes]:
    yield from (text.encode() for text in changes.texts() if len(text) < _LARGEST_SEED)


def _ir_seeds() -> Iterator[bytes]:
    for name in NAMES:
        path = DATA / f"{name}.xml"
        weights = path.with_suffix(".bin")
        yield path.read_bytes() + _BETWEEN + (weights.read_bytes() if weights.exists() else b"")


def _archive_seeds() -> Iterator[bytes]:
    values = {"x": np.arange(6.0), "s": [np.ones(1), np.ones(2)], "t": np.array(["a"]), "o": None}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.npz"
        write_archive(path, values)
        yield path.read_bytes()
        np.savez_compressed(path, x=np.arange(6).reshape(2, 3), y=np.ones(()))
        yield path.read_bytes()


def _change_model(data: bytes, dice: random.Random) -> bytes:
    try:
        return changes.change_fields(dice, onnx.ModelProto.FromString(data)).SerializeToString()
    except (DecodeError, ValueError, TypeError):  # protobuf refuses what it is to hold
        return data


def _change_text(data: bytes, dice: random.Random) -> bytes:
    return changes.change_tokens(dice, data.decode(errors="replace")).encode(errors="replace")


def _change_ir(data: bytes, dice: random.Random) -> bytes:
    text, between, weights = data.partition(_BETWEEN)
    changed = tampering.tampered(text.decode(errors="replace"), dice)
    return changed.encode(errors="replace") + between + weights


def _program_seeds() -> Iterator[bytes]:
    dice = random.Random(1)
    yield from (dice.randbytes(size) for size in (64, 256, 1024, 1024, 1024))


TARGETS: Mapping[str, Target] = {
    "model": Target(_model, _model_seeds, _change_model),
    "text": Target(_text, _text_seeds, _change_text),
    "ir": Target(_ir, _ir_seeds, _change_ir),
    "npz": Target(_archive, _archive_seeds),
    "run": Target(_run, _model_seeds, _change_model),
    "programs": Target(_program, _program_seeds),
}
