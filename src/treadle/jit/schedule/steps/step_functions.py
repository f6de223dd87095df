"""Which steps of a kernel become functions of their own: those of a kernel with much code.

LLVM's compile time grows with the square of a function's size. Nests on one thread that read and
write memory only are written once where several are equal; codegen/steps finds out which are equal,
and moves out the code of other steps where it has a single exit. Numbers that only arithmetic reads
are arguments, so that steps which differ in such numbers are one function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    CarriedArg,
    Concat,
    Constant,
    DimOf,
    Elementwise,
    Empty,
    Gather,
    Guard,
    HostCall,
    InductionVar,
    Input,
    InputDim,
    Loop,
    MatMul,
    Node,
    Reduce,
    Result,
)
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.nest_size import MIN_LONG, emission_weight
from treadle.jit.schedule.parallelism import Parallelism
from treadle.jit.schedule.storage import Storage, StorageMap

_STEP_WEIGHT, _BATCHED_WEIGHT = 8, 64
"""The weight of a step that is no nest, and of a product for many iterations at once."""
_MIN_LENGTH = 24
"""The instructions of a step from which a call of it is worth while, if it has no loop."""
_MOST_RESULTS = 4
"""Values that a step's function may hand on."""
_WITHOUT_CODE = (
    Loop, Branch, HostCall, Input, Constant, Empty, InputDim, DimOf, Guard, InductionVar,
    CarriedArg, Result,
)  # fmt: skip
"""Operations whose steps are not functions: their code is little, may fail, or has steps itself."""
_ARITHMETIC = frozenset(map(Elementwise, ("add", "sub", "mul", "div", "max", "min")))


@dataclass(frozen=True, eq=False, slots=True)
class StepFunctions:
    """Which steps become functions.

    Steps of at least `least` instructions, or with a loop, that hand on at most `results` values;
    0: none do. `once` are the nests that may be written once for equal ones, `arguments` the
    constants that are arguments.
    """

    least: int = 0
    results: int = 0
    once: Collection[Nest] = ()
    arguments: Collection[Node] = ()

    @property
    def are_made(self) -> bool:
        """Whether any step becomes one."""
        return self.results > 0

    def may_be_one(self, step: Step) -> bool:
        """Whether the code of a step has blocks of its own, which may become a function."""
        return self.are_made and (isinstance(step, Nest) or _has_loops(step))

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        if self.are_made:
            count = len(self.arguments)
            numbers = f", numbers that are arguments: {count}" if count else ""
            yield f"steps are functions from {self.least} instructions on{numbers}"


def step_functions(
    blocks: Mapping[Block, tuple[Step, ...]],
    parallelism: Mapping[Step, Parallelism],
    storage: StorageMap,
    tiled: Collection[Block],
    batched: Collection[Node],
    *,
    is_profiled: bool,
) -> StepFunctions:
    """The functions of a kernel's steps; of `tiled` blocks, and where nests are timed, no nests.

    `batched`: the products that are computed for many iterations at once.
    """
    weight = sum(_weight(step) for steps in blocks.values() for step in steps)
    if weight + _BATCHED_WEIGHT * len(batched) < MIN_LONG:
        return StepFunctions()
    found = (step for block, steps in blocks.items() if block not in tiled for step in steps)
    nests = (step for step in found if isinstance(step, Nest) and not is_profiled)
    once = {nest for nest in nests if _is_alone(nest, parallelism[nest])}
    arguments = {node for node in storage.storage_of if _is_argument(node, storage)}
    return StepFunctions(_MIN_LENGTH, _MOST_RESULTS, once, arguments)


def _has_loops(node: Node) -> bool:
    if isinstance(node.op, _WITHOUT_CODE):
        return False
    return any(not (each.is_static and each.size <= 1) for each in (node, *node.operands))


def _is_argument(node: Node, storage: StorageMap) -> bool:
    if not isinstance(node.op, Constant) or storage.storage_of[node] is not Storage.REGISTERS:
        return False
    is_number = node.is_single and node.dtype in (DType.FLOAT32, DType.FLOAT64)
    return is_number and all(each.op in _ARITHMETIC for each in storage.readers.get(node, ()))


def _weight(step: Step) -> int:
    if isinstance(step, Nest):
        return sum(map(emission_weight, step.nodes))
    return _STEP_WEIGHT if isinstance(step.op, MatMul | Reduce | Concat | Gather) else 1


def _is_alone(nest: Nest, found: Parallelism) -> bool:
    """Whether a nest runs on one thread without safepoints."""
    first = nest.nodes[0]
    if nest.pieces is not None or found.is_shared or not first.is_static:
        return False
    return first.size > 1 and found.chunk is None
