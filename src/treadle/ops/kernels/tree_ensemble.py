"""TreeEnsemble of ai.onnx.ml: trees whose inner nodes and leaves are tables of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treadle.ops.kernels.registry import ML, evaluates
from treadle.ops.kernels.scores import transformed

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
