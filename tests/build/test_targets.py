"""Other targets: x86-64 without FMA, WebAssembly in node, object files for all the others."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import treadle
from tests.build import models
from tests.build.host import COMPILER, Loaded, shared_library
from treadle.build.targets import TARGETS

FUNCTIONS = ("Exp", "Log", "Tanh", "Sigmoid", "Softplus", "Erf")
MOST_ULP = 4
"""How far a function may be off without FMA, in units of the last place; with it 2."""
_BODY = " ".join(f"{name.lower()} = {name} (item)" for name in FUNCTIONS)
_ELEMENTS = ", ".join(f"float[64] {name.lower()}" for name in FUNCTIONS)
_STACKS = ", ".join(f"float[T,64] all_{name.lower()}" for name in FUNCTIONS)
_RESULTS = ", ".join(f"all_{name.lower()}" for name in FUNCTIONS)
MATHEMATICS = f"""<ir_version: 10, opset_import: ["" : 21]>
mathematics (float[T,64] x) => ({_STACKS}) {{
  {_RESULTS} = Scan <num_scan_inputs = 1, body = step (float[64] item) => ({_ELEMENTS})
  {{ {_BODY} }}> (x)
}}"""
EXACT = {
    "Exp": np.exp,
    "Log": np.log,
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "Erf": np.vectorize(__import__("math").erf),
}


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_functions_without_fma_are_close(tmp_path: Path, rng: np.random.Generator) -> None:
    built = treadle.build(
        MATHEMATICS, tmp_path, name="mathematics", targets=["x86_64-linux"], cpu="v2"
    )
    loaded = Loaded(shared_library(next(p for p in built.files if p.suffix == ".a")), built.name)
    signs = rng.choice([-1, 1], (50, 64))
    x = (signs * np.exp(rng.uniform(-9, 4, (50, 64)))).astype(np.float32)
    status, found = loaded.call([x], len(FUNCTIONS))
    assert status == 0
    for name, array in zip(FUNCTIONS, found, strict=True):
        with np.errstate(invalid="ignore"):
            wanted = EXACT[name](x.astype(np.float64))
        is_known = np.isfinite(wanted)
        unit = np.spacing(np.abs(wanted[is_known]).astype(np.float32)).astype(np.float64)
        assert (np.abs(array[is_known] - wanted[is_known]) / unit).max() <= MOST_ULP, name
        assert np.isnan(array[~is_known]).all(), name


def test_every_target_has_an_archive(tmp_path: Path) -> None:
    built = treadle.build(models.GROW, tmp_path, name="grow", targets=list(TARGETS))
    magics = {
        "x86_64-linux": b"\x7fELF\x02\x01\x01",
        "aarch64-linux": b"\x7fELF\x02\x01\x01",
        "riscv64-linux": b"\x7fELF\x02\x01\x01",
        "wasm32": b"\0asm\x01",
        "x86_64-windows": b"\x64\x86",
        "aarch64-macos": b"\xcf\xfa\xed\xfe\x0c\0\0\x01",
    }
    assert len(built.files) == len(TARGETS) + 3
    for name, magic in magics.items():
        data = (tmp_path / name / "libgrow.a").read_bytes()
        assert data.startswith(b"!<arch>\n")
        assert magic in data


def test_a_target_without_a_linker_is_refused_before_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["treadle.build.link"], "find_spec", lambda _: None)
    with pytest.raises(treadle.ConfigurationError, match="no linker for wasm32"):
        treadle.build(models.GROW, tmp_path / "out", targets=["wasm32"], link=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(find_spec("ziglang") is None, reason="the ziglang package is not here")
@pytest.mark.parametrize("kind", ["c", "ort"])
def test_windows_libraries_are_linked_without_a_windows_toolchain(
    tmp_path: Path, kind: Literal["c", "ort"]
) -> None:
    built = treadle.build(
        models.GROW, tmp_path, kind=kind, name="grow", targets=["x86_64-windows"], link=kind == "c"
    )
    (library,) = (path for path in built.files if path.suffix == ".dll")
    data = library.read_bytes()
    assert data.startswith(b"MZ")
    assert b"ucrtbase.dll" in data
    exported = b"grow_run" if kind == "c" else b"RegisterCustomOps"
    assert exported in data
    assert not [path.name for path in library.parent.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(find_spec("ziglang") is None, reason="the ziglang package is not here")
@pytest.mark.parametrize("target", ["aarch64-linux", "aarch64-macos"])
def test_operators_of_other_machines_are_linked_to_the_same_bytes(
    tmp_path: Path, target: str
) -> None:
    first, second = (
        treadle.build(models.GROW, tmp_path / folder, kind="ort", name="grow", targets=[target])
        for folder in ("first", "second")
    )
    libraries = [
        path.read_bytes()
        for built in (first, second)
        for path in built.files
        if path.suffix in (".so", ".dylib")
    ]
    assert libraries[0] == libraries[1]
    assert b"RegisterCustomOps" in libraries[0]


SCRIPT = """
import { load } from "./wasm32/grow.mjs";
import { readFileSync } from "node:fs";
const model = await load(readFileSync(process.argv[2]));
const inputs = (limit) => ({
  limit: { data: new BigInt64Array([limit]), shape: [] },
  start: { data: new Float32Array([0, 1, 2, 3]), shape: [4] },
});
for (const limit of [0n, 1n, 2n, 10000n]) {
  const { rows, last } = model.run(inputs(limit));
  console.log(rows.shape.join(), Array.from(last.data).join());
}
try { model.run({ ...inputs(1n), limit: { data: new BigInt64Array(1), shape: [1] } }); }
catch (error) { console.log(error.message); }
try { model.run(inputs(5n), { iterations: 3 }); } catch (error) { console.log(error.message); }
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
@pytest.mark.skipif(find_spec("ziglang") is None, reason="the ziglang package is not here")
def test_a_webassembly_module_runs_in_node(tmp_path: Path) -> None:
    treadle.build(models.GROW, tmp_path, name="grow", targets=["wasm32"], link=True)
    (tmp_path / "test.mjs").write_text(SCRIPT)
    command = ["node", tmp_path / "test.mjs", tmp_path / "wasm32/grow.wasm"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    session = treadle.InferenceSession(models.GROW)
    for line, limit in zip(said, (0, 1, 2, 10000), strict=False):
        start = np.arange(4, dtype=np.float32)
        rows, last = session.run(None, {"limit": np.array(limit), "start": start})
        shape, values = line.split(" ")
        assert shape == f"{rows.shape[0]},4"
        found = np.array(values.split(","), np.float64)
        np.testing.assert_allclose(found, last, rtol=1e-5)
    assert said[4].startswith("no kernel of this library fits")
    assert said[5] == "the run exceeds its limit of iterations"
