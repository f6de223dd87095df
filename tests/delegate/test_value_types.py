"""Values that can be passed to onnxruntime and back, and the reasons given for the others."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from treadle.delegate import Onnxruntime
from treadle.ir import BlockBuilder, DType, Map, Model, Tensor, clone_with_new_values, tensor
from treadle.ir import typed as infer
from treadle.plan import RunContext, plan

WORDS = {"float32": "float", "float64": "double"}
PLAIN = (
    "float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "bool",
)  # fmt: skip
WIDE = ("bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
REFUSED = ("complex64", "complex128", "int4", "uint4", "float4e2m1", "float8e8m0", "int2", "uint2")


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 1)])
def test_plain_types(whole, same, dtype, shape):
    word = WORDS.get(dtype, dtype)
    dims = f"[{','.join(map(str, shape))}]" if shape else ""
    run = whole(f"g ({word}{dims} x) => ({word}{dims} y) {{ y = Identity(x) }}")
    x = np.ones(shape, dtype)
    same(run(x)[0], x)


def test_strings(whole):
    run = whole("g (string[n] x) => (string[n] y) { y = Identity(x) }")
    found = run(np.array(["a", "grüß"], object))[0]
    assert found.dtype == object
    assert found.tolist() == ["a", "grüß"]


def test_arrays_that_are_not_contiguous(whole, same):
    run = whole("g (float[n, m] x) => (float[n, m] y) { y = Neg(x) }")
    x = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    same(run(x)[0], -x)


def test_sequences_go_as_lists(whole, same):
    run = whole("g (seq(float[n]) s, float[n] x) => (seq(float[n]) t) { t = SequenceInsert(s, x) }")
    x = np.ones(2, np.float32)
    found = run([], x)[0]
    assert isinstance(found, list)
    same(found[0], x)
    assert len(run([x, x[:1]], x)[0]) == 3


def test_an_empty_optional_goes_as_none(whole, same):
    text = "g (optional(float[n]) o) => (bool b) { b = OptionalHasElement(o) }"
    run = whole(text, 18)
    same(run(None)[0], np.False_)
    same(run(np.ones(2, np.float32))[0], np.True_)


def _planned(dtype, version):
    block = BlockBuilder("main")
    x = block.param("x", tensor(dtype, None))
    y = block.leaf("Identity", version, x)
    typed = Tensor(DType(dtype), (None,))
    built = block.build(y)
    main = clone_with_new_values(built, lambda value: infer(value, typed))
    return plan(Model(main, opsets={"": version}), [Onnxruntime()]).main.regions[0]


@pytest.mark.parametrize("dtype", WIDE)
def test_wide_types_go_as_bytes(dtype):
    region = _planned(dtype, 21)
    assert region.engine == "onnxruntime", region.reason
    for x in (np.array([0, 1, -2], DType(dtype).numpy), np.zeros(0, DType(dtype).numpy)):
        (found,) = region.runnable([x], RunContext())
        assert (found.dtype, found.shape) == (x.dtype, x.shape)
        assert found.tobytes() == x.tobytes()


def test_bfloat16_inside_and_float32_at_the_border(whole):
    run = whole("""g (float[n] x) => (float[n] y) {
        b = Cast <to = 16> (x)
        c = Concat <axis = 0> (b, b)
        y = Cast <to = 1> (c) }""")
    x = np.array([1, 2.718], np.float32)
    wanted = np.tile(x.astype(ml_dtypes.bfloat16).astype(np.float32), 2).tolist()
    assert run(x)[0].tolist() == wanted


@pytest.mark.parametrize("dtype", REFUSED)
def test_types_without_an_ortvalue_stay_with_interp(dtype, capfd):
    region = _planned(dtype, 25)
    assert region.engine == "interp"
    assert dtype in region.reason or "Type Error" in region.reason
    assert capfd.readouterr() == ("", "")


def test_maps_stay_with_interp():
    block = BlockBuilder("main")
    x = block.param("x", Map(DType.STRING, tensor("int64")))
    y = block.leaf("Identity", 16, x)
    region = plan(Model(block.build(y), opsets={"": 16}), [Onnxruntime()]).main.regions[0]
    assert region.engine == "interp"
    assert "map(string,int64[])" in region.reason


def test_an_input_of_unknown_type_stays_with_interp():
    block = BlockBuilder("main")
    y = block.leaf("Neg", 13, block.param("x"))
    region = plan(Model(block.build(y), opsets={"": 13}), [Onnxruntime()]).main.regions[0]
    assert region.engine == "interp"
    assert "the type of 'x' is not known" in region.reason
