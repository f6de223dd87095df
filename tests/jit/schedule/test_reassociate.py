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


TABLE = """
kernel
  %t0: {type}[9,9] = input 0
  %i: int64[] = input 1
  %d: {type}[] = input 2
  %one: int64[] = constant 1
  %i1: int64[] = add %i, %one
  %1 = loop length 8 extent 8 carries %t = %t0
    %j: int64[] = induction variable
    %t: {type}[9,9] = carried 0
    %j1: int64[] = add %j, %one
    %left: {type}[] = gather (at 0, at 1) in range of %t, %i1, %j
    %up: {type}[] = gather (at 0, at 1) in range of %t, %i, %j1
    %corner: {type}[] = gather (at 0, at 1) in range of %t, %i, %j
    %first: {type}[] = min %left, %up
    %least: {type}[] = min %first, %corner
    %next: {type}[] = add %least, %d
    %n1: {type}[1] = view () of %next
    %row: int64[1] = view () of %i1
    %column: int64[1] = view () of %j1
    %u: {type}[9,9] = scatter (at 0, at 1) in range into %t, %n1, %row, %column
    yield %u
  %last: {type}[9,9] = result 0 of %1
  return %last"""


@pytest.mark.parametrize("type_", ["float32", "int32"])
def test_the_element_that_the_previous_iteration_wrote_comes_last(type_: str) -> None:
    assert chains(TABLE.format(type=type_))["least"] == ["up", "corner", "left"]


def test_an_element_that_may_be_that_one_comes_last_too() -> None:
    text = TABLE.format(type="float32").replace("of %t, %i, %j1", "of %t, %j, %j")
    assert chains(text)["least"] == ["corner", "left", "up"]


GAP = """
kernel
  %h0: float32[] = input 0
  %rows: float32[7] = input 1
  %1 = loop length 7 extent 7 carries %h = %h0, %e = %h0
    %h: float32[] = carried 0
    %e: float32[] = carried 1
    %row: float32[] = scan slice along 0 of %rows
    %open: float32[] = sub %h, %h0
    %longer: float32[] = sub %e, %h0
    %gap: float32[] = max %open, %longer
    %next: float32[] = max %row, %gap
    yield %next, %gap
    stack %gap along 0
  %last: float32[] = result 0 of %1
  return %last"""


def test_of_two_carried_values_the_later_one_comes_last() -> None:
    """The gap of an alignment is known before its score."""
    assert chains(GAP)["gap"] == ["longer", "open"]
    assert chains(GAP)["next"] == ["row", "gap"]
