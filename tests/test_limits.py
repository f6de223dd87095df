"""Limits of loading: models that would grow without end are refused at once."""

import gc
import os
import subprocess
import sys
import time
import zipfile

import numpy as np
import onnx
import onnx.parser
import pytest

import treadle
from treadle import LoadLimitExceeded, LoadLimits, limits
from treadle.limits import without_collection
from treadle.tracing import read_npz

HEADER = '<ir_version: 10, opset_import: ["": 21, "local": 1]>'


def doubling(levels: int) -> onnx.ModelProto:
    """A model of 2 ** levels nodes: each function calls the next one twice."""
    text = [HEADER, "g (float[2] x) => (float[2] y) { y = local.f0 (x) }"]
    for level in range(levels):
        inner = f"local.f{level + 1}" if level + 1 < levels else "Relu"
        text.append(
            f'<domain: "local", opset_import: ["": 21, "local": 1]> f{level} (a) => (c)'
            f" {{ b = {inner} (a) c = {inner} (b) }}"
        )
    return onnx.parser.parse_model("\n".join(text))


CHAIN = f"{HEADER} g (float[2] x) => (float[2] y) {{ a = Relu (x) b = Abs (a) y = Neg (b) }}"
VERBS = {
    "optimize": treadle.optimize,
    "session": treadle.InferenceSession,
    "interp": lambda model: treadle.InferenceSession(model, engines=["interp"]),
}


@pytest.mark.parametrize("verb", VERBS)
def test_functions_nested_wide_are_refused_before_they_are_expanded(verb):
    started = time.process_time()
    with pytest.raises(LoadLimitExceeded, match=r"nodes=1000000 .*raise LoadLimits\.nodes"):
        VERBS[verb](doubling(40))
    assert time.process_time() - started < 5


def test_functions_nested_wide_are_not_written_as_openvino_ir(tmp_path):
    with pytest.raises(LoadLimitExceeded, match="nodes"):
        treadle.save(doubling(40), tmp_path / "model.xml")


def test_check_and_infer_need_no_expansion():
    model = treadle.load(doubling(40))
    assert treadle.check(model) == treadle.check(doubling(40))
    assert treadle.infer(model).main.results[0].type is not None


def test_functions_below_the_limit_run():
    feed = {"x": np.float32([-1, 2])}
    assert treadle.InferenceSession(doubling(5)).run(None, feed)[0].tolist() == [0, 2]


def test_functions_that_call_each_other_too_deep_are_refused():
    with pytest.raises(LoadLimitExceeded, match=r"depth=100 .*raise LoadLimits\.depth"):
        treadle.optimize(doubling(300))


@pytest.mark.parametrize(
    "act",
    [
        lambda limits: treadle.load(CHAIN, limits=limits),
        lambda limits: treadle.check(CHAIN, limits=limits),
        lambda limits: treadle.infer(CHAIN, limits=limits),
        lambda limits: treadle.optimize(CHAIN, limits=limits),
        lambda limits: treadle.repair(CHAIN, limits=limits),
        lambda limits: treadle.InferenceSession(CHAIN, treadle.SessionOptions(load_limits=limits)),
    ],
)
def test_every_function_keeps_every_limit(act):
    act(LoadLimits())
    act(LoadLimits(nodes=3))
    with pytest.raises(LoadLimitExceeded, match="has 3 nodes, at most nodes=2"):
        act(LoadLimits(nodes=2))
    with pytest.raises(LoadLimitExceeded, match="seconds=0"):
        act(LoadLimits(seconds=0))


def test_reading_openvino_ir_takes_the_seconds_given(tmp_path):
    treadle.save(CHAIN, tmp_path / "model.xml")
    with pytest.raises(LoadLimitExceeded, match="seconds=0"):
        treadle.load(tmp_path / "model.xml", limits=LoadLimits(seconds=0))


def test_save_keeps_limits(tmp_path):
    with pytest.raises(LoadLimitExceeded, match="nodes=2"):
        treadle.save(CHAIN, tmp_path / "model.onnx", limits=LoadLimits(nodes=2))


SMALL = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'


def test_bytes_of_a_file_are_counted_before_it_is_read(tmp_path):
    path = tmp_path / "model.onnx"
    treadle.save(CHAIN, path)
    size = path.stat().st_size
    treadle.load(path, limits=LoadLimits(bytes=size))
    with pytest.raises(LoadLimitExceeded, match=r"raise LoadLimits\.bytes \(--limit bytes=N\)"):
        treadle.load(path, limits=LoadLimits(bytes=size - 1))


def test_an_operator_keeps_limits_at_its_calls():
    function = onnx.parser.parse_function(
        '<domain: "local", opset_import: ["": 21]> f (a) => (c) { b = Abs (a) c = Neg (b) }'
    )
    call = treadle.operator(function, limits=LoadLimits(nodes=1))
    with pytest.raises(LoadLimitExceeded, match="nodes=1"):
        call(np.float32([1]))
    assert treadle.operator(function, limits=LoadLimits(nodes=9))(np.float32([1])) == [-1]
    with pytest.raises(treadle.InputError, match="limits"):
        treadle.operator("Abs", limits=3)


def test_invalid_limits_are_errors():
    with pytest.raises(treadle.InputTypeError, match=r"LoadLimits\.nodes is 'x'"):
        LoadLimits(nodes="x")
    with pytest.raises(treadle.InputError, match="from 0 on"):
        LoadLimits(seconds=float("nan"))
    with pytest.raises(treadle.InputTypeError, match=r"treadle\.LoadLimits"):
        treadle.load(CHAIN, limits=3)
    with pytest.raises(treadle.InputTypeError, match="load_limits"):
        treadle.SessionOptions(load_limits=3)


def told(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "treadle", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_command_line_takes_limits(tmp_path):
    path = tmp_path / "model.onnx"
    treadle.save(CHAIN, path)
    assert told("check", path, "--limit", "nodes=3", "--limit", "seconds=60").returncode == 0
    refused = told("check", path, "--limit", "nodes=2")
    assert refused.returncode == 1
    assert "at most nodes=2 are allowed" in refused.stderr
    assert "there is no limit 'node'" in told("check", path, "--limit", "node=2").stderr


def test_an_archive_that_unpacks_to_much_more_is_refused(tmp_path):
    path, data = tmp_path / "model.onnx", tmp_path / "x.npz"
    treadle.save(CHAIN, path)
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", bytes(2**21))
    refused = told("run", path, "--input", data, "--limit", f"bytes={2**20}")
    assert refused.returncode == 1
    assert "bytes" in refused.stderr


@pytest.mark.parametrize(("size", "is_read"), [(2**27, True), (2**29, False)])
def test_a_small_archive_of_hundreds_of_megabytes_of_zeros_is_refused(size, is_read, tmp_path):
    data = tmp_path / "x.npz"
    header = {"descr": "|u1", "fortran_order": False, "shape": (size,)}
    with (
        zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w") as entry,
    ):
        np.lib.format.write_array_header_1_0(entry, header)
        for _ in range(size // 2**20):
            entry.write(bytes(2**20))
    if is_read:
        assert read_npz(data)["x"].size == size
        return
    with pytest.raises(treadle.InputError, match=r"unpacks to .* times what it holds"):
        read_npz(data)


@pytest.mark.parametrize("form", ["text", "bytes", "ir", "weights"])
def test_bytes_of_every_source_are_counted(form, tmp_path):
    path = tmp_path / "model.xml"
    treadle.save(SMALL, path)
    xml = path.read_text()
    sources = {"text": SMALL, "bytes": SMALL.encode(), "ir": xml, "weights": path}
    if form == "weights":
        path.with_suffix(".bin").write_bytes(b"0" * len(xml))
    size = len(xml) + 1 if form == "weights" else 10
    with pytest.raises(LoadLimitExceeded, match=f"bytes={size}"):
        treadle.load(sources[form], limits=LoadLimits(bytes=size))
    treadle.load(sources[form], limits=LoadLimits(bytes=4 * len(xml)))


def test_folding_passes_a_limit_on(monkeypatch):
    def over(leaf, **_):
        raise LoadLimitExceeded("seconds")

    monkeypatch.setattr(sys.modules["treadle.ops.fold"], "bind_kernel", over)
    with pytest.raises(LoadLimitExceeded):
        treadle.optimize(
            '<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float y) {'
            " a = Constant <value_float = 1.0> () b = Add (a, a) y = Mul (x, b) }"
        )


@pytest.mark.parametrize("is_frozen", [False, True])
def test_objects_that_the_process_has_frozen_stay_so(is_frozen, monkeypatch) -> None:
    monkeypatch.setattr(limits._collector, "is_foreign", False)
    if is_frozen:
        gc.freeze()
    try:
        before = gc.get_freeze_count() > limits._FROZEN_BY_PYTHON
        for _ in range(2):
            with without_collection():
                assert not gc.isenabled()
        assert gc.isenabled()
        assert (gc.get_freeze_count() > limits._FROZEN_BY_PYTHON) == is_frozen == before
    finally:
        gc.unfreeze()


def test_cycles_of_many_loads_are_collected(monkeypatch):
    monkeypatch.setattr(limits, "_LEAST_DUE", 2_000)
    monkeypatch.setattr(limits._collector, "due", 2_000)
    monkeypatch.setattr(limits._collector, "pending", 0)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(40):
        for _ in range(before // 400):
            cycle: list[object] = []
            cycle.append(cycle)
        with without_collection():
            pass
    assert len(gc.get_objects()) < before + before // 2 + 10_000


def test_objects_made_between_loads_are_counted(monkeypatch):
    """Python collects the young ones between two pauses; those that stay are old with the next."""
    monkeypatch.setattr(limits._collector, "pending", 0)
    monkeypatch.setattr(limits._collector, "collections", gc.get_stats()[-1]["collections"])
    kept = [[number] for number in range(20 * gc.get_threshold()[0])]
    with without_collection():
        pass
    counted, full = limits._collector.pending, gc.get_stats()[-1]["collections"]
    assert counted >= len(kept) // 2 or full > limits._collector.collections


def test_objects_of_a_load_that_fails_stay_young():
    made: list[list[object]] = []

    def fail() -> None:
        made.extend([] for _ in range(10))
        raise KeyError

    with pytest.raises(KeyError), without_collection():
        fail()
    young = {id(each) for each in (*gc.get_objects(0), *gc.get_objects(1))}
    assert all(id(each) in young for each in made)


COUNTING = """<ir_version: 10, opset_import: ["": 21]> g (int64 n, float x) => (float y) {
    more = Constant <value: tensor = bool {1}> ()
    y = Loop (n, more, x) <body = b (int64 i, bool c, float a) => (bool d, float e) {
        d = Identity (c)
        e = Add (a, a)
    }>
}"""


def test_the_collector_pauses_while_a_session_reads_and_code_is_generated(monkeypatch) -> None:
    codegen = pytest.importorskip("treadle.jit.codegen")
    enabled = {}

    def watch(module: object, name: str) -> None:
        function = getattr(module, name)

        def watched(*args: object, **kwargs: object) -> object:
            enabled[name] = gc.isenabled()
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, watched)

    watch(sys.modules["treadle.session.session"], "read_and_check")
    watch(codegen, "emit_kernel")
    session = treadle.InferenceSession(COUNTING, treadle.SessionOptions(cache_dir=""))
    (doubled,) = session.run(None, {"n": np.int64(3), "x": np.float32(1.25)})
    assert doubled == 10
    assert enabled == {"read_and_check": False, "emit_kernel": False}
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_does_not_thaw_its_objects() -> None:
    code = (
        "import os, gc, treadle.delegate.cancellation; from treadle import limits;"
        "child = os.fork();\n"
        "if not child:\n"
        "    with limits.without_collection(): pass\n"
        "    os._exit(not (limits._collector.is_foreign and gc.get_freeze_count() > 1000))\n"
        "assert os.waitpid(child, 0)[1] == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
