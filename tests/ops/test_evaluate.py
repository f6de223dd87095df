import threading

import ml_dtypes
import numpy as np
import pytest

from tests.ops.peer import ours
from treadle import ops
from treadle.errors import KernelError, RunError, Unsupported
from treadle.ir import Leaf, Literal, Value, attribute
from treadle.ops.kernels.registry import Kernel, register

X, Y = Value("x"), Value("y")


def leaf(op, version, operands=1, results=1, **attributes):
    given = {name: attribute(name, value) for name, value in attributes.items()}
    return Leaf("", op, version, (X,) * operands, (Y,) * results, given)


@pytest.mark.parametrize("version", [7, 13, 14])
def test_scalars_stay_arrays(version):
    one = np.array(1.5, np.float32)
    (found,) = ops.bind_kernel(leaf("Add", version, 2))([one, one])
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype, found.item()) == ((), np.float32, 3.0)


def test_overflow_and_division_by_zero_are_silent():
    huge, zero = np.array([3e38], np.float32), np.array([0.0], np.float32)
    assert ours("Mul", 14, [huge, huge])[0].item() == np.inf
    assert ours("Div", 14, [huge, zero])[0].item() == np.inf
    assert np.isnan(ours("Log", 13, [-huge])[0].item())
    assert ours("Div", 14, [np.array([1]), np.array([0])])[0].dtype == np.int64
    assert ours("Cast", 13, [np.array([np.nan], np.float32)], to=6)[0].dtype == np.int32


def test_not_silent_leaves_warnings_to_the_caller():
    run = ops.bind_kernel(leaf("Mul", 14, 2), silent=False)
    huge = np.array([3e38], np.float32)
    with pytest.warns(RuntimeWarning, match="overflow"):
        run([huge, huge])
    with ops.ignore_fp_warnings():
        assert run([huge, huge])[0].item() == np.inf


def test_operands_that_do_not_fit_raise_a_run_error_that_says_them():
    run = ops.bind_kernel(leaf("Add", 14, 2))
    with pytest.raises(KernelError, match=r"Add-14\(float32\[2\], float32\[3\]\): .*broadcast"):
        run([np.zeros(2, np.float32), np.zeros(3, np.float32)])
    assert issubclass(KernelError, RunError)


def test_errors_of_foreign_kernels_are_kernel_errors():
    with pytest.raises(KernelError, match=r"NonMaxSuppression-11\(float32\[2\], "):
        ours("NonMaxSuppression", 11, [np.zeros(2, np.float32)] * 2)


def test_an_operator_without_kernel_is_unsupported():
    with pytest.raises(Unsupported, match="NoSuch-1: no kernel"):
        ops.bind_kernel(leaf("NoSuch", 1))
    with pytest.raises(Unsupported, match=r"other::Add-14: no kernel"):
        ops.bind_kernel(Leaf("other", "Add", 14, (X, X), (Y,)))


def test_invalid_attributes_are_unsupported():
    with pytest.raises(Unsupported, match="exactly one of its attributes"):
        ops.bind_kernel(leaf("Constant", 13, 0))


def test_results_are_as_many_as_the_leaf_has():
    x = np.zeros(3, np.float32)
    assert len(ops.bind_kernel(leaf("Dropout", 13))([x])) == 1
    assert ops.bind_kernel(leaf("BatchNormalization", 15, 5, 3))([x[None], x, x, x, x])[1:] == (
        None,
        None,
    )


def test_values_of_attributes_are_plain():
    literal = Literal.of(np.arange(2))
    given = {"a": attribute("a", "é"), "b": attribute("b", [1, 2]), "c": attribute("c", 0.5)}
    assert ops.attributes_of(given) == {"a": "é", "b": [1, 2], "c": 0.5}
    tensor = ops.attributes_of({"v": attribute("v", literal.array)})["v"]
    assert (tensor == literal.array).all()
    assert ops.defaults_of("", "Gemm", 13) == {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}


def test_a_second_kernel_for_a_version_is_a_bug():
    kernel, other = ops.kernel("", "Range", 11), ops.kernel("", "Concat", 13)
    assert isinstance(kernel, Kernel)
    assert isinstance(other, Kernel)
    with pytest.raises(AssertionError, match="two kernels"):
        register(kernel._replace(bind=other.bind))
    register(kernel)  # as when a module is imported again
    assert ops.kernel("", "Range", 11) is kernel


def test_every_operator_of_the_standard_without_graphs_has_a_kernel():
    control = {"If", "Loop", "Scan", "SequenceMap", "Gradient", "FlexAttention"}
    missing = [
        f"{op}-{version}"
        for domain in ("", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")
        for op, versions in ops.known_operators(domain).items()
        for version in versions
        if op not in control and ops.kernel(domain, op, version) is None
    ]
    assert not missing


def test_kernels_are_of_versions_that_exist():
    unknown = [key for key in ops.kernels() if key[0] != "treadle" and ops.schema(*key) is None]
    assert not unknown


def test_one_prepared_leaf_runs_in_several_threads():
    run = ops.bind_kernel(leaf("Softmax", 13))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    wanted, found = run([x])[0], []

    def work():
        found.extend(bool((run([x])[0] == wanted).all()) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800
    assert all(found)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16"])
@pytest.mark.parametrize(
    ("op", "version", "attributes"),
    [("Sigmoid", 13, {}), ("LeakyRelu", 16, {}), ("Elu", 22, {}), ("Softmax", 13, {}),
     ("ReduceMean", 18, {}), ("Neg", 13, {}), ("Tanh", 13, {}), ("Relu", 14, {}),
     ("Clip", 13, {}), ("Gelu", 20, {}), ("HardSigmoid", 22, {}), ("CumSum", 14, {})],
)  # fmt: skip
def test_narrow_floats_keep_their_dtype(op, version, attributes, name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = np.array([0.5, -1.5, 2], np.float32).astype(dtype)
    more = [np.array(0)] if op == "CumSum" else []
    assert ours(op, version, [x, *more], **attributes)[0].dtype == dtype
