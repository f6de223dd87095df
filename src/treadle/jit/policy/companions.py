"""Decides which small operators around a loop join its region.

Their sizes are known from the types, or at run time: a region with larger operators is declined,
and its loops are tried alone. For operators that are expensive per element the types must show the
size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import prod

from treadle.ir import Leaf, Loop, Model, Step, Tensor, Value
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node
from treadle.jit.lowering import lowering
from treadle.jit.policy.native_types import is_native
from treadle.jit.policy.producers import may_produce
from treadle.plan import Region, is_compute_heavy, is_of_shape, steps_before, steps_between

_DEAR = frozenset(("Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"))
_OF_ROWS = frozenset((
    "Add", "Cast", "Clip", "Div", "Dropout", "Elu", "Erf", "Gelu", "HardSigmoid", "HardSwish",
    "Identity", "LayerNormalization", "LeakyRelu", "MatMul", "Max", "Min", "Mul", "Neg",
    "RMSNormalization", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Sub", "Swish",
    "Tanh",
))  # fmt: skip
"""Operators of rows, except where an operand has other rows, as a bias of one element each."""
_OF_LISTS = frozenset((
    "ConcatFromSequence", "SequenceAt", "SequenceEmpty", "SequenceLength", "SplitToSequence",
))  # fmt: skip
_VIEWS = frozenset((
    "Concat", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Unsqueeze",
))  # fmt: skip
"""Operators whose results loops read in the memory of the operands, of any size.

So are joined states that a body takes apart; a Concat that stays takes 0.8 to 1.0 of the time of
one in onnxruntime, at 1 to 32 MB.
"""
_MOVES = _VIEWS | {"Cast", "ConstantOfShape", "Expand", "Transpose"}
"""Operators that move, repeat or convert elements: native code takes no longer than others.

What they do beside a loop is often undone in it, as where states are carried transposed.
"""
_MAX_PRODUCTS = 2**16
"""The most multiplications of a product that joins: onnxruntime takes longer to be called."""
_MAX_ELEMENTS, _MAX_MOVED = 65536, 2**19
"""The greatest number of elements of a value in an operator that joins a loop's region.

The second is that of one that only moves elements: 2 million are transposed in 1.4 of the time that
onnxruntime takes. If only a run shows more, it stays: without it the loops would be alone.
"""


def may_join(step: Step, model: Model) -> bool:
    """Whether the step should join: it is small, or costs no run time."""
    return _may_be_small(step) or _is_folded(step, model) or _is_item(step, model)


def _may_be_small(step: Step) -> bool:
    """Whether it is native, cheap, and small as far as its types show."""
    if not isinstance(step, Leaf) or not is_native(step):
        return False
    if lowering(step.domain, step.op, step.version) is None:
        return False
    if step.op in _DEAR:
        return _is_small_product(step)
    if step.op in _OF_LISTS or step.op in _VIEWS:
        return True
    sizes = [_size(value) for value in _looked_at(step)]
    if None in sizes and is_compute_heavy(step):
        return False
    most = _MAX_MOVED if step.op in _MOVES else _MAX_ELEMENTS
    return all(size is None or size <= most for size in sizes)


def _is_folded(step: Step, model: Model) -> bool:
    """Whether the step moves elements of constants only, which is done once: as a kernel is made.

    Its size does not matter then: a transposed matrix of 4,096 x 256 took 4 ms in each run.
    """
    if not isinstance(step, Leaf) or step.op not in _MOVES or not is_native(step):
        return False
    if lowering(step.domain, step.op, step.version) is None:
        return False
    return _are_fixed({value for value in step.operands if value is not None}, model)


def _are_fixed(values: Collection[Value], model: Model) -> bool:
    """Whether values are constants, or made of constants when a kernel is made."""
    fixed = {each.value for each in model.main.constants}.difference(model.main.params)
    others = {*values} - fixed
    if not others:
        return True
    makers = [each for each in model.main.steps if not others.isdisjoint(each.results)]
    made = {value for each in makers for value in each.results}
    return others <= made and all(_is_fixed(each, model) for each in makers)


def _is_fixed(step: Step, model: Model) -> bool:
    is_constant = isinstance(step, Leaf) and not step.domain and step.op == "Constant"
    return is_constant or _is_folded(step, model)


def _is_item(step: Step, model: Model) -> bool:
    """Whether it takes one item, of any size, which its readers find in the memory of the tensor.

    Not of a constant: a table would be part of the kernel for one of its rows.
    """
    if not isinstance(step, Leaf) or not _takes_one(step) or not is_native(step):
        return False
    data = step.operands[0]
    return data is not None and not _are_fixed({data}, model)


def _takes_one(step: Step) -> bool:
    if not isinstance(step, Leaf) or step.domain or step.op != "Gather":
        return False
    indices = step.operands[1]
    return indices is not None and _size(indices) == 1


def _is_small_product(step: Leaf) -> bool:
    """Whether it is a product whose types show that it has few multiplications."""
    if step.op not in ("MatMul", "Gemm"):
        return False
    sizes = [_size(value) for value in (*step.operands[:2], *step.results) if value is not None]
    known = [size for size in sizes if size is not None]
    return len(known) == len(sizes) == 3 and prod(known) <= _MAX_PRODUCTS**2


def may_link(step: Step) -> bool:
    """Whether the step may stand between two loops that run at the same time (pipelines.py).

    It computes each row from the same rows of others, so it runs as a loop over them.
    """
    if not isinstance(step, Leaf) or step.domain or step.op not in _OF_ROWS or not is_native(step):
        return False
    return lowering(step.domain, step.op, step.version) is not None


def links_of(region: Region) -> Collection[Step]:
    """The steps of a region that link its loops."""
    loops = [k for k, step in enumerate(region.steps) if isinstance(step, Loop)]
    links = [k for k, step in enumerate(region.steps) if may_link(step)]
    return {region.steps[k] for k in steps_between(region.steps, loops, links)}


def producers_of(region: Region) -> Collection[Step]:
    """The steps of a region that make what its loops slice, item by item."""
    loops = [k for k, step in enumerate(region.steps) if isinstance(step, Loop)]
    feeds = [k for k, step in enumerate(region.steps) if may_produce(step)]
    return {region.steps[k] for k in steps_before(region.steps, loops, feeds)}


def expect_small(region: Region, nodes: Mapping[Value, Node | None]) -> None:
    """Raise Declined if a step that joined has more elements than allowed."""
    large = {*links_of(region), *producers_of(region)} if region.absorbed else ()
    for step in region.absorbed:
        is_moving = isinstance(step, Leaf) and (step.op in _MOVES or _takes_one(step))
        for value in () if step in large or is_moving else _looked_at(step):
            node = nodes.get(value)
            if node is not None and node.is_static and node.size > _MAX_ELEMENTS:
                raise Declined(f"{value.name} beside a loop has {node.size} elements")


def _looked_at(step: Step) -> Iterable[Value]:
    """The values that determine how much a step computes."""
    assert isinstance(step, Leaf), "only leaves join a region"
    values = step.results if is_of_shape(step) else (*step.operands, *step.results)
    return () if step.op in _OF_LISTS else [value for value in values if value is not None]


def _size(value: Value) -> int | None:
    """The number of elements; None if the type does not determine it."""
    shape = value.type.shape if isinstance(value.type, Tensor) else None
    if shape is None:
        return None
    extents = tuple(extent for extent in shape if isinstance(extent, int))
    return prod(extents) if len(extents) == len(shape) else None
