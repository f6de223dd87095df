"""Optimizers of onnxruntime that are left out for a region.

ConstantFolding         where it would take seconds or gigabytes (`folded.py`)
MatmulTransposeFusion   where a matrix may be multiplied by a vector: of a transposed matrix it
                        makes a product that takes the vector for another (1.32)
"""

from __future__ import annotations

from treadle.delegate.folded import is_much_to_fold
from treadle.ir import Leaf, Step, Tensor, walk_block
from treadle.plan import Region

_MATRIX = 2


def left_out(region: Region) -> frozenset[str]:
    """The names of the optimizers."""
    found = {
        "ConstantFolding": is_much_to_fold(region),
        "MatmulTransposeFusion": _has_vector(region),
    }
    return frozenset(name for name, is_left_out in found.items() if is_left_out)


def _has_vector(region: Region) -> bool:
    return any(_is_by_vector(visit.step) for visit in walk_block(region.block()))


def _is_by_vector(step: Step) -> bool:
    """Whether a step multiplies by a vector, or by a value of unknown rank."""
    if not isinstance(step, Leaf) or step.domain or step.op != "MatMul":
        return False
    type_ = step.operands[1].type if step.operands[1] is not None else None
    if not isinstance(type_, Tensor) or type_.shape is None:
        return True
    return len(type_.shape) < _MATRIX
