"""Sorts the nodes of a graph if the file lists them in an invalid order.

The standard requires sorted nodes. Captures of a body count as operands of its node; a graph that
violates the order only by captures is not sorted: the body reads an undefined value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

import onnx

from treadle.formats.onnx.attribute_graphs import graphs_of

Nodes = Sequence[onnx.NodeProto]


def early_reads(nodes: Nodes, is_visible: Callable[[str], bool]) -> dict[int, str]:
    """The nodes that read a result of a later node, each with the first such name.

    `is_visible` tells whether the graph, or an enclosing one, has the name before any node runs.
    """
    makers = _makers(nodes)
    found: dict[int, str] = {}
    for position, node in enumerate(nodes):
        for name in node.input:
            if makers.get(name, -1) > position and not is_visible(name):
                found.setdefault(position, name)
    return found


def sorted_positions(nodes: Nodes, is_visible: Callable[[str], bool]) -> list[int]:
    """The positions of the nodes in a valid order, as close to the file's as possible.

    Nodes that depend on each other come last, in the order of the file.
    """
    makers = {name: k for name, k in _makers(nodes).items() if not is_visible(name)}
    waiting = [_awaited(node, makers) - {k} for k, node in enumerate(nodes)]
    readers: list[list[int]] = [[] for _ in nodes]
    for position, awaited in enumerate(waiting):
        for maker in awaited:
            readers[maker].append(position)
    ready = [position for position, awaited in enumerate(waiting) if not awaited]
    heapify(ready)
    order: list[int] = []
    while ready:
        made = heappop(ready)
        order.append(made)
        for position in readers[made]:
            waiting[position].discard(made)
            if not waiting[position]:
                heappush(ready, position)
    return order + [position for position, awaited in enumerate(waiting) if awaited]


def _makers(nodes: Nodes) -> dict[str, int]:
    return {name: k for k, node in enumerate(nodes) for name in node.output if name}


def _awaited(node: onnx.NodeProto, makers: Mapping[str, int]) -> set[int]:
    return {makers[name] for name in _names_read(node) if name in makers}


def _names_read(node: onnx.NodeProto) -> Iterator[str]:
    """The names a node reads, and those used in its bodies, including their own."""
    pending = [node]
    while pending:
        each = pending.pop()
        yield from each.input
        for attribute in each.attribute:
            for graph in graphs_of(attribute).values():
                pending += graph.node
                yield from (output.name for output in graph.output)
