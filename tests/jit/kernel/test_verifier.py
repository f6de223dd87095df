"""A kernel that breaks a rule is named, with the node that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treadle.ir import DType
from treadle.jit.kernel.ir import Block, Elementwise, InductionVar, Node
from treadle.jit.kernel.node_builder import NodeBuilder
from treadle.jit.kernel.op_text import InvalidKernel
from treadle.jit.kernel.parser import parse_kernel
from treadle.jit.kernel.verifier import verify_kernel, violations

HEAD = """kernel
  %x: float32[2,3] = input 0
  %k: int64[4] = input 1
  %t: bool[] = input 2
"""
BROKEN = {
    "%y: float64[2,3] = neg %x": "neg of float32 has no result float64",
    "%y: float32[2,3] = add %x": "add of 1 operands where 2 are right",
    "%y: float32[2,3] = nag %x": "there is no scalar function nag",
    "%y: float32[2,3] = add %x, %k": "add of float32, int64",
    "%y: float32[3,2] = add %x, %x": "shape is [3,2] where [2,3] is right",
    "%y: float32[2,3] = where %x, %x, %x": "where of float32, float32, float32",
    "%y: float32[3,3] = view (i0, i1) of %x": "it reads from 0 to 2 along an axis of 2",
    "%y: float32[3] = view (i0) of %x": "1 axes read a tensor of rank 2",
    "%y: float32[5] = reshape %x": "[5] has another size than [2,3]",
    "%y: float32[3,3] = concat along 0 %x, %x": "shape is [3,3] where [4,3] is right",
    "%y: float32[] = reduce add over (2) of %x": "axis 2 of a tensor of rank 2",
    "%y: float32[2,2] = matmul %x, %x": "[2,3] and [2,3] do not multiply",
    "%y: float32[2,4] = take along 1 of %x, %x": "indices of float32",
    "%y: float32[2,3] = take along 1 of %x, %k": "shape is [2,3] where [2,4] is right",
    "%y: float32[4] = gather (at 1, 0) of %x, %k": "uses an index operand that is not one of 1",
    "%y: float32[2] = constant 1.0 2.0\n  %z: float32[3] = neg %y": "where [2] is right",
    "%y: float32[2,3] = empty": "no extent of an empty tensor is 0",
    "%y: bool[] = guard %x": "a guard asks one bool",
    "%y: int64[] = induction variable": "it is in no loop's body",
    "%y: float32[3] = scan slice along 0 of %x": "it is in no loop's body",
    "%y: float32[2,3] = carried 0": "it is in no loop's body",
    "%y as e0: int64[4] = neg %k\n  %z: float32[e0] = iota": "the extent of a dim is the",
    "%y: int32[] = reduce add over (0, 1) of %x": "its element type is int32",
    "%y: float32[2,3] = view (i0, i2) of %x": "axis i2 where the index has rank 2",
    "%y: float32[2,3] = concat along 0 %x, %k": "an operand of rank 1 in a tensor of rank 2",
    "%y: float32[] = matmul %k, %k": "the operands are no matrices",
    "%y: int64[] = dim 0 of value 0": "it is the dim of a carried value, but not in a loop's body",
    "%y: float32[-2,3] = neg %x": "an extent is negative",
    "%y: float32[2,3] = input 5": "the main block has other inputs",
}  # fmt: skip


@pytest.mark.parametrize("line", BROKEN)
def test_a_node_that_breaks_its_rule_is_named(line):
    text = f"{HEAD}  {line}\n  return %x"
    kernel = parse_kernel(text)
    if "input 5" not in line:
        with pytest.raises(InvalidKernel) as caught:
            verify_kernel(kernel)
        assert BROKEN[line] in str(caught.value)
    else:
        assert any("inputs are those at" in each for each in violations(kernel))


LOOPS = {
    "carries %s = %k": "carried value 0 is the CarriedArg of type float32[2,3], but also the Input",
    "while %x carries %s = %x": "its condition is the Input of type float32[2,3]",
    "carries %s = %x, %s = %x": "2 initial, 2 carried, 1 next values",
    "trip %k carries %s = %x": "its trip count is not a scalar",
    "trip %t": "its body has 1 carried arguments where it carries 0",
}


@pytest.mark.parametrize("head", LOOPS)
def test_a_loop_that_breaks_its_rule_is_named(head):
    text = f"""{HEAD}  %l = loop {head}
    %s: float32[2,3] = carried 0
    yield %s
  return %x"""
    assert any(LOOPS[head] in each for each in violations(parse_kernel(text)))


def test_a_result_has_the_type_that_its_loop_gives():
    text = f"""{HEAD}  %l = loop trip %t carries %s = %x
    %s: float32[2,3] = carried 0
    yield %s
    stack %s along 3
  %0: float64[2,3] = result 0 of %l
  %1: float32[4,2,3] = result 2 of %l
  %2: float32[] = neg %l
  return %x"""
    found = "\n".join(violations(parse_kernel(text)))
    assert "result 0 is float32[2,3]" in found
    assert "it is result 2 of 2" in found
    assert "is stacked along axis 3" in found
    assert "it reads a loop, a branch or a call itself" in found


BRANCHES = {
    "if %x\n    yield %x\n  else\n    yield %x": "its condition is not a bool",
    "if %t\n    yield %x\n  else\n    yield": "1 results of one side, 0 of the other",
    "host call Foo-1 (boxed %x) -> (boxed)": "is not the handle of a boxed value",
}


@pytest.mark.parametrize("words", BRANCHES)
def test_a_branch_or_a_call_that_breaks_its_rule_is_named(words: str) -> None:
    kernel = parse_kernel(f"{HEAD}  %b = {words}\n  return %x")
    assert any(BRANCHES[words] in each for each in violations(kernel))


def test_a_dim_of_a_call_is_one_of_its_results() -> None:
    kernel = parse_kernel(f"""{HEAD}  %c = host call Foo-1 (%x) -> (float32[?])
  %n: int64[] = dim 1 of value 0 of %c
  %m: int64[] = dim 0 of value 2 of %c
  return %x""")
    found = "\n".join(violations(kernel))
    assert "it is dim 1 of value 0 of 1" in found
    assert "it is dim 0 of value 2 of 1" in found


def test_results_and_boxed_results_are_of_the_main_block() -> None:
    kernel = parse_kernel(f"{HEAD}  return %x\n  boxed 3")
    assert "boxed results (3,) of 1" in "\n".join(violations(kernel))
    inner = Node(Elementwise("neg"), DType.FLOAT32, (2, 3), (kernel.inputs[0],), Block("inner"))
    moved = replace(kernel, results=(inner,), boxed_results=())
    assert "is not a value of the main block" in "\n".join(violations(moved))


def _main(*nodes: Node) -> str:
    kernel = parse_kernel(f"{HEAD}  return %x")
    for node in nodes:
        kernel.main.nodes.append(node if node.home else replace(node, home=kernel.main))
    return "\n".join(violations(kernel))


def test_a_node_is_once_in_its_block_and_after_its_operands():
    elsewhere = Block("elsewhere")
    early = Node(Elementwise("neg"), DType.FLOAT32, (), (), elsewhere)
    late = Node(Elementwise("neg"), DType.FLOAT32, (), (early,), Block("freed"))
    assert "which is not defined before it" in _main(late)
    assert "it is at home in elsewhere" in _main(early)
    assert "it occurs there twice" in _main(early, early)


def test_values_of_a_block_are_not_known_outside():
    kernel = parse_kernel(f"""{HEAD}  %b = if %t
    %y: float32[2,3] = neg %x
    yield %y
  else
    yield %x
  %r: float32[2,3] = result 0 of %b
  return %r""")
    inner = kernel.main.nodes[3].op.then_results[0]
    outer = Node(Elementwise("neg"), inner.dtype, inner.shape, (inner,), kernel.main)
    kernel.main.nodes.append(outer)
    assert any("is not defined before it" in each for each in violations(kernel))


def test_nodes_of_a_block_that_was_given_up_are_taken_back() -> None:
    builder = NodeBuilder.start()
    mark = builder.mark()
    builder.block = Block("body", builder.main, is_loop=True)
    builder.add(Elementwise("neg"), DType.INT64, (), builder.param(InductionVar(), DType.INT64, ()))
    builder.back(mark)
    assert (len(builder.values), builder.main.nodes) == (0, [])
