"""Every operator of ai.onnx.ml gives the same on the default engines and on interp."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest

import treadle
from tests.ops.peer import node_of
from tests.values import TOLERANCES, differences
from treadle import ops
from treadle.ir import DType

ML = "ai.onnx.ml"
PROBIT = {**TOLERANCES, DType.FLOAT32: (1e-3, 2e-4)}
"""onnxruntime subtracts numbers in float32 that are nearly alike; interp does so in float64."""
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")
Case = tuple[str, int, list[Any], int, dict[str, Any]]


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def texts(*items: str) -> np.ndarray:
    return np.array(items, object)


def labels(count: int, kind: str = "ints") -> dict[str, Any]:
    named = [f"class {k}" for k in range(count)] if kind == "strings" else [*range(4, 4 + count)]
    return {f"classlabels_{kind}": named}


def linear(rng: np.random.Generator) -> Iterator[Case]:
    for post, kind in product(TRANSFORMS, ("ints", "strings")):
        scale = 0.1 if post == "PROBIT" else 1
        for count, classes in ((1, 2), (2, 2), (3, 3)):
            weights = (scale * floats(rng, 3 * count)).tolist()
            more = {"coefficients": weights, "intercepts": [0.5] * count, "post_transform": post}
            yield "LinearClassifier", 1, [floats(rng, 5, 3)], 2, {**more, **labels(classes, kind)}
        more = {"coefficients": weights[:6], "targets": 2, "post_transform": post}
        yield "LinearRegressor", 1, [floats(rng, 5, 3)], 1, {**more, "intercepts": [0.5, 0.4]}


def machines(rng: np.random.Generator) -> Iterator[Case]:
    kernels = ("LINEAR", "POLY", "RBF", "SIGMOID")
    for k, (post, count) in enumerate(product(TRANSFORMS, (2, 3))):
        kernel = kernels[k % len(kernels)]
        pairs = count * (count - 1) // 2
        more: dict[str, Any] = {
            "kernel_type": kernel, "kernel_params": [0.5, 0.1, 2.0], "post_transform": post,
            "rho": [0.3, 0.1, -0.2][:pairs], "support_vectors": floats(rng, 6 * count).tolist(),
            "vectors_per_class": [2] * count, **labels(count),
        }  # fmt: skip
        chances = {"prob_a": [0.5, -0.4, 0.3][:pairs], "prob_b": [0.1, 0.2, -0.1][:pairs]}
        weights = floats(rng, 2 * count * (count - 1))
        for sized, added in product((weights, np.abs(weights)), ({}, chances)):
            step = {**more, **added, "coefficients": sized.tolist()}
            yield "SVMClassifier", 1, [floats(rng, 4, 3)], 2, step
        plain = {"coefficients": floats(rng, 3 * count).tolist(), "rho": [0.3], **labels(count)}
        yield "SVMClassifier", 1, [floats(rng, 4, 3)], 2, {**plain, "post_transform": post}
    for post, one in product(TRANSFORMS, (0, 1)):
        more = {"rho": [0.3], "one_class": one, "post_transform": post}
        some = {"coefficients": floats(rng, 2).tolist(), "support_vectors": floats(rng, 6).tolist()}
        rbf = {"kernel_type": "RBF", "kernel_params": [0.5, 0.1, 2.0], "n_supports": 2}
        yield "SVMRegressor", 1, [floats(rng, 4, 3)], 1, {**more, **some, **rbf}
        plain = {**more, "coefficients": floats(rng, 3).tolist()}
        yield "SVMRegressor", 1, [floats(rng, 4, 3)], 1, plain


NODES: dict[str, Any] = {
    "nodes_treeids": [0] * 5, "nodes_nodeids": [0, 1, 2, 3, 4], "nodes_featureids": [0, 1, 0, 0, 0],
    "nodes_values": [0.1, 0.2, 0.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 3, 0, 0, 0], "nodes_falsenodeids": [2, 4, 0, 0, 0],
}  # fmt: skip


def trees(rng: np.random.Generator) -> Iterator[Case]:
    for post, version, low in product(TRANSFORMS, (1, 3), (0.3, -0.3)):
        weights = [0.3 if post == "PROBIT" else low, 0.6, 0.45]
        for ids, count in (((0, 1, 2), 3), ((0, 0, 0), 2), ((1, 1, 1), 2), ((0, 1, 1), 2)):
            more = {"class_treeids": [0] * 3, "class_nodeids": [2, 3, 4], "class_ids": list(ids)}
            more |= {"class_weights": weights, "post_transform": post, **NODES}
            kind = "int64s" if version == 1 else "strings"
            for base in ([], [0.05], [0.05] * count)[: 1 if version == 1 else 3]:
                given = {"base_values": base} if base else {}
                step = {**more, **given, **labels(count, kind)}
                yield "TreeEnsembleClassifier", version, [floats(rng, 6, 2)], 2, step
        sums = {"target_treeids": [0] * 3, "target_nodeids": [2, 3, 4], "post_transform": post}
        for function, count in product(("SUM", "AVERAGE", "MIN", "MAX"), (1, 2)):
            more = {**NODES, **sums, "target_ids": [0, 0, count - 1], "target_weights": weights}
            given = {"aggregate_function": function, "base_values": [0.05] * count}
            step = {**more, **given, "n_targets": count}
            yield "TreeEnsembleRegressor", version, [floats(rng, 6, 2)], 1, step


def rest(rng: np.random.Generator) -> Iterator[Case]:
    table = np.array([[1, 2, -4], [0, 0, 0], [-1, -2, -3]])
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        x = table.astype(dtype)
        for norm in ("MAX", "L1", "L2"):
            yield "Normalizer", 1, [x], 1, {"norm": norm}
        yield "Scaler", 1, [x], 1, {"scale": [2.0], "offset": [0.5]}
        yield "Scaler", 1, [x], 1, {"scale": [2.0, 3.0, 1.0], "offset": [0.5, 1.0, 0.0]}
        yield "Binarizer", 1, [x], 1, {"threshold": 0.2}
        yield "ArrayFeatureExtractor", 1, [x, np.array([0, 2])], 1, {}
        yield "FeatureVectorizer", 1, [x, x[:, :2]], 1, {"inputdimensions": [3, 2]}
        yield "FeatureVectorizer", 1, [x, x[:, :2]], 1, {"inputdimensions": [2, 4]}
        yield "OneHotEncoder", 1, [x[0]], 1, {"cats_int64s": [1, 2, 3]}
    yield "OneHotEncoder", 1, [texts("a", "b")], 1, {"cats_strings": ["a", "c"]}
    hole = np.float32([[1, np.nan, 3]])
    for values in ([9.0], [9.0, 8.0, 7.0]):
        yield "Imputer", 1, [hole], 1, {
            "imputed_value_floats": values, "replaced_value_float": float("nan")}  # fmt: skip
    yield "Imputer", 1, [table], 1, {"imputed_value_int64s": [9], "replaced_value_int64": 2}
    words, numbers = ["a", "b"], [4, 5]
    both = {"cats_int64s": numbers, "cats_strings": words}
    yield "CategoryMapper", 1, [texts("a", "z")], 1, {**both, "default_int64": -7}
    yield "CategoryMapper", 1, [np.array([4, 8])], 1, {**both, "default_string": "q"}
    lists = {"strings": words, "int64s": numbers, "floats": [1.5, float("nan")]}
    asked = {"strings": texts("a", "z"), "int64s": np.array([4, 8]), "floats": hole[0]}
    for version, (key, keys), (value, values) in product((2, 4), lists.items(), lists.items()):
        if key == value and key == "floats":
            continue
        yield "LabelEncoder", version, [asked[key]], 1, {
            f"keys_{key}": keys, f"values_{value}": values}  # fmt: skip
    yield "LabelEncoder", 1, [texts("a", "z")], 1, {"classes_strings": words}
    yield "ZipMap", 1, [floats(rng, 2, 2)], 1, {"classlabels_strings": words}
    yield "ZipMap", 1, [floats(rng, 2, 2)], 1, {"classlabels_int64s": numbers}


def model_of(op: str, version: int, operands: list[Any], outputs: int, attributes: Any) -> Any:
    node = node_of(op, operands, outputs, attributes)
    node.domain = ML
    inputs = [
        onnx.helper.make_value_info(f"i{k}", ops.type_to_proto(ops.type_of(each)))
        for k, each in enumerate(operands)
    ]
    names = [onnx.helper.make_empty_tensor_value_info(f"o{k}") for k in range(outputs)]
    graph = onnx.helper.make_graph([node], "g", inputs, names)
    imports = [onnx.helper.make_opsetid(ML, version), onnx.helper.make_opsetid("", 15)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.mark.parametrize("family", [linear, machines, trees, rest])
def test_engines_agree(family, rng):
    for op, version, operands, outputs, attributes in family(rng):
        model = model_of(op, version, operands, outputs, attributes)
        feeds = {f"i{k}": each for k, each in enumerate(operands)}
        found, wanted = (
            treadle.InferenceSession(model, **more).run(None, feeds)
            for more in ({}, {"engines": ("interp",)})
        )
        for one, other in zip(found, wanted, strict=True):
            tolerances = PROBIT if attributes.get("post_transform") == "PROBIT" else TOLERANCES
            wrong = differences(one, other, tolerances=tolerances)
            assert not wrong, (op, version, attributes)
