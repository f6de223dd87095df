"""The layout of a layered graph: no overlaps, edges lead down, long edges are left out."""

import random

import pytest

pytest.importorskip("igraph", reason="igraph, the extra `report`, is not installed")

import itertools

from treadle.html_report.layout import layout


def edges_of(count: int, seed: int) -> list[tuple[int, int]]:
    made = random.Random(seed)
    return [(made.randrange(max(0, k - 6), k), k) for k in range(1, count) for _ in range(2)]


@pytest.mark.parametrize("seed", range(4))
def test_no_two_vertices_overlap_and_edges_lead_down(seed: int) -> None:
    edges = edges_of(60, seed)
    widths = [40.0 + 20 * (k % 4) for k in range(60)]
    found = layout(widths, edges)
    rows: dict[float, list[tuple[float, float]]] = {}
    for (x, y), width in zip(found.points, widths, strict=True):
        rows.setdefault(y, []).append((x - width / 2, x + width / 2))
        assert x - width / 2 >= -1e-6
        assert x + width / 2 <= found.width + 1e-6
    for row in rows.values():
        ends = sorted(row)
        assert all(one[1] < other[0] for one, other in itertools.pairwise(ends))
    assert all(found.points[a][1] < found.points[b][1] for a, b in edges)


def test_a_chain_has_one_x_coordinate() -> None:
    found = layout([50.0] * 5, [(k, k + 1) for k in range(4)])
    assert {x for x, _ in found.points} == {25.0}


def test_disconnected_parts_are_laid_out_side_by_side() -> None:
    found = layout([50.0] * 4, [(0, 2), (1, 3)])
    assert [round(x) for x, _ in found.points] == [25, 91, 25, 91]
    assert layout([], []).points == []


def test_an_edge_over_many_layers_has_no_route() -> None:
    edges = [(k, k + 1) for k in range(20)]
    found = layout([50.0] * 21, [*edges, (0, 20), (0, 3)])
    assert (0, 20) not in found.routes
    assert len(found.routes[0, 3]) == 2
