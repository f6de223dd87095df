"""Lays out a layered graph: the positions of vertices and the routes of edges.

igraph's Sugiyama layout orders the vertices of each layer so that few edges cross. A vertex's layer
is the length of its longest path, and a vertex without inputs is just above its first reader.
Horizontal positions minimise the squared distances of vertices to the middle of their neighbours,
without overlaps in a layer.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.errors import ConfigurationError

Edge = tuple[int, int]

_FARTHEST = 12
"""The number of layers above which an edge is not routed, to keep the drawing readable."""
_SWEEPS = 8
_ROW = 72.0
_GAP = 16.0
_BEND = 10.0


@dataclass(frozen=True, slots=True)
class Layout:
    """The centre of each vertex, the bends of each routed edge, and the size of the drawing."""

    points: Sequence[tuple[float, float]]
    routes: dict[Edge, list[tuple[float, float]]]
    width: float
    height: float


@dataclass(slots=True)
class _Layered:
    """A graph whose edges join adjacent layers, with vertices of zero width on long edges."""

    layers: list[int]
    widths: list[float]
    edges: list[Edge]
    chains: dict[Edge, list[int]]


def layout(widths: Sequence[float], edges: Iterable[Edge]) -> Layout:
    """Lay out an acyclic graph; raises ConfigurationError if igraph is not installed.

    `widths` are those of the vertices, numbered in topological order. Connected components are
    placed side by side.
    """
    given = sorted(set(edges))
    parts = _parts(len(widths), given)
    numbers = {vertex: (p, k) for p, part in enumerate(parts) for k, vertex in enumerate(part)}
    inner: list[list[Edge]] = [[] for _ in parts]
    for source, target in given:
        inner[numbers[source][0]].append((numbers[source][1], numbers[target][1]))
    found = [
        _laid_out([widths[v] for v in part], own) for part, own in zip(parts, inner, strict=True)
    ]
    return _beside(parts, found)


def _parts(count: int, edges: Sequence[Edge]) -> list[list[int]]:
    """The connected components, in the order of their first vertices."""
    part_of = list(range(count))

    def root(vertex: int) -> int:
        while part_of[vertex] != vertex:
            part_of[vertex] = part_of[part_of[vertex]]
            vertex = part_of[vertex]
        return vertex

    for source, target in edges:
        one, other = sorted((root(source), root(target)))
        part_of[other] = one
    parts: dict[int, list[int]] = defaultdict(list)
    for vertex in range(count):
        parts[root(vertex)].append(vertex)
    return list(parts.values())


def _beside(parts: Sequence[Sequence[int]], found: Sequence[Layout]) -> Layout:
    """Place the components from left to right, in lines as wide as the widest one, or 1000."""
    widest = max([1000.0, *(each.width for each in found)])
    points: dict[int, tuple[float, float]] = {}
    routes: dict[Edge, list[tuple[float, float]]] = {}
    x = y = line = width = 0.0
    for part, each in zip(parts, found, strict=True):
        if x and x + each.width > widest:
            x, y, line = 0.0, y + line, 0.0
        points |= {v: (x + a, y + b) for v, (a, b) in zip(part, each.points, strict=True)}
        for (source, target), route in each.routes.items():
            routes[part[source], part[target]] = [(x + a, y + b) for a, b in route]
        width, line = max(width, x + each.width), max(line, each.height)
        x += each.width + _GAP
    return Layout([points[v] for v in range(len(points))], routes, width, y + line)


def _laid_out(widths: Sequence[float], edges: Sequence[Edge]) -> Layout:
    """Lay out one component."""
    graph = _layered(widths, edges)
    rows = _ordered(graph)
    places = _places(graph, rows)
    left = min(x - w / 2 for x, w in zip(places, graph.widths, strict=True))
    right = max(x + w / 2 for x, w in zip(places, graph.widths, strict=True))
    points = [
        (x - left, layer * _ROW + _ROW / 2) for x, layer in zip(places, graph.layers, strict=True)
    ]
    routes = {edge: [points[v] for v in chain] for edge, chain in graph.chains.items()}
    return Layout(points[: len(widths)], routes, right - left, len(rows) * _ROW)


def _layered(widths: Sequence[float], edges: Sequence[Edge]) -> _Layered:
    layers = _layers(len(widths), edges)
    graph = _Layered(layers, list(widths), [], {})
    for source, target in edges:
        distance = layers[target] - layers[source]
        if distance > _FARTHEST:
            continue
        chain = [source]
        for layer in range(layers[source] + 1, layers[target]):
            chain.append(len(graph.widths))
            graph.widths.append(_BEND)
            graph.layers.append(layer)
        chain.append(target)
        graph.edges += itertools.pairwise(chain)
        graph.chains[source, target] = chain[1:-1]
    return graph


def _layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """The longest path to each vertex; vertices without inputs are one above their readers."""
    layers = [0] * count
    readers: dict[int, list[int]] = defaultdict(list)
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        layers[target] = max(layers[target], layers[source] + 1)
        readers[source].append(target)
    targets = {target for _, target in edges}
    for vertex in range(count):
        if vertex not in targets and readers[vertex]:
            layers[vertex] = min(layers[reader] for reader in readers[vertex]) - 1
    return layers


def _ordered(graph: _Layered) -> list[list[int]]:
    """The vertices of each layer from left to right, as igraph orders them."""
    found = _igraph().Graph(len(graph.widths), graph.edges, directed=True)
    # igraph returns the layout alone or, if it adds vertices of its own, with more
    answer = found.layout_sugiyama(layers=graph.layers)
    coords = (answer[0] if isinstance(answer, tuple) else answer).coords
    rows: list[list[int]] = [[] for _ in range(max(graph.layers) + 1)]
    for vertex, layer in enumerate(graph.layers):
        rows[layer].append(vertex)
    return [sorted(row, key=lambda vertex: coords[vertex][0]) for row in rows]


def _igraph() -> Any:
    try:
        import igraph
    except ImportError:
        raise ConfigurationError(
            "a report is laid out by igraph, which is not installed: pip install 'treadle[report]'"
        ) from None
    return igraph


def _places(graph: _Layered, rows: Sequence[Sequence[int]]) -> list[float]:
    """The horizontal centre of each vertex, after sweeps down and up."""
    places = [0.0] * len(graph.widths)
    above: dict[int, list[int]] = defaultdict(list)
    below: dict[int, list[int]] = defaultdict(list)
    for source, target in graph.edges:
        above[target].append(source)
        below[source].append(target)
    for row in rows:
        _place(row, [0.0] * len(row), graph.widths, places)
    for sweep in range(_SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_middle(vertex, near[vertex], places) for vertex in row]
            _place(row, wanted, graph.widths, places)
    return places


def _middle(vertex: int, neighbours: Sequence[int], places: Sequence[float]) -> float:
    if not neighbours:
        return places[vertex]
    return float(np.median([places[each] for each in neighbours]))


def _place(
    row: Sequence[int], wanted: Sequence[float], widths: Sequence[float], places: list[float]
) -> None:
    """Place a row's vertices by isotonic regression, relative to the widths on their left."""
    room, offsets = 0.0, []
    for number, vertex in enumerate(row):
        room += widths[vertex] / 2 + (widths[row[number - 1]] / 2 + _GAP if number else 0.0)
        offsets.append(room)
    blocks: list[tuple[float, int]] = []
    for x, offset in zip(wanted, offsets, strict=True):
        mean, count = x - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, size = blocks.pop()
            mean, count = (mean * count + other * size) / (count + size), count + size
        blocks.append((mean, count))
    shifts = [mean for mean, count in blocks for _ in range(count)]
    for vertex, shift, offset in zip(row, shifts, offsets, strict=True):
        places[vertex] = shift + offset
