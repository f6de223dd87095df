"""The shared state of code generation for one kernel, as records by subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.element_access import ElementAccess
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.heap_buffer import HeapBuffer
from treadle.jit.codegen.parallel_call import ParallelCall
from treadle.jit.kernel.artifact import Clock, CodePlace
from treadle.jit.kernel.ir import Block, Kernel, Node
from treadle.jit.kernel.target import PYTHON, Surroundings
from treadle.jit.schedule.schedule import Schedule

OUT_OF_RANGE, OUT_OF_MEMORY, UNEQUAL_LENGTHS, INTERRUPTED, UNMATCHED, UNFIT = 1, 2, 3, 4, 5, 6
OVER_LIMIT, OVER_BYTES = 7, 8
"""The status a kernel returns on failure; 0 is success."""


@dataclass(frozen=True, eq=False, slots=True)
class Exit:
    """The end of the kernel: the variable of its status, and the block that releases its memory."""

    status: Any
    block: Any


@dataclass(frozen=True, eq=False, slots=True)
class SafepointState:
    """Nanoseconds of work until the next safepoint, the thread state, the object to call.

    `is_elsewhere`: code that any thread runs has no safepoints; its caller has. `keeps_registers`:
    polls are by the function that keeps every register.
    """

    ticks: Any
    thread: Any
    poll: Any
    keeps_registers: bool = False
    is_elsewhere: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class MemoryState:
    """The bytes held by the enclosing loops, for runs that limit them.

    `checks` test the extents of a value that a loop will hold before it is allocated.
    """

    held: Any
    checks: dict[Node, Callable[[Sequence[Index]], None]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class CarriedMemory:
    """The storage of carried values that are not copied into one buffer.

    `scopes` are the alias scopes of values that will be written to another value's memory.
    `growable` have extents that change, `delay_lines` shift by a row in each iteration, `sliding`
    are windows that move through memory, `double_buffers` have two buffers; all four are found by
    the carried argument and by its next value. `swapped_scopes` are the alias scopes of the second
    buffers.
    """

    scopes: dict[Node, str] = field(default_factory=dict)
    growable: dict[Node, Any] = field(default_factory=dict)
    delay_lines: dict[Node, Any] = field(default_factory=dict)
    sliding: dict[Node, Any] = field(default_factory=dict)
    double_buffers: dict[Node, Any] = field(default_factory=dict)
    swapped_scopes: set[str] = field(default_factory=set)


@dataclass(frozen=True, eq=False, slots=True)
class Results:
    """The results of loops, branches and calls by node and number, and their dynamic extents."""

    values: dict[tuple[Node, int], Any] = field(default_factory=dict)
    dims: dict[tuple[Node | Block, int, int], Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class ConcatMemory:
    """The memory of a Concat under construction, and of an operand written directly into it."""

    buffers: dict[Node, Buffer] = field(default_factory=dict)
    operands: dict[tuple[Node, Node], Buffer] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class NestFunctions:
    """Loop nests in functions of their own: the calls, and whether each new nest becomes one.

    `made` are those of steps by description, `step_calls` their calls.
    """

    calls: list[ParallelCall] = field(default_factory=list)
    is_outlined: bool = False
    made: dict[Hashable, Any] = field(default_factory=dict)
    step_calls: list[Any] = field(default_factory=list)


@dataclass(frozen=True, eq=False, slots=True)
class LoopClock:
    """The number of a clock, and a condition for this run to be timed; None for all runs."""

    number: int
    due: Any


@dataclass(frozen=True, eq=False, slots=True)
class LineNumbers:
    """The lines of a kernel's line table by place, and LLVM's metadata of its function."""

    subprogram: Any
    lines: dict[CodePlace, int] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class CodegenContext:
    """The code generation of one kernel.

    `heap_buffers` are released at the end. `counts` are numbers for reports.
    `clocks` are those of a profiled kernel, `loop_clocks` those of loops, `debug` its line table.
    `rows` has variables with the number of rows written of results that are stacked.
    `loop_paths` has the path of the loop that each body belongs to.
    """

    kernel: Kernel
    schedule: Schedule
    builder: FunctionBuilder
    access: ElementAccess
    exit: Exit
    safepoint: SafepointState
    memory: MemoryState
    surroundings: Surroundings = PYTHON
    carried: CarriedMemory = field(default_factory=CarriedMemory)
    results: Results = field(default_factory=Results)
    concats: ConcatMemory = field(default_factory=ConcatMemory)
    functions: NestFunctions = field(default_factory=NestFunctions)
    heap_buffers: list[HeapBuffer] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    clocks: list[Clock] = field(default_factory=list)
    loop_clocks: dict[Node, LoopClock] = field(default_factory=dict)
    debug: LineNumbers | None = None
    rows: dict[int, Any] = field(default_factory=dict)
    loop_paths: dict[Block, str] = field(default_factory=dict)
