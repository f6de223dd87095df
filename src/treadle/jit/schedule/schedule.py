"""The schedule of a kernel, made before any LLVM and followed by code generation.

    storage       where each value lives
    loops         for each loop its strategy, why others declined, and the storage of carried values
    iterations    for each loop the time of an iteration, which safepoints count
    distributed   the products that are computed for many iterations at once
    packings      the matrices that are copied to an aligned layout before each loop
    order         which values are in memory in row-major order
    concats       operands that are computed in the memory of their Concat
    in_results    values that are computed in the memory of a result
    growing       stacked outputs of unknown length, in memory that grows
    reused        values that take over the memory of others
    pipelines     loops that run together, each on a thread of its own
    blocks        for each block its fused nests and other nodes, in order
    parallelism   for each nest and reduction its vectors, and the axis that threads share
    products      the way in which each product runs, and what threads share of it
    forms         the form of each reduction, and search for the best items
    epilogues     reductions that run in the nest that computes their operand
    thresholds    the nanoseconds from which threads share work, copies among it; 0: none
    chains        the order of operands of associative chains
    functions     whether steps become functions of their own, and which nests are written once
    changed       the elements that a nest changes, where the others stay as they are in its memory
    timings       the clocks of a profiled kernel: which steps have one, and when it runs
    kept          what loops slice and is yet computed before them, whole, and why

What depends on the text of the code alone is left to code generation: which functions are equal,
and whether there are loops that LLVM might vectorize.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from treadle.jit.kernel.ir import (
    Block,
    Concat,
    Cumulative,
    Elementwise,
    Kernel,
    Loop,
    MatMul,
    Node,
    Reduce,
    SymbolicDim,
    op_of,
)
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_blocks, all_nodes, inner_blocks
from treadle.jit.schedule.carried_storage import (
    carried_storage,
    in_one_buffer,
    replaced_arrays,
)
from treadle.jit.schedule.distribution import Distribution, distributed_products
from treadle.jit.schedule.fusion import Nest, Step, fused_steps
from treadle.jit.schedule.layouts.concat_operands import ConcatOperands, concat_operands
from treadle.jit.schedule.layouts.memory_order import (
    OWN_MEMORY,
    Destination,
    MemoryOrder,
    storage_of_carried,
)
from treadle.jit.schedule.layouts.packing import Packing, packings
from treadle.jit.schedule.layouts.result_memory import (
    Growing,
    gapped_elements,
    growing_results,
    in_results,
)
from treadle.jit.schedule.layouts.reused_memory import ReusedMemory, reused_memory
from treadle.jit.schedule.loops.facts import LoopFacts
from treadle.jit.schedule.loops.iteration_time import IterationTime, iteration_times
from treadle.jit.schedule.loops.kernel_facts import KernelFacts, LoopSchedule
from treadle.jit.schedule.loops.register_tiling import RegisterTiling
from treadle.jit.schedule.loops.strategies import WITHOUT_ORDER, strategy_of
from treadle.jit.schedule.loops.vectorization import Vectorization
from treadle.jit.schedule.parallelism import Parallelism, parallelism_of
from treadle.jit.schedule.pipelines import Pipeline, Pipelines, pipelines_of
from treadle.jit.schedule.reassociate import reassociated
from treadle.jit.schedule.steps.changed_elements import ChangedElements, changed_elements
from treadle.jit.schedule.steps.copies import Copy, computed_copy, copy_of, move_of
from treadle.jit.schedule.steps.epilogues import epilogue_form, epilogues
from treadle.jit.schedule.steps.forms import StepForm, form_of
from treadle.jit.schedule.steps.products import Panels, ProductSchedule, product_schedules
from treadle.jit.schedule.steps.step_functions import StepFunctions, step_functions
from treadle.jit.schedule.steps.timings import Timing, timings
from treadle.jit.schedule.storage import Storage, StorageMap, assign_storage
from treadle.jit.schedule.sunk_producers import producers
from treadle.jit.schedule.update_chains import update_chains


@dataclass(frozen=True, eq=False, slots=True)
class Schedule:
    """The schedule of a kernel for a target."""

    storage: StorageMap
    loops: Mapping[Node, LoopSchedule]
    iterations: Mapping[Node, IterationTime]
    distributed: Mapping[Node, Distribution]
    packings: Mapping[Node, tuple[Packing, ...]]
    order: MemoryOrder
    concats: ConcatOperands
    in_results: Mapping[Node, int]
    growing: Mapping[Node, Growing]
    reused: ReusedMemory
    pipelines: Pipelines
    blocks: Mapping[Block, tuple[Step, ...]]
    parallelism: Mapping[Step, Parallelism]
    products: Mapping[Node, ProductSchedule]
    forms: Mapping[Node, StepForm]
    epilogues: Mapping[Nest, Node]
    thresholds: Mapping[Block, int]
    chains: Mapping[Node, list[Node]]
    functions: StepFunctions
    changed: Mapping[Nest, ChangedElements]
    timings: Mapping[Step, Timing] | None
    kernel: Kernel
    vector_bytes: int

    @property
    def unsunk_producers(self) -> Mapping[Node, tuple[Node, str]]:
        """Producers that no loop computes item by item, each with a loop and the reason.

        Found when it is asked for, by `explain`; code is generated without it.
        """
        return producers(self.kernel).kept

    @property
    def packs_registers(self) -> bool:
        """Whether innermost loops compute values of several elements in registers.

        LLVM may pack these, and packs carried numbers where it runs: the rounds of a SHA-256, whose
        arrays are only moved, take twice the time (Zen 4).
        """
        return any(
            place is Storage.REGISTERS and node.size > 1 and _is_computed_innermost(node)
            for node, place in self.storage.storage_of.items()
        )

    def steps_of(self, block: Block) -> tuple[Step, ...]:
        """The steps of a block; one that a strategy has made carries nothing."""
        return self.blocks.get(block) or fused_steps(block, self.storage, {}, (), {})

    def parallelism_of(self, step: Step) -> Parallelism:
        """How a nest or a reduction runs: on one thread if a strategy has made it."""
        found = self.parallelism.get(step) or parallelism_of(step, self.order, 0, 0, None)
        assert found is not None, "neither a nest nor a reduction in memory"
        return found

    def form_of(self, node: Node) -> StepForm:
        """The form of a reduction or search; one that a strategy has made is in no tile."""
        found = self.forms.get(node) or form_of(node, self.order)
        assert found is not None, "neither a reduction nor a search"
        return found

    def timing_of(self, step: Step) -> Timing | None:
        """The clock of a step; None if it has none."""
        return None if self.timings is None else self.timings.get(step)

    def copied(
        self, node: Node, block: Block | None, destination: Destination = OWN_MEMORY
    ) -> Copy:
        """How a value is copied to other memory in a block."""
        return copy_of(node, self.order, self._threshold(block), self.vector_bytes, destination)

    def moved(self, node: Node, block: Block | None) -> Copy:
        """How a copy of a value is moved from memory to memory in a block."""
        return move_of(node, self._threshold(block), self.vector_bytes)

    def computed(self, node: Node) -> Copy:
        """How a value is computed to memory of its own from its operands' elements."""
        return computed_copy(node, self.order, self._threshold(node.home), self.vector_bytes)

    def _threshold(self, block: Block | None) -> int:
        return 0 if block is None else self.thresholds.get(block, 0)


def schedule_kernel(
    kernel: Kernel, target: Target, exact: Collection[SymbolicDim] = (), *, has_pool: bool = True
) -> Schedule:
    """The schedule of a kernel; `exact` are the extents known before it runs.

    `has_pool`: it can share work with treadle's threads.
    """
    storage = assign_storage(kernel)
    facts = {
        node: LoopFacts(kernel, node, storage, target, carried_storage(node.op, storage))
        for node in all_nodes(kernel.main)
        if isinstance(node.op, Loop)
    }
    loops = {node: _loop_schedule(each) for node, each in facts.items()}
    distributed = {
        node: found
        for loop in loops
        if isinstance(loop.op, Loop)
        for node, found in distributed_products(loop.op, storage).items()
    }
    made = KernelFacts(kernel, storage, loops, distributed, has_pool)
    found = pipelines_of(made)
    blocks = dict(_blocks(kernel.main, None, storage, loops, found.found))
    concats = concat_operands(made, blocks, found.found)
    carried = storage_of_carried({node: of.carried for node, of in loops.items()}, storage)
    order = MemoryOrder(storage, carried, concats.into)
    order = replace(order, gapped={*gapped_elements(loops, kernel, storage)})
    may_reshape = has_pool and not kernel.is_recorded
    own = in_results(kernel, storage, exact, may_reshape=may_reshape)
    single = set(_single_threaded(loops, found))
    thresholds = {block: 0 if block in single else kernel.parallel_threshold_ns for block in blocks}
    forms = dict(_forms(blocks, order, _vectorized(loops), target.vector_bytes))
    divided = {step for steps in blocks.values() for step in steps if _is_divided(step, concats)}
    reused = reused_memory(kernel, order, found, blocks, own)
    parallelism = _parallelism(
        blocks, thresholds, order, target.vector_bytes, forms, divided, reused.taken
    )
    functions = step_functions(
        blocks, parallelism, storage, set(_tiled(loops)), distributed,
        is_profiled=kernel.is_profiled,
    )  # fmt: skip
    within = epilogues(blocks.values(), storage, forms, parallelism, functions.once)
    within = {} if kernel.is_profiled else within
    forms |= {node: epilogue_form(forms[node]) for node in within.values()}
    packed = packings(kernel, blocks, order, distributed, target)
    products = product_schedules(thresholds, order, packed, distributed, target)
    strategies = {node: of.strategy for node, of in loops.items()}
    times = iteration_times(strategies, exact)
    every = (step for steps in blocks.values() for step in steps)
    return Schedule(
        storage,
        loops,
        times,
        {node: of for node, of in distributed.items() if isinstance(products[node], Panels)},
        packed.made,
        order,
        concats,
        own,
        growing_results(storage),
        reused,
        found,
        blocks,
        parallelism,
        products,
        forms,
        within,
        thresholds,
        reassociated(facts.values()),
        functions,
        dict(_changed(kernel, storage, reused, parallelism, functions)),
        timings(kernel, every, storage, times, strategies, target),
        kernel,
        target.vector_bytes,
    )


def _parallelism(
    blocks: Mapping[Block, tuple[Step, ...]],
    thresholds: Mapping[Block, int],
    order: MemoryOrder,
    vector_bytes: int,
    forms: Mapping[Node, StepForm],
    divided: Collection[Step],
    in_place: Mapping[Node, Node],
) -> dict[Step, Parallelism]:
    made: dict[Step, Parallelism] = {}
    for block, steps in blocks.items():
        for step in (each for each in steps if each not in divided):
            form = forms.get(step) if isinstance(step, Node) else None
            is_apart = not isinstance(step, Node) and in_place.keys().isdisjoint(step.nodes)
            found = parallelism_of(
                step, order, thresholds[block], vector_bytes, form, is_apart=is_apart
            )
            if found is not None:
                made[step] = found
    return made


def _changed(
    kernel: Kernel,
    storage: StorageMap,
    reused: ReusedMemory,
    parallelism: Mapping[Step, Parallelism],
    functions: StepFunctions,
) -> Iterator[tuple[Nest, ChangedElements]]:
    """The nests that change a part of their elements; one that is written once is for several."""
    for step, loops in parallelism.items():
        if isinstance(step, Nest) and step not in functions.once:
            found = changed_elements(step, kernel, storage, reused.taken, loops)
            if found is not None:
                yield step, found


def _is_divided(step: Step, concats: ConcatOperands) -> bool:
    """Whether a step is a Concat of which a part is there before: each operand is copied alone."""
    if not isinstance(step, Node) or not isinstance(step.op, Concat):
        return False
    return not concats.has_all_to_write(step)


def _forms(
    blocks: Mapping[Block, tuple[Step, ...]],
    order: MemoryOrder,
    vectorized: Collection[Block],
    vector_bytes: int,
) -> Iterator[tuple[Node, StepForm]]:
    for step in (step for steps in blocks.values() for step in steps if isinstance(step, Node)):
        found = form_of(step, order, vectorized, vector_bytes)
        if found is not None:
            yield step, found


def _single_threaded(loops: Mapping[Node, LoopSchedule], pipelines: Pipelines) -> Iterator[Block]:
    """Blocks in which no nest is shared: of loops in register tiles, or with a thread each."""
    stages = {stage.loop for each in pipelines.found.values() for stage in each.stages}
    yield from _tiled(loops)
    for loop in stages:
        yield from all_blocks(op_of(loop, Loop).body)


def _tiled(loops: Mapping[Node, LoopSchedule]) -> Iterator[Block]:
    """The bodies of loops in register tiles."""
    for loop, found in loops.items():
        if isinstance(found.strategy, RegisterTiling):
            yield op_of(loop, Loop).body


def _vectorized(loops: Mapping[Node, LoopSchedule]) -> Collection[Block]:
    """Blocks of which LLVM computes several iterations at once."""
    found = (loop for loop, of in loops.items() if isinstance(of.strategy, Vectorization))
    return {op_of(loop, Loop).body for loop in found}


def _is_computed_innermost(node: Node) -> bool:
    """Whether an innermost loop computes a value, and does not only move its elements."""
    is_computed = isinstance(node.op, Elementwise | MatMul | Reduce | Cumulative)
    is_looped = node.home.is_loop and not any(isinstance(e.op, Loop) for e in node.home.nodes)
    return is_computed and is_looped


def _blocks(
    block: Block,
    loop: Node | None,
    storage: StorageMap,
    loops: Mapping[Node, LoopSchedule],
    pipelines: Mapping[Node, Pipeline],
) -> Iterator[tuple[Block, tuple[Step, ...]]]:
    """The steps of a block and of those inside it; `loop` is the innermost loop around it."""
    state_of: Mapping[Node, Node] = {}
    links: Collection[Node] = ()
    if loop is not None:
        assert isinstance(loop.op, Loop)
        links = update_chains(loop.op)
        if loop.op.body is block:
            state_of = replaced_arrays(loop.op, storage, loops[loop].carried)
    yield block, fused_steps(block, storage, state_of, links, pipelines)
    for node in block.nodes:
        around = node if isinstance(node.op, Loop) else loop
        for inner in inner_blocks(node):
            yield from _blocks(inner, around, storage, loops, pipelines)


def _loop_schedule(facts: LoopFacts) -> LoopSchedule:
    strategy, declined = strategy_of(facts)
    is_whole = isinstance(strategy, WITHOUT_ORDER)
    carried = in_one_buffer(facts.carried) if is_whole else facts.carried
    return LoopSchedule(strategy, declined, carried)
