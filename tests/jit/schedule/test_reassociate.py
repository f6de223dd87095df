"""Reassociated chains: operands that depend on the previous iteration come last."""

import pytest

from tests.jit.kernel_text import kernel_of, names_of
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.loops.facts import LoopFacts
from treadle.jit.schedule.reassociate import reassociated
from treadle.jit.schedule.storage import assign_storage

TARGET = Target("", "", "", vector_bytes=64, registers=32, has_fma=True)
LOOP = """
kernel
  %start: {type}[] = input 0
  %rows: {type}[7] = input 1
  %up: {type}[] = input 2
  %1 = loop length 7 extent 7 carries %left = %start
    %left: {type}[] = carried 0
    %row: {type}[] = scan slice along 0 of %rows
    %first: {type}[] = {function} %left, %up
    %next: {type}[] = {function} %first, %row
    yield %next
    {stack}
  %last: {type}[] = result 0 of %1
  return %last"""


def chains(text: str) -> dict[str, list[str]]:
    """The operands of each chain in their new order, by the name of its last node."""
    kernel = kernel_of(text)
    names = names_of(text, kernel)
    storage = assign_storage(kernel)
    loops = [node for node in all_nodes(kernel.main) if isinstance(node.op, Loop)]
    found = reassociated([LoopFacts(kernel, node, storage, TARGET, ()) for node in loops])
    return {names[last]: [names[node] for node in nodes] for last, nodes in found.items()}


@pytest.mark.parametrize(
    ("type_", "function"),
    [("float32", "min"), ("float64", "max"), ("int64", "add"), ("int8", "xor")],
)
def test_the_carried_value_comes_last(type_: str, function: str) -> None:
    text = LOOP.format(type=type_, function=function, stack="stack %row along 0")
    assert sorted(chains(text)["next"][:2]) == ["row", "up"]
    assert chains(text)["next"][2] == "left"


@pytest.mark.parametrize(("type_", "function"), [("float32", "add"), ("int64", "sub")])
def test_a_function_whose_order_matters_is_left(type_: str, function: str) -> None:
    assert chains(LOOP.format(type=type_, function=function, stack="stack %row along 0")) == {}


def test_a_value_that_is_read_elsewhere_too_is_left() -> None:
    assert chains(LOOP.format(type="int64", function="add", stack="stack %first along 0")) == {}
