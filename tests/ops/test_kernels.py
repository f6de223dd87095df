"""Kernels against results worked out by hand from the standard."""

import math
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.ops.node_suite import check_value, differences
from tests.ops.peer import elements, ours, theirs
from treadle.errors import KernelError
from treadle.ops.kernels import FAMILIES, arithmetic, kernels

NAMES = {"float8e4m3fn": "FLOAT8E4M3FN", "float8e5m2": "FLOAT8E5M2"}


def one(op, version, *operands, **attributes):
    (found,) = ours(op, version, operands, **attributes)
    check_value(found)
    return found


class TestWholeNumbers:
    def test_integer_arithmetic_wraps(self):
        top = np.array([127], np.int8)
        assert one("Add", 14, top, np.array([1], np.int8)).tolist() == [-128]
        assert one("Mul", 14, top, np.array([2], np.int8)).tolist() == [-2]
        assert one("Sub", 14, np.array([0], np.uint8), np.array([1], np.uint8)).tolist() == [255]
        assert one("Neg", 13, np.array([-128], np.int8)).tolist() == [-128]

    def test_division_goes_toward_zero(self):
        found = one("Div", 14, np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2]))
        assert found.tolist() == [3, -3, -3, 3]
        assert one("Div", 14, np.array([7], np.uint8), np.array([2], np.uint8)).tolist() == [3]

    @pytest.mark.parametrize(("fmod", "wanted"), [(0, [1, 2, -2, -1]), (1, [1, -1, 1, -1])])
    def test_modulo_has_the_sign_of_the_divisor_or_of_the_dividend(self, fmod, wanted):
        found = one("Mod", 13, np.array([7, -7, 7, -7]), np.array([3, 3, -3, -3]), fmod=fmod)
        assert found.tolist() == wanted

    def test_powers_keep_the_dtype_of_the_base(self):
        assert one("Pow", 15, np.array([3], np.int32), np.array([2.0])).dtype == np.int32
        assert one("Pow", 15, np.array([2.0], np.float32), np.array([3])).tolist() == [8]
        assert one("Pow", 15, np.array([2, 4]), np.array([-1, 2])).tolist() == [0, 16]

    def test_bit_shifts(self):
        value, by = np.array([-8, -8], np.int8), np.array([1, 2], np.int8)
        assert one("BitShift", 28, value, by, direction="RIGHT").tolist() == [-4, -2]
        assert one("BitShift", 28, value, by, direction="LEFT").tolist() == [-16, -32]
        wide = one("BitShift", 11, np.array([1], np.uint8), np.array([9], np.uint8),
                   direction="LEFT")  # fmt: skip
        assert wide.tolist() == [0]

    def test_sums_keep_their_dtype(self):
        bytes_ = np.array([200, 100], np.uint8)
        assert one("ReduceSum", 13, bytes_.astype(np.int32)).dtype == np.int32
        assert one("CumSum", 14, np.array([1, 2], np.int32), np.array(0)).dtype == np.int32
        assert one("ReduceMean", 18, np.array([1, 2], np.int32)).tolist() == [1]
        assert one("ReduceMax", 20, bytes_, keepdims=0).item() == 200

    @pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64"])
    def test_means_are_exact_and_go_toward_zero(self, name):
        top = int(np.iinfo(name).max)
        for numbers in ([top, top, top], [top, top - 1], [2**24 + 1], [7, 2, 0], [0, 1]):
            mean = one("ReduceMean", 18, np.array(numbers, name), keepdims=0)
            assert mean.dtype == name
            assert mean.item() == sum(numbers) // len(numbers)
        assert one("ReduceMean", 18, np.zeros((2, 0), name), np.array([1])).tolist() == [[0], [0]]

    @pytest.mark.parametrize("name", ["int32", "int64"])
    def test_means_below_zero(self, name):
        low = int(np.iinfo(name).min)
        for numbers in ([low, low, low], [low, 3], [-1, -2], [-7, 2, 0], [-3, 3], [1, -2, 0]):
            wanted = -(-sum(numbers) // len(numbers)) if sum(numbers) < 0 else 0
            mean = one("ReduceMean", 13, np.array(numbers, name), keepdims=0)
            assert mean.item() == wanted, numbers

    @pytest.mark.parametrize("name", ["int32", "int64"])
    def test_means_of_large_numbers_are_onnxruntimes(self, name):
        limits = np.iinfo(name)
        for numbers in ([limits.max] * 2, [limits.min] * 2, [-7, 2, 0]):
            operand = np.array(numbers, name)
            (wanted,) = theirs("ReduceMean", 18, [operand], keepdims=0)
            assert one("ReduceMean", 18, operand, keepdims=0) == wanted


class TestRecurrences:
    @pytest.mark.parametrize("name", [np.float16, ml_dtypes.bfloat16])
    @pytest.mark.parametrize(("op", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
    def test_recurrent_operators_keep_their_dtype(self, op, gates, name, rng):
        outputs = 3 if op == "LSTM" else 2
        shapes = (3, 2, 4), (1, gates * 5, 4), (1, gates * 5, 5), (1, gates * 10)
        operands = [rng.uniform(-1, 1, shape).astype(name) for shape in shapes]
        found = ours(op, 22, operands, outputs, hidden_size=5)
        wide = ours(op, 22, [e.astype(np.float32) for e in operands], outputs, hidden_size=5)
        for narrow, wanted in zip(found, wide, strict=True):
            assert narrow.dtype == name
            assert np.abs(narrow.astype(np.float32) - wanted).max() < 2.0**-8


class TestCasts:
    def test_whole_numbers_lose_their_high_bits(self):
        assert one("Cast", 13, np.array([200, -1], np.int16), to=3).tolist() == [-56, -1]

    def test_floats_go_toward_zero(self):
        assert one("Cast", 13, np.array([2.9, -2.9], np.float32), to=7).tolist() == [2, -2]

    def test_bfloat16_rounds_to_even(self):
        halves = np.array([1 + 2**-8, 1 + 3 * 2**-8], np.float32)
        found = one("Cast", 13, halves, to=elements("BFLOAT16"))
        assert found.astype(np.float32).tolist() == [1.0, 1 + 2**-6]

    @pytest.mark.parametrize(
        ("name", "top", "beyond"),
        [("float8e4m3fn", 448.0, np.nan), ("float8e5m2", 57344.0, np.inf)],
    )
    def test_casts_to_8_bit_floats_saturate_by_default(self, name, top, beyond):
        x = np.array([1e6, -1e6, np.inf, np.nan, 1.0], np.float32)
        to = elements(NAMES[name])
        saturated = one("Cast", 19, x, to=to).astype(np.float32)
        assert not differences(saturated, np.array([top, -top, top, np.nan, 1], np.float32))
        free = one("Cast", 19, x, to=to, saturate=0).astype(np.float32)
        assert not differences(free, np.array([beyond, -beyond, beyond, np.nan, 1], np.float32))

    def test_4_bit_numbers(self):
        found = one("Cast", 21, np.array([3.7, -8.0], np.float32), to=elements("INT4"))
        assert found.dtype == np.dtype(ml_dtypes.int4)
        assert found.astype(np.int8).tolist() == [3, -8]

    def test_casts_to_and_from_strings(self):
        numbers = np.array([1, 0.1, np.nan, -np.inf, 1e20], np.float32)
        words = one("Cast", 13, numbers, to=8)
        assert words.tolist() == ["1", "0.1", "NaN", "-INF", "1e+20"]
        assert not differences(one("Cast", 13, words, to=1), numbers)
        assert one("Cast", 13, np.array(["7", "1e3"], object), to=7).tolist() == [7, 1000]
        assert one("Cast", 13, np.array(True), to=8).item() == "1"

    def test_the_same_dtype_is_the_same_array(self):
        x = np.zeros(3, np.float32)
        assert one("Cast", 13, x, to=1) is x

    def test_bitcast_keeps_the_bits(self):
        assert one("BitCast", 26, np.array([1.0], np.float32), to=6).tolist() == [0x3F800000]
        with pytest.raises(KernelError, match="have different widths"):
            one("BitCast", 26, np.array([1.0], np.float32), to=7)


class TestSequences:
    ONE, TWO = np.array([1]), np.array([2, 3])

    def test_sequences_are_never_changed_in_place(self):
        items = [self.ONE]
        longer = one("SequenceInsert", 11, items, self.TWO)
        assert len(items) == 1
        assert longer[1] is self.TWO
        assert one("SequenceErase", 11, longer, np.array(0))[0] is self.TWO
        assert len(longer) == 2

    def test_positions_count_from_the_end(self):
        items = [self.ONE, self.TWO]
        assert one("SequenceAt", 11, items, np.array(-2)) is self.ONE
        assert one("SequenceInsert", 11, items, self.ONE, np.array(-1))[1] is self.ONE
        assert one("SequenceLength", 11, items).dtype == np.int64

    @pytest.mark.parametrize("position", [2, -3])
    def test_positions_out_of_range(self, position):
        with pytest.raises(
            KernelError, match=f"position {position} is out of range for a sequence of 2"
        ):
            one("SequenceAt", 11, [self.ONE, self.TWO], np.array(position))

    def test_empty_sequences(self):
        assert one("SequenceEmpty", 11) == []
        with pytest.raises(KernelError, match="sequence of 0"):
            one("SequenceErase", 11, [])

    def test_joining_and_splitting(self):
        pieces = one("SplitToSequence", 11, np.arange(5), np.array(2))
        assert [p.tolist() for p in pieces] == [[0, 1], [2, 3], [4]]
        assert one("ConcatFromSequence", 11, pieces, axis=0).tolist() == [0, 1, 2, 3, 4]
        rows = one("SplitToSequence", 11, np.arange(4).reshape(2, 2), keepdims=0)
        assert one("ConcatFromSequence", 11, rows, axis=1, new_axis=1).tolist() == [[0, 2], [1, 3]]
        with pytest.raises(KernelError, match="does not sum"):
            one("SplitToSequence", 11, np.arange(5), np.array([2, 2]))
        with pytest.raises(KernelError, match="below zero"):
            one("SplitToSequence", 11, np.arange(5), np.array([7, -2]))
        with pytest.raises(KernelError, match="pieces of length -2"):
            one("SplitToSequence", 11, np.arange(5), np.array(-2))
        assert one("SplitToSequence", 11, np.arange(0), np.empty(0, np.int64)) == []

    @pytest.mark.parametrize("version", [15, 18, 28])
    def test_optional_operators(self, version):
        x = np.array(1.0)
        full = one("Optional", 28 if version == 28 else 15, x)
        assert one("OptionalHasElement", version, full).item() is True
        assert one("OptionalGetElement", version, full) is x
        with pytest.raises(KernelError, match="empty"):
            one("OptionalGetElement", version, None)
        assert one("OptionalHasElement", version, None).dtype == bool


class TestRandom:
    def test_a_seed_repeats_and_none_differs(self):
        for op, more in [("RandomNormal", {}), ("RandomUniform", {"low": 2.0, "high": 3.0})]:
            for version in (1, 22):
                first, again = (one(op, version, shape=[50], seed=1.0, **more) for _ in range(2))
                assert (first == again).all()
                assert (one(op, version, shape=[50]) != one(op, version, shape=[50])).any()
                assert first.dtype == np.float32
        assert 2 <= one("RandomUniform", 1, shape=[99], low=2.0, high=3.0).min() < 3

    def test_random_like_operators_take_shape_and_dtype(self):
        x = np.zeros((2, 3), np.float64)
        for op in ("RandomNormalLike", "RandomUniformLike", "Bernoulli"):
            for version in (22, 15 if op == "Bernoulli" else 1):
                assert one(op, version, x).dtype == np.float64
                assert one(op, version, x, dtype=elements("FLOAT16")).dtype == np.float16
                assert one(op, version, x).shape == (2, 3)
        sure = one("Bernoulli", 15, np.array([0.0, 1.0]))
        assert sure.tolist() == [0, 1]

    @pytest.mark.parametrize("version", [7, 22])
    def test_multinomial_draws_by_probability(self, version):
        logs = np.log(np.array([[1e-9, 1, 1e-9], [1, 1e-9, 3]], np.float32))
        found = one("Multinomial", version, logs, sample_size=400, seed=1.0)
        assert found.dtype == np.int32
        assert set(found[0]) == {1}
        assert 60 < (found[1] == 0).sum() < 140


class TestEdges:
    def test_a_scalars_non_zeros(self):
        assert one("NonZero", 13, np.array(5)).shape == (0, 1)
        assert one("NonZero", 13, np.array(0)).shape == (0, 0)

    @pytest.mark.parametrize("k", [-(2**63), -4, 4, 2**63 - 1])
    def test_a_triangle_far_from_the_diagonal(self, k):
        x = np.arange(1, 7).reshape(2, 3)
        upper = one("Trilu", 14, x, np.array(k), upper=1)
        lower = one("Trilu", 14, x, np.array(k), upper=0)
        assert (upper.any(), lower.any()) == (k < 0, k > 0)
        assert (upper + lower).tolist() == x.tolist()

    def test_reductions_of_empty_tensors(self):
        none = np.zeros((2, 0), np.float32)
        axis = np.array([1])
        assert one("ReduceSum", 13, none, axis).tolist() == [[0], [0]]
        assert one("ReduceProd", 18, none, axis).tolist() == [[1], [1]]
        assert one("ReduceMax", 20, none, axis).tolist() == [[-np.inf]] * 2
        assert one("ReduceMin", 20, none.astype(np.int8), axis).tolist() == [[127]] * 2

    def test_axes_that_are_empty(self):
        x = np.arange(4, dtype=np.float32)
        assert one("ReduceSum", 13, x, np.array([], np.int64)).tolist() == [6]
        kept = one("ReduceSum", 13, x, np.array([], np.int64), noop_with_empty_axes=1)
        assert kept.tolist() == x.tolist()

    def test_gathers_out_of_range(self):
        with pytest.raises(KernelError, match="out of bounds"):
            one("Gather", 13, np.arange(3), np.array(3))

    def test_squeezing_an_axis_that_is_wider(self):
        with pytest.raises(KernelError):
            one("Squeeze", 13, np.zeros((2, 1)), np.array([0]))

    def test_axes_named_twice(self):
        with pytest.raises(KernelError, match="name one axis twice"):
            one("Unsqueeze", 13, np.zeros(2), np.array([0, -3]))

    def test_text_is_data_too(self):
        words = np.array([["a", "b"], ["c", "d"]], object)
        assert one("Gather", 13, words, np.array(1)).tolist() == ["c", "d"]
        assert one("Transpose", 13, words).tolist() == [["a", "c"], ["b", "d"]]
        assert one("Concat", 13, words, words, axis=0).shape == (4, 2)
        assert one("Equal", 19, words, words).all()
        assert one("Where", 16, np.array([True, False]), words, words.T).dtype == object
        assert one("Pad", 18, words, np.array([0, 0, 0, 1])).tolist()[0] == ["a", "b", ""]
        assert one("Expand", 13, words[0], np.array([2, 2])).tolist() == [["a", "b"]] * 2
        assert one("StringConcat", 20, words, np.array("!", object)).tolist()[1] == ["c!", "d!"]

    def test_ties_of_the_largest_go_to_the_first(self):
        for largest, wanted in [(1, [1, 2]), (0, [0, 3])]:
            _, where = ours("TopK", 11, [np.array([1, 5, 5, 1]), np.array([2])], 2, largest=largest)
            assert where.tolist() == wanted

    def test_ranges_with_a_step_in_the_wrong_direction_are_empty(self):
        start, stop, step = (np.array(v, np.float32) for v in (3, 1, 1))
        assert one("Range", 11, start, stop, step).shape == (0,)

    def test_a_range_is_start_plus_steps(self):
        found = one("Range", 11, *(np.array(v, np.float32) for v in (0, 1, 0.1)))
        assert found.tolist() == (np.arange(10, dtype=np.float32) * np.float32(0.1)).tolist()


@pytest.mark.parametrize(("op", "place"), [("Gather", np.array(1)), ("GatherND", np.array([1]))])
def test_a_selected_string_is_a_tensor(op, place):
    found = one(op, 13, np.array(["a", "b"], object), place)
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape, found.item()) == (object, (), "b")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_powers_of_a_half_are_no_square_roots_of_minus_zero_and_minus_infinity(dtype):
    base = np.array([-np.inf, -0.0, 4], dtype)
    for exponent in (np.array(0.5, dtype), np.full(3, 0.5, dtype)):
        with np.errstate(invalid="ignore"):
            found = arithmetic.power(base, exponent)
        np.testing.assert_array_equal(found, np.array([np.inf, 0, 2], dtype))
        assert not np.signbit(found).any()


def test_gelu_keeps_its_digits_far_below_zero():
    x = np.linspace(-13.6, 5, 2001).astype(np.float32)
    wanted = np.array([each * 0.5 * math.erfc(-each / math.sqrt(2)) for each in x.tolist()])
    found = one("Gelu", 20, x, approximate="none")
    np.testing.assert_array_max_ulp(found, wanted.astype(np.float32), 1)


def test_a_kernel_is_found_without_importing_other_families():
    code = (
        "import importlib, sys\n"
        "from treadle.ops.kernels import FAMILIES, kernel\n"
        "from treadle.ops.kernels.registry import TABLE\n"
        "assert kernel('', 'Nothing', 1) is None and not TABLE\n"
        "for family, operators in FAMILIES.items():\n"
        "    before = set(TABLE)\n"
        "    importlib.import_module('treadle.ops.kernels.' + family)\n"
        "    assert {op for _, op, _ in set(TABLE) - before} == set(operators.split()), family\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    code = (
        "import sys\n"
        "from treadle.ops.kernels import kernel\n"
        "assert kernel('', 'Gather', 13) is not None\n"
        "assert 'treadle.ops.kernels.recurrent' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_family_is_named():
    folder = Path(arithmetic.__file__).parent
    registering = {
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^@?(evaluates|maker|trust)\(", path.read_text(), re.M)
    }
    assert registering <= set(FAMILIES)
    assert {op for _, op, _ in kernels()} == set(" ".join(FAMILIES.values()).split())
