"""Walks through the blocks of a kernel: outward, inward, and what nodes read."""

from __future__ import annotations

from tests.jit.kernel_text import kernel_of, names_of
from treadle.jit.kernel.traversal import all_blocks, is_run_once, reads_of, with_inside

TEXT = """kernel
  %x: float32[4] = input 0
  %go: bool[] = input 1
  %1 = if %go
    %s: float32[4] = neg %x
    yield %s
  else
    %2 = loop length 3 extent 3 carries %u = %x
      %u: float32[4] = carried 0
      %v: float32[4] = add %u, %x
      yield %v
    %t: float32[4] = result 0 of %2
    yield %t
  %r: float32[4] = result 0 of %1
  return %r"""


def test_walks() -> None:
    kernel = kernel_of(TEXT)
    node = {name: each for each, name in names_of(TEXT, kernel).items()}
    main, body = kernel.main, node["v"].home
    assert list(body.outward()) == [body, node["t"].home, main]
    assert list(all_blocks(main)) == [main, node["s"].home, node["t"].home, body]
    assert set(with_inside(node["2"])) == {node[name] for name in ("2", "u", "v")}
    assert reads_of(with_inside(node["2"])) == {node[name] for name in ("x", "u", "v")}


def test_what_a_loop_repeats_is_not_run_once() -> None:
    kernel = kernel_of(TEXT)
    node = {name: each for each, name in names_of(TEXT, kernel).items()}
    main, side, body = kernel.main, node["t"].home, node["v"].home
    assert is_run_once(node["t"], main)
    assert is_run_once(node["v"], body)
    assert not is_run_once(node["v"], side)
    assert not is_run_once(node["v"], main)
    assert not is_run_once(node["r"], side)
