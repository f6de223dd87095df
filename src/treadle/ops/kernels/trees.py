"""Ensembles of decision trees of ai.onnx.ml, versions 1 to 5.

onnx.reference lacks transforms and confuses classes. A single score for two classes is handled as
in onnxruntime: the standard does not define it. TreeEnsemble has tables of their own for inner
nodes and for leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np

from treadle.ops.kernels.registry import ML, evaluates
from treadle.ops.kernels.scores import complements, labelled, opposites, transformed

_RULES: Mapping[str, Any] = {
    "BRANCH_LEQ": le,
    "BRANCH_LT": lt,
    "BRANCH_GTE": ge,
    "BRANCH_GT": gt,
    "BRANCH_EQ": eq,
    "BRANCH_NEQ": ne,
}

_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_AVERAGE, _SUM, _MIN, _MAX = range(4)
_MODES: Sequence[Callable[..., Any]] = (
    np.less_equal,
    np.less,
    np.greater_equal,
    np.greater,
    np.equal,
    np.not_equal,
)
_MEMBER = len(_MODES)


@dataclass(frozen=True, slots=True)
class Forest:
    """The nodes of all trees, each by its index in the attributes."""

    attributes: Mapping[str, Any]
    roots: Sequence[int]
    places: Mapping[tuple[int, int], int]

    @staticmethod
    def of(attributes: Mapping[str, Any]) -> Forest:
        """The forest of an operator's attributes; a tree begins with its first node."""
        keys = list(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True))
        roots: dict[int, int] = {}
        for index, (tree, _) in enumerate(keys):
            roots.setdefault(tree, index)
        return Forest(attributes, tuple(roots.values()), {key: k for k, key in enumerate(keys)})

    def leaf(self, row: np.ndarray, node_index: int) -> int:
        """The index of the leaf at which a row ends."""
        table = self.attributes
        while table["nodes_modes"][node_index] != "LEAF":
            way = "nodes_truenodeids" if self._is_true(row, node_index) else "nodes_falsenodeids"
            node_index = self.places[table["nodes_treeids"][node_index], table[way][node_index]]
        return node_index

    def _is_true(self, row: np.ndarray, node_index: int) -> bool:
        table = self.attributes
        value = row[table["nodes_featureids"][node_index]]
        tracks = table.get("nodes_missing_value_tracks_true") or ()
        if np.isnan(value) and tracks and tracks[node_index]:
            return True
        threshold = _numbers(table, "nodes_values")[node_index]
        return bool(_RULES[table["nodes_modes"][node_index]](value, threshold))


def _numbers(attributes: Mapping[str, Any], name: str) -> np.ndarray:
    """A list of floats, or the tensor that replaces it from version 3 on."""
    tensor = attributes.get(f"{name}_as_tensor")
    if tensor is not None:
        return np.asarray(tensor).reshape(-1)
    return np.array(attributes.get(name) or (), np.float32)


def _weighed(
    x: np.ndarray, attributes: Mapping[str, Any], word: str, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sum each tree's weights for each row and target: [rows, trees, count], and which are set."""
    forest = Forest.of(attributes)
    table = (x if x.ndim > 1 else x[None]).astype(np.float64)
    ids = "class_ids" if word == "class" else "target_ids"
    trees, nodes = attributes[f"{word}_treeids"], attributes[f"{word}_nodeids"]
    weights: dict[int, list[tuple[int, float]]] = {}
    numbers = _numbers(attributes, f"{word}_weights")
    for tree, node, target, weight in zip(trees, nodes, attributes[ids], numbers, strict=True):
        weights.setdefault(forest.places[tree, node], []).append((target, weight))
    added = np.zeros((len(table), len(forest.roots), count), numbers.dtype)
    counts = np.zeros(added.shape, bool)
    for i, row in enumerate(table):
        for k, root in enumerate(forest.roots):
            for target, weight in weights.get(forest.leaf(row, root), ()):
                added[i, k, target] += weight
                counts[i, k, target] = True
    return added, counts


@evaluates("TreeEnsembleRegressor", 1, 3, 5, domain=ML)
def tree_regressor(x: np.ndarray, **attributes: Any) -> np.ndarray:
    """The sum, mean, least or largest of the trees' weights, plus base values."""
    added, counts = _weighed(x, attributes, "target", attributes["n_targets"])
    scores = _aggregated(added, counts, attributes["aggregate_function"])
    base = _numbers(attributes, "base_values")
    if len(base):
        scores = scores + base
    return transformed(scores, attributes["post_transform"])


def _aggregated(added: np.ndarray, counts: np.ndarray, function: str) -> np.ndarray:
    if function == "SUM":
        return np.asarray(added.sum(axis=1))
    if function == "AVERAGE":
        return np.asarray(added.sum(axis=1) / added.shape[1])
    reduction, beyond = (np.min, np.inf) if function == "MIN" else (np.max, -np.inf)
    found = reduction(np.where(counts, added, beyond), axis=1)
    return np.where(counts.any(axis=1), found, 0)


@evaluates("TreeEnsembleClassifier", 1, 3, 5, domain=ML)
def tree_classifier(x: np.ndarray, **attributes: Any) -> tuple[np.ndarray, np.ndarray]:
    """The class of the largest sum over the trees, and all sums; `_of_two` handles two classes."""
    labels = attributes.get("classlabels_strings") or attributes.get("classlabels_int64s") or ()
    added, counts = _weighed(x, attributes, "class", len(labels))
    scores, has = added.sum(axis=1), np.asarray(counts.any(axis=1))
    base = _numbers(attributes, "base_values")
    transform = attributes["post_transform"]
    if len(labels) > 2:
        if len(base):
            scores, has = scores + base, has | True
        best = np.where(has, scores, -np.inf).argmax(axis=-1)
        return labelled(best, labels), transformed(scores, transform)
    return _of_two(scores, has, base, labels, attributes)


def _of_two(
    scores: np.ndarray,
    has: np.ndarray,
    base: np.ndarray,
    labels: Sequence[Any],
    attributes: Mapping[str, Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Two classes whose leaves are all of one class, without base values for both.

    The score is a probability if all weights are positive (the second class wins above 1/2), and
    else is signed (it wins above 0). Without labels for both, the classes are 0 and 1.
    """
    is_single = len(set(attributes["class_ids"])) == 1
    is_chance = bool((_numbers(attributes, "class_weights") >= 0).all())
    transform = attributes["post_transform"]
    if len(labels) == 1:
        score = scores + base[:1] if len(base) else scores
        return (score[:, 0] > 0).astype(np.int64), transformed(score, transform)
    own = attributes["class_ids"][0]
    if len(base) == 2 or not is_single:
        scores = scores + base if len(base) else scores
        best = labelled(scores.argmax(axis=-1), labels)
        return best, transformed(scores, transform)
    score = scores[:, own]
    if len(base) and own == 0:
        score = score + base[0]
    best = labelled((score > (0.5 if is_chance else 0)).astype(int), labels)
    if own == 1:
        return best, transformed(scores, transform)
    columns = complements if is_chance else opposites
    return best, columns(score, transform)


@evaluates("TreeEnsemble", 5, domain=ML)
def tree_ensemble(
    x: np.ndarray,
    *,
    aggregate_function: int,
    post_transform: int,
    n_targets: int | None = None,
    **tables: Any,
) -> np.ndarray:
    """The weights of the leaves that each row of [rows, features] reaches, joined by target.

    A target that no leaf of a row adds to is 0, as in onnxruntime; the standard does not say.
    """
    if aggregate_function not in range(_MAX + 1):
        raise ValueError(f"aggregate_function is {aggregate_function}, it must be 0 to {_MAX}")
    if post_transform not in range(len(_TRANSFORMS)):
        raise ValueError(f"post_transform is {post_transform}, it must be 0 to 4")
    targets = np.array(tables["leaf_targetids"], int)
    weights = np.asarray(tables["leaf_weights"]).reshape(-1)
    count = int(targets.max(initial=-1)) + 1 if n_targets is None else n_targets
    roots = tables["tree_roots"]
    reached = [_leaves(x, root, tables) for root in roots]
    start = {_MIN: np.inf, _MAX: -np.inf}.get(aggregate_function, 0)
    scores = np.full((len(x), count), start, x.dtype)
    join = {_MIN: np.minimum, _MAX: np.maximum}.get(aggregate_function, np.add)
    rows = np.arange(len(x))
    for leaves in reached:
        place = rows, targets[leaves]
        scores[place] = join(scores[place], weights[leaves])
    if aggregate_function == _AVERAGE:
        scores = scores / max(len(roots), 1)
    scores = np.where(np.isinf(scores) & (scores == start), 0, scores) if start else scores
    return scores if not post_transform else _transformed(scores, post_transform)


def _transformed(scores: np.ndarray, transform: int) -> np.ndarray:
    return transformed(scores, _TRANSFORMS[transform]).astype(scores.dtype)


def _leaves(x: np.ndarray, root: int, tables: Any) -> np.ndarray:
    """The leaf that each row reaches from a root."""
    features = np.array(tables["nodes_featureids"], int)
    sides = [
        (
            np.array(tables[f"nodes_{side}nodeids"], int),
            np.array(tables[f"nodes_{side}leafs"], bool),
        )
        for side in ("false", "true")
    ]
    rows = np.arange(len(x))
    found = np.zeros(len(x), int)
    here = np.full(len(x), root)
    for _ in range(len(features) + 1):
        if not len(rows):
            return found
        goes = _goes_true(x[rows, features[here]], here, tables)
        following = np.where(goes, sides[1][0][here], sides[0][0][here])
        ended = np.where(goes, sides[1][1][here], sides[0][1][here])
        found[rows[ended]] = following[ended]
        rows, here = rows[~ended], following[~ended]
    raise ValueError("the nodes of a tree form a cycle")


def _goes_true(values: np.ndarray, nodes: np.ndarray, tables: Any) -> np.ndarray:
    modes = np.asarray(tables["nodes_modes"]).reshape(-1)
    splits = np.asarray(tables["nodes_splits"]).reshape(-1)
    result = np.zeros(len(values), bool)
    for mode, compare in enumerate(_MODES):
        chosen = modes[nodes] == mode
        result[chosen] = compare(values[chosen], splits[nodes[chosen]])
    members = modes[nodes] == _MEMBER
    if members.any():
        sets = dict(zip(np.flatnonzero(modes == _MEMBER).tolist(), _sets(tables), strict=True))
        pairs = zip(values[members], nodes[members], strict=True)
        result[members] = [value in sets[int(node)] for value, node in pairs]
    tracks = tables.get("nodes_missing_value_tracks_true")
    if tracks is not None:
        result |= np.isnan(values) & np.array(tracks, bool)[nodes]
    return result


def _sets(tables: Any) -> list[np.ndarray]:
    """The members for each node that tests membership, in the order of the nodes: NaN ends one."""
    members = np.asarray(tables.get("membership_values", ())).reshape(-1)
    ends = np.flatnonzero(np.isnan(members))
    return [part[~np.isnan(part)] for part in np.split(members, ends + 1)[: len(ends)]]
