"""ai.onnx.ml against onnxruntime, or against results worked out by hand."""

import numpy as np
import pytest

from tests.ops.node_suite import differences
from tests.ops.peer import ours, theirs
from tests.seeded import seeded

ML = "ai.onnx.ml"


def floats(*shape):
    return seeded(shape).normal(size=shape).astype(np.float32)


def texts(*items):
    return np.array(items, object)


TREE = {
    "nodes_treeids": [0] * 5, "nodes_nodeids": [0, 1, 2, 3, 4], "nodes_featureids": [0, 1, 0, 0, 0],
    "nodes_values": [0.1, 0.2, 0.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 3, 0, 0, 0], "nodes_falsenodeids": [2, 4, 0, 0, 0],
}  # fmt: skip
SUMS = {
    "n_targets": 1, "target_treeids": [0] * 3, "target_nodeids": [2, 3, 4],
    "target_ids": [0] * 3, "target_weights": [1.0, 2.0, 3.0],
}  # fmt: skip
CLASSES = {
    "class_treeids": [0] * 3, "class_nodeids": [2, 3, 4], "class_ids": [0, 1, 2],
    "class_weights": [1.0, 1.0, 1.0],
}  # fmt: skip
WEIGHTS = {"coefficients": floats(9).tolist(), "intercepts": [0.1, 0.2, 0.3]}
KERNEL = {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "rho": [0.3]}
CASES = [
    ("ArrayFeatureExtractor", 1, [floats(3, 4), np.array([0, 2])], 1, {}),
    ("Binarizer", 1, [floats(3, 4)], 1, {"threshold": 0.1}),
    ("Imputer", 1, [np.array([[1, np.nan, 3]], np.float32)], 1,
     {"imputed_value_floats": [9.0], "replaced_value_float": float("nan")}),
    ("Imputer", 1, [np.array([[1, 5, 3]])], 1,
     {"imputed_value_int64s": [9], "replaced_value_int64": 5}),
    ("FeatureVectorizer", 1, [floats(3, 4), floats(3, 2)], 1, {"inputdimensions": [4, 2]}),
    ("LabelEncoder", 1, [texts("a", "z")], 1, {"classes_strings": ["a", "b"]}),
    ("LabelEncoder", 1, [np.array([0, 1, 7])], 1, {"classes_strings": ["a", "b"]}),
    ("LabelEncoder", 2, [texts("a", "z")], 1,
     {"keys_strings": ["a", "b"], "values_int64s": [5, 6], "default_int64": -3}),
    ("LabelEncoder", 2, [np.array([1, 3])], 1,
     {"keys_int64s": [1, 2], "values_strings": ["x", "y"]}),
    ("LabelEncoder", 4, [texts("a", "z")], 1,
     {"keys_strings": ["a", "b"], "values_floats": [5.5, 6.0], "default_float": -3.0}),
    ("LinearClassifier", 1, [floats(4, 3)], 2,
     {**WEIGHTS, "classlabels_ints": [4, 5, 6], "post_transform": "SOFTMAX"}),
    ("LinearClassifier", 1, [floats(4, 3)], 2, {**WEIGHTS, "classlabels_strings": ["a", "b", "c"]}),
    ("LinearRegressor", 1, [floats(4, 3)], 1,
     {"coefficients": floats(6).tolist(), "intercepts": [0.1, 0.2], "targets": 2}),
    ("Normalizer", 1, [floats(3, 4)], 1, {"norm": "L2"}),
    ("Normalizer", 1, [floats(3, 4)], 1, {"norm": "L1"}),
    ("Normalizer", 1, [floats(3, 4)], 1, {"norm": "MAX"}),
    ("OneHotEncoder", 1, [np.array([1, 2, 9])], 1, {"cats_int64s": [1, 2, 3]}),
    ("OneHotEncoder", 1, [texts("a", "b")], 1, {"cats_strings": ["a", "c"]}),
    ("Scaler", 1, [floats(3, 2)], 1, {"scale": [1.0, 2.0], "offset": [0.1, 0.2]}),
    ("SVMRegressor", 1, [floats(4, 3)], 1,
     {**KERNEL, "coefficients": floats(2).tolist(), "support_vectors": floats(6).tolist(),
      "n_supports": 2}),
    ("SVMClassifier", 1, [floats(4, 3)], 2,
     {**KERNEL, "coefficients": floats(4).tolist(), "support_vectors": floats(12).tolist(),
      "vectors_per_class": [2, 2], "classlabels_ints": [0, 1]}),
    ("TreeEnsembleRegressor", 1, [floats(6, 2)], 1, {**TREE, **SUMS}),
    ("TreeEnsembleRegressor", 3, [floats(6, 2)], 1, {**TREE, **SUMS}),
    ("TreeEnsembleClassifier", 1, [floats(6, 2)], 2,
     {**TREE, **CLASSES, "classlabels_int64s": [7, 8, 9]}),
    ("TreeEnsembleClassifier", 3, [floats(6, 2)], 2,
     {**TREE, **CLASSES, "classlabels_strings": ["x", "y", "z"], "post_transform": "SOFTMAX"}),
    ("CategoryMapper", 1, [texts("a", "z")], 1,
     {"cats_int64s": [4, 5], "cats_strings": ["a", "b"]}),
    ("CategoryMapper", 1, [np.array([4, 8])], 1,
     {"cats_int64s": [4, 5], "cats_strings": ["a", "b"]}),
    ("ZipMap", 1, [floats(2, 3)], 1, {"classlabels_strings": ["a", "b", "c"]}),
    ("ZipMap", 1, [floats(2, 2)], 1, {"classlabels_int64s": [3, 5]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "version", "operands", "outputs", "attributes"),
    [pytest.param(*case, id=f"{case[0]}-{case[1]}-{k}") for k, case in enumerate(CASES)],
)
def test_results_agree(op, version, operands, outputs, attributes):
    wanted = theirs(op, version, operands, outputs, ML, **attributes)
    assert wanted is not None
    found = ours(op, version, operands, outputs, ML, **attributes)
    assert [differences(f, w, 1e-4, 1e-5) for f, w in zip(found, wanted, strict=True)] == [
        [] for _ in wanted
    ]


def test_maps_become_rows():
    words = ["a", "b", "c"]
    (found,) = ours("DictVectorizer", 1, [{"a": 2, "c": 5}], 1, ML, string_vocabulary=words)
    assert (found.dtype, found.tolist()) == (np.int64, [[2, 0, 5]])
    (dense,) = ours("CastMap", 1, [{3: 2.5, 1: 1.0}], 1, ML)
    assert (dense.dtype, dense.tolist()) == (np.float32, [[1, 2.5]])
    (sparse,) = ours("CastMap", 1, [{3: "2.5"}], 1, ML, map_form="SPARSE", max_map=5)
    assert sparse.tolist() == [[0, 0, 0, 2.5, 0]]


@pytest.mark.parametrize("form", ["DENSE", "SPARSE"])
def test_numbers_of_maps_become_the_text_that_onnxruntime_writes(form):
    numbers = {0: 1.0, 2: -3.75, 4: 1e10}
    attributes = {"cast_to": "TO_STRING", "map_form": form, "max_map": 6}
    (found,) = ours("CastMap", 1, [numbers], 1, ML, **attributes)
    written = {0: "1.000000", 2: "-3.750000", 4: "10000000000.000000"}
    dense = list(written.values())
    sparse = [written.get(key, "0.f") for key in range(6)]
    assert found.tolist() == [dense if form == "DENSE" else sparse]


def test_trees_of_version_5_are_those_of_version_3():
    operands = [floats(6, 2)]
    labelled = {**CLASSES, "classlabels_int64s": [7, 8, 9]}
    for op, more, outputs in [("Regressor", SUMS, 1), ("Classifier", labelled, 2)]:
        old, new = (
            ours(f"TreeEnsemble{op}", version, operands, outputs, ML, **TREE, **more)
            for version in (3, 5)
        )
        assert not any(differences(o, n) for o, n in zip(old, new, strict=True))
