"""Native operators against onnx's node cases, each as the body of a Scan.

A few cases of each operator here; `python -m tools.node_cases` runs all of them.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest

from tools.node_cases import Node, best, single_nodes
from treadle.ir import dtype_of
from treadle.jit.host.sequence_marshal import LISTS
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.lowering import TABLE

MOST = 2
CALLED = {
    "BatchNormalization": "in training",
    "Dropout": "in training",
    "MaxPool": "it says where the largest elements are",
    "Range": "its length is not known beforehand",
}
NOT_SCANNED = {"Constant", "ConstantOfShape", "Range"}  # they have no operand to scan over


def has_native_types(node: Node) -> bool:
    """Whether all its tensors have element types of native code."""
    return all(dtype_of(array.dtype) in NATIVE for array in (*node.inputs, *node.outputs))


@cache
def chosen() -> dict[str, list[Node]]:
    """Some cases of every operator that has native code, far apart in the standard's list."""
    found: dict[str, list[Node]] = defaultdict(list)
    for node in single_nodes():
        is_native = node.key[0] == "" and node.key[1:] in TABLE and has_native_types(node)
        if is_native and node.key[1] not in NOT_SCANNED | LISTS:
            found[node.key[1]].append(node)
    return {op: nodes[:: max(-(-len(nodes) // MOST), 1)] for op, nodes in found.items()}


@pytest.mark.parametrize("letter", ["AB", "C", "DE", "FGH", "IKL", "M", "NOP", "QR", "S", "T-Z"])
def test_native_operators_give_the_data_of_the_standard(letter):
    first, last = letter[0], letter[-1]
    wrong = {}
    for op, nodes in chosen().items():
        if not first <= op[0] <= last:
            continue
        for node in nodes:
            how, differs = best(node)
            is_known = how == "native" or (how == "escape" and op in CALLED)
            if differs or not is_known:
                wrong[node.name] = [how, *differs]
    assert not wrong
