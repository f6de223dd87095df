"""Errors of `build` for invalid arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.build import models


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "java"}, 'kind is "java", known: c'),
        ({"targets": "host"}, "targets is a str, wanted a list of names"),
        ({"targets": []}, "targets is empty"),
        ({"targets": ["sparc"]}, 'there is no target "sparc"; the targets are host, '),
        ({"targets": ["wasm"]}, 'aarch64-macos; did you mean "wasm32"'),
        (
            {"targets": ["wasm32"], "cpu": "v3"},
            'cpu is "v3", a processor of x86-64, and the target is wasm32',
        ),
        ({"targets": ["x86_64-linux"], "cpu": "v9"}, 'cpu is "v9", known: v2, v3, v4, native'),
        ({"cpu": "v3,native"}, 'or several levels, "v3,v4"'),
        ({"cpu": 3}, "cpu is an int, wanted a processor"),
        ({"name": "9lives"}, "wanted a C identifier"),
        ({"name": "while"}, "wanted a C identifier"),
        ({"inputs": {"z": (1,)}}, 'no input "z"'),
        ({"inputs": {"x": (1, 2, 3)}}, "has 3 extents, the model says float32[T,3]"),
        ({"inputs": {"x": ("n", 4)}}, 'an extent of "x" is 4, the model says float32[T,3]'),
        ({"inputs": {"x": (-1, 3)}}, "has the extent -1, below 0"),
        ({"inputs": []}, "inputs is empty"),
        ({"data": {}}, "data lacks the inputs x, first"),
    ],
)
def test_invalid_arguments_are_input_errors(
    tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(treadle.InputError) as caught:
        treadle.build(models.SCAN, tmp_path / "out", **arguments)
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(treadle.InputError, match="cannot be written"):
        treadle.build(models.SCAN, tmp_path / "file" / "out")


def test_a_value_that_no_memory_holds_is_a_reason(tmp_path):
    text = " ".join(f"a{k + 1} = Concat <axis = 0> (a{k}, a{k})" for k in range(60))
    model = f"""<ir_version: 10, opset_import: ["" : 21]> g (float x) => (float[n] y)
    <float[2] a0 = {{1, 2}}> {{ {text} y = Add (a60, x) }}"""
    with pytest.raises(treadle.Unsupported, match="does not fit into memory"):
        treadle.build(model, tmp_path / "built")
