"""What commands print of names that are anything, and to streams that are closed or full."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.cli.conftest import Treadle
from treadle.cli.output import echo, visible

NAME = "\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp\rend"
RAW = tuple("\x1b\x07\x9b\u202e\r\x7f")
SH = pytest.mark.skipif(os.name != "posix", reason="needs a shell and its devices")


def model(path: Path, name: str, op: str = "Neg") -> Path:
    ports = [
        helper.make_tensor_value_info(f"{name}{port}", TensorProto.FLOAT, [f"{name}n"])
        for port in "xy"
    ]
    node = helper.make_node(op, [f"{name}x"], [f"{name}y"], name=f"{name}node")
    graph = helper.make_graph([node], f"{name}graph", ports[:1], ports[1:])
    imports = [helper.make_opsetid("", 21)]
    path.write_bytes(
        helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
    )
    return path


@pytest.mark.parametrize("op", ["Neg", f"Neg{NAME}", "Add"])
@pytest.mark.parametrize(
    "verb", ["inspect", "infer", "check", "explain", "optimize", "run --random -vv", "run"]
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_no_name_commands_the_terminal(
    treadle: Treadle, tmp_path: Path, op: str, verb: str, more: list[str]
) -> None:
    words = verb.split()
    if more and words[0] == "check":
        more = ["--output-format", "json"]
    done = treadle(words[0], model(tmp_path / "m.onnx", NAME, op), *words[1:], *more)
    assert not [each for each in RAW if each in done.out + done.err]
    if more and done.code == 0:
        json.loads(done.out)


def test_what_no_terminal_obeys_is_printed_as_it_is() -> None:
    text = "a\tb\nüber 名前 \N{GRINNING FACE} \\x1b"
    assert visible(text, io.TextIOWrapper(io.BytesIO(), "utf-8")) == text
    assert visible("a\udc80", sys.stdout) == "a\\udc80"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_are_printed_in_any_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
    echo("名é")
    sys.stdout.flush()
    shown = {"ascii": r"\u540d\xe9", "latin-1": "\\u540dé", "utf-8": "名é"}[encoding]
    assert raw.getvalue().decode(encoding) == f"{shown}\n"


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    source = Path(__file__).parents[2] / "src"
    given = {**os.environ, "PYTHONPATH": str(source), "TREADLE_CACHE_DIR": "", **environment}
    given["TREADLE_DEBUG"] = ""
    treadle = f"{sys.executable} -m treadle"
    return subprocess.run(
        ["bash", "-c", command.replace("treadle", treadle)],
        cwd=folder, env=given, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


@SH
@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("treadle inspect m.onnx > /dev/full", 1, "cannot be written: No space left on device"),
        ("treadle --help > /dev/full", 1, "cannot be written: No space left on device"),
        ("treadle check m.onnx --output-format github > /dev/full", 0, ""),
        ("treadle inspect m.onnx >&-", 0, ""),
        ("treadle inspect m.onnx 2>&-", 0, ""),
        ("treadle check - < /dev/null", 2, "standard input is empty"),
        ("(treadle inspect m.onnx; echo $? >&2) | true", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(
    tmp_path: Path, command: str, code: int, told: str
) -> None:
    model(tmp_path / "m.onnx", "名")
    done = shell(command, tmp_path)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@SH
def test_memory_that_is_short_is_told_in_a_line(tmp_path: Path) -> None:
    done = shell("ulimit -v 3000000; treadle inspect /dev/zero", tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: ")


@SH
def test_pipes_in_a_folder_and_as_data_are_not_waited_for(treadle: Treadle, tmp_path: Path) -> None:
    good = model(tmp_path / "m.onnx", "a")
    for name in ("p.onnx", "p.xml", "p.npz"):
        os.mkfifo(tmp_path / name)
    assert treadle("check", tmp_path).code == 0
    for given in (["--input", tmp_path / "p.npz"], ["-i", f"ax=@{tmp_path / 'p.npz'}"]):
        done = treadle("run", good, *given)
        assert (done.code, "is not a regular file" in done.err) == (2, True), done.err


@pytest.mark.parametrize("data", [b"", b"abc", b"PK\x03\x04" + bytes(40)])
def test_compare_with_a_damaged_archive(treadle: Treadle, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad.npz").write_bytes(data)
    done = treadle("compare", model(tmp_path / "m.onnx", "a"), tmp_path / "bad.npz", "--random")
    assert (done.code, "bad.npz" in done.err) == (1, True), done.err
    assert "bug" not in done.err


def test_compare_with_arrays_that_are_pickles(treadle: Treadle, tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", x=np.array([{}], object))
    done = treadle("compare", model(tmp_path / "m.onnx", "a"), tmp_path / "bad.npz", "--random")
    assert (done.code, "bad.npz cannot be read" in done.err) == (1, True), done.err


@pytest.mark.parametrize("name", ["m.onnx/x.xml", f"{'n' * 300}.xml"])
def test_an_xml_that_cannot_be_written(treadle: Treadle, tmp_path: Path, name: str) -> None:
    done = treadle("convert", model(tmp_path / "m.onnx", "a"), "-o", tmp_path / name)
    assert (done.code, "cannot be written" in done.err) == (1, True), done.err
