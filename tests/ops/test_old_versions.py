"""Versions that onnxruntime does not implement, against results worked out from their schemas."""

import numpy as np
import pytest

from tests.ops.node_suite import differences
from tests.ops.peer import ours
from treadle.errors import KernelError


def floats(*values):
    return np.array(values, np.float32)


A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
MATRIX = floats([1, -2, 3], [-4, 5, -6])
TRUE = np.array([[True, False], [True, True]])


@pytest.mark.parametrize("version", [1, 6])
@pytest.mark.parametrize(
    ("shape", "axis", "reshaped"),
    [
        ((), None, ()),
        ((4,), None, (4,)),
        ((3, 4), None, (3, 4)),
        ((3, 4), 1, (3, 4)),
        ((2,), 0, (2, 1, 1)),
        ((3,), 1, (3, 1)),
        ((2, 3), 0, (2, 3, 1)),
        ((3,), -2, (3, 1)),
        ((1, 1), 0, (1, 1, 1)),
    ],
)
def test_the_right_operand_is_aligned_at_the_axis(version, shape, axis, reshaped):
    b = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)
    more = {} if axis is None else {"axis": axis}
    for op, compute in [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply),
                        ("Div", np.divide)]:  # fmt: skip
        (found,) = ours(op, version, [A, b], broadcast=1, **more)
        assert not differences(found, compute(A, b.reshape(reshaped)))


@pytest.mark.parametrize("op", ["Add", "Mul", "Pow", "Greater", "Less", "Equal"])
def test_without_broadcast_shapes_must_agree(op):
    whole = A.astype(np.int32) if op == "Equal" else A
    with pytest.raises(KernelError, match="broadcast"):
        ours(op, 1, [whole, whole[0]])
    assert ours(op, 1, [whole, whole])[0].shape == A.shape


def test_logic_and_powers_align_too():
    row = np.array([True, False])
    assert (ours("And", 1, [TRUE, row], broadcast=1, axis=0)[0] == (TRUE & row[:, None])).all()
    assert (ours("Or", 1, [TRUE, row], broadcast=1)[0] == (TRUE | row)).all()
    assert (ours("Xor", 1, [TRUE, row], broadcast=1, axis=0)[0] == (TRUE ^ row[:, None])).all()
    assert (ours("Pow", 1, [A, floats(2)], broadcast=1)[0] == A**2).all()
    two = floats(5, 15)
    assert (ours("Greater", 1, [A, two], broadcast=1, axis=0)[0] == (two[:, None, None] < A)).all()
    assert (ours("Less", 1, [A, two], broadcast=1, axis=0)[0] == (two[:, None, None] > A)).all()


CASES = {
    "Abs": ([MATRIX], {"consumed_inputs": [0]}, np.abs(MATRIX)),
    "Ceil": ([MATRIX / 2], {}, np.ceil(MATRIX / 2)),
    "Floor": ([MATRIX / 2], {}, np.floor(MATRIX / 2)),
    "Neg": ([MATRIX], {"consumed_inputs": [1]}, -MATRIX),
    "Exp": ([MATRIX], {}, np.exp(MATRIX)),
    "Log": ([np.abs(MATRIX)], {}, np.log(np.abs(MATRIX))),
    "Sqrt": ([np.abs(MATRIX)], {}, np.sqrt(np.abs(MATRIX))),
    "Tanh": ([MATRIX], {}, np.tanh(MATRIX)),
    "Reciprocal": ([MATRIX], {}, 1 / MATRIX),
    "Relu": ([MATRIX], {}, np.maximum(MATRIX, 0)),
    "Sigmoid": ([MATRIX], {}, 1 / (1 + np.exp(-MATRIX))),
    "Elu": ([MATRIX], {"alpha": 2.0}, np.where(MATRIX < 0, 2 * np.expm1(MATRIX), MATRIX)),
    "LeakyRelu": ([MATRIX], {}, np.where(MATRIX < 0, np.float32(0.01) * MATRIX, MATRIX)),
    "HardSigmoid": ([MATRIX], {}, np.clip(MATRIX * np.float32(0.2) + np.float32(0.5), 0, 1)),
    "Selu": ([np.abs(MATRIX)], {}, np.float32(1.0507) * np.abs(MATRIX)),
    "Max": ([MATRIX, -MATRIX], {}, np.abs(MATRIX)),
    "Min": ([MATRIX, -MATRIX], {}, -np.abs(MATRIX)),
    "Sum": ([MATRIX, MATRIX, MATRIX], {}, 3 * MATRIX),
    "Mean": ([MATRIX, 3 * MATRIX], {}, 2 * MATRIX),
    "Clip": ([MATRIX], {"max": 2.0}, np.minimum(MATRIX, 2)),
    "Cast": ([MATRIX], {"to": "INT32"}, MATRIX.astype(np.int32)),
    "Concat": ([MATRIX, MATRIX], {}, np.concatenate([MATRIX, MATRIX], 1)),
    "Reshape": ([MATRIX], {"shape": [0, -1, 1]}, MATRIX.reshape(2, 3, 1)),
    "Gemm": (
        [MATRIX, MATRIX.T, floats(7, 8)], {"broadcast": 1}, MATRIX @ MATRIX.T + floats(7, 8),
    ),
    "PRelu": (
        [A - 12, floats(1, 2, 3)], {}, np.where(A < 12, (A - 12) * floats([1], [2], [3]), A - 12),
    ),
    "Pad": ([MATRIX], {"paddings": [0, 1, 1, 0], "value": 9.0},
            floats([9, 1, -2, 3], [9, -4, 5, -6], [9, 9, 9, 9])),
    "Tile": ([floats([1, 2]), np.array(3), np.array(1)], {}, floats([1, 2, 1, 2, 1, 2])),
    "Upsample": (
        [floats([[[1, 2]]])], {"height_scale": 2.0, "width_scale": 2.0},
        floats([[[1, 1, 2, 2], [1, 1, 2, 2]]]),
    ),
    "GlobalLpPool": ([floats([[[3, -4]]])], {"p": 2.0}, floats([[[5]]])),
    "LpPool": ([floats([[3, -4, 0]])], {"kernel_shape": [2], "p": 2.0}, floats([[5, 4]])),
    "InstanceNormalization": (
        [floats([[1, 3]]), floats(2), floats(5)], {"epsilon": 0.0}, floats([[3, 7]]),
    ),
    "BatchNormalization": (
        [floats([[1, 3]]), floats(2), floats(5), floats(1), floats(4)],
        {"consumed_inputs": [0, 0, 0, 1, 1], "is_test": 1, "epsilon": 0.0}, floats([[5, 7]]),
    ),
    "Dropout": ([MATRIX], {"is_test": 1}, MATRIX),
}  # fmt: skip


@pytest.mark.parametrize("op", CASES)
def test_operators_of_version_1(op):
    operands, attributes, wanted = CASES[op]
    (found,) = ours(op, 1, operands, **attributes)
    assert not differences(found, np.asarray(wanted, found.dtype), 1e-5, 1e-6)
    assert found.shape == wanted.shape


@pytest.mark.parametrize("split", ["operand", "attribute", "none"])
def test_split_of_version_1(split):
    operands = [MATRIX, floats(1, 2)] if split == "operand" else [MATRIX]
    more = {"split": [1, 2]} if split == "attribute" else {}
    if split == "none":
        found = ours("Split", 1, operands, 2, axis=0)
        assert [each.shape for each in found] == [(1, 3), (1, 3)]
        return
    found = ours("Split", 1, [operands[0], *[o.astype(np.int64) for o in operands[1:]]], 2, axis=1,
                 **more)  # fmt: skip
    assert [each.tolist() for each in found] == [[[1], [-4]], [[-2, 3], [5, -6]]]


def test_dropout_masks_have_the_dtype_of_their_version():
    for version, dtype in [(1, np.float32), (6, np.float32), (7, np.float32), (10, bool)]:
        more = {"is_test": 1} if version < 7 else {}
        result, mask = ours("Dropout", version, [MATRIX], 2, **more)
        assert (result == MATRIX).all()
        assert mask.dtype == dtype


@pytest.mark.parametrize("version", [1, 6])
def test_old_dropout_trains_by_default(version):
    ones = np.ones(1000, np.float32)
    result, mask = ours("Dropout", version, [ones], 2, ratio=0.25)
    assert set(np.unique(result)) == {np.float32(0), np.float32(1 / 0.75)}
    assert 0.6 < mask.mean() < 0.9


@pytest.mark.parametrize("version", [7, 9])
def test_batch_normalization_with_more_results_trains(version):
    x = floats([[1, 3], [10, 20]], [[5, 7], [30, 40]])
    scale, bias, mean, var = floats(1, 1), floats(0, 0), floats(0, 0), floats(1, 1)
    y, *rest = ours("BatchNormalization", version, [x, scale, bias, mean, var], 5,
                    momentum=0.5, epsilon=0.0)  # fmt: skip
    assert not differences(y.mean(axis=(0, 2)), floats(0, 0), 1e-5, 1e-6)
    assert [each.tolist() for each in rest] == [[2, 12.5], [3, 63], [4, 25], [5, 125]]


def test_batch_normalization_7_may_be_per_activation():
    x, ones, zeros = floats([[1, 2]], [[3, 6]]), np.ones((1, 2)), np.zeros((1, 2))
    operands = [np.float32(each) for each in (x, ones, zeros, zeros + 1, ones * 4)]
    (y,) = ours("BatchNormalization", 7, operands, spatial=0, epsilon=0.0)
    assert y.tolist() == [[[0, 0.5]], [[1, 2.5]]]


def test_recurrent_operators_of_opset_1_take_their_misspelt_default():
    x, w, r = np.ones((2, 1, 1), np.float32), np.ones((1, 3, 1), np.float32), np.zeros((1, 3, 1))
    new = ours("GRU", 7, [x, w, r.astype(np.float32)], 2, hidden_size=1)
    for version in (1, 3):
        old = ours("GRU", version, [x, w, r.astype(np.float32)], 2, hidden_size=1)
        assert not any(differences(o, n) for o, n in zip(old, new, strict=True))
    for op, outputs in (("RNN", 2), ("LSTM", 3)):
        gates = {"RNN": 1, "LSTM": 4}[op]
        w, r = np.ones((1, gates, 1), np.float32), np.zeros((1, gates, 1), np.float32)
        new = ours(op, 7, [x, w, r], outputs, hidden_size=1)
        old = ours(op, 1, [x, w, r], outputs, hidden_size=1, output_sequence=1)
        assert not any(differences(o, n) for o, n in zip(old, new, strict=True))


def test_layout_1_puts_the_batch_first(rng):
    x = rng.normal(size=(4, 3, 2)).astype(np.float32)
    w, r = x[:1, :1].repeat(20, 1), np.ones((1, 20, 5), np.float32) / 9
    y, h, c = ours("LSTM", 14, [x, w, r], 3, hidden_size=5)
    swapped = ours("LSTM", 14, [x.swapaxes(0, 1), w, r], 3, hidden_size=5, layout=1)
    assert (swapped[0] == y.transpose(2, 0, 1, 3)).all()
    assert (swapped[1] == h.swapaxes(0, 1)).all()
    assert (swapped[2] == c.swapaxes(0, 1)).all()


def test_group_normalization_18_scales_by_group(rng):
    x = rng.normal(size=(2, 4, 3)).astype(np.float32)
    old = ours("GroupNormalization", 18, [x, floats(1, 2), floats(3, 4)], num_groups=2)[0]
    new = ours("GroupNormalization", 21, [x, floats(1, 1, 2, 2), floats(3, 3, 4, 4)], num_groups=2)
    assert not differences(old, new[0])


def test_losses_of_opset_12_are_those_of_13():
    scores, labels = MATRIX, np.array([0, 2])
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        old, new = (ours(op, version, [scores, labels])[0] for version in (12, 13))
        assert not differences(old, new)


def test_deformable_convolution_of_opset_19():
    x, w = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 2, 2), np.float32)
    offset = np.zeros((1, 8, 2, 2), np.float32)
    assert (ours("DeformConv", 19, [x, w, offset])[0] == 4).all()
    assert (ours("DeformConv", 22, [x, w, offset])[0] == 4).all()


def test_other_old_versions():
    assert ours("Constant", 12, [], value_int=3)[0].dtype == np.int64
    assert ours("CastLike", 21, [MATRIX, np.array(1, np.int8)])[0].dtype == np.int8
    assert (ours("Scatter", 11, [floats(1, 2), np.array([0]), floats(9)])[0] == [9, 2]).all()
    rois = floats([0, 0, 0, 1, 1])
    for version in (1, 22):
        found = ours("MaxRoiPool", version, [floats([[[1, 2], [3, 4]]]), rois], pooled_shape=[1, 1])
        assert found[0].reshape(-1).tolist() == [4]
    assert ours("Upsample", 10, [floats([1]), floats(2, 3)])[0].shape == (2, 3)
    assert ours("GlobalLpPool", 22, [floats([[[3, -4]]])])[0].reshape(-1).tolist() == [5]
    assert (ours("Mean", 6, [MATRIX, MATRIX])[0] == MATRIX).all()
