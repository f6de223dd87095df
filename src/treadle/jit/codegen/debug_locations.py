"""Debug locations of a profiled kernel: which steps each instruction belongs to.

A location's line is the number of a place: some steps in a loop. LLVM keeps the locations through
its passes and writes them as the line table (DWARF 4) of the object file, from which a sampled
address becomes a place. Only the kernel's own function has them: code of other functions belongs to
the place that calls it, which is found by the return address on the stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext, LineNumbers
from treadle.jit.codegen.llvm_types import I32
from treadle.jit.kernel.artifact import CodePlace

_FLAGS = {"Dwarf Version": 4, "Debug Info Version": 3}
_WARNING = 2
"""What LLVM does where two linked modules differ in a flag."""


def line_numbers(module: llvm.Module, function: llvm.Function) -> LineNumbers:
    """Begin the line table of a function, with no line yet."""
    file = module.add_debug_info("DIFile", {"filename": "kernel", "directory": ""})
    unit = module.add_debug_info("DICompileUnit", {
        "language": llvm.DIToken("DW_LANG_C"), "file": file, "producer": "treadle",
        "isOptimized": True, "runtimeVersion": 0, "emissionKind": llvm.DIToken("LineTablesOnly"),
    }, is_distinct=True)  # fmt: skip
    kind = module.add_debug_info("DISubroutineType", {"types": module.add_metadata([])})
    subprogram = module.add_debug_info("DISubprogram", {
        "name": function.name, "file": file, "line": 0, "type": kind, "isLocal": False,
        "isDefinition": True, "scopeLine": 0, "isOptimized": True, "unit": unit,
    }, is_distinct=True)  # fmt: skip
    function.set_metadata("dbg", subprogram)
    module.add_named_metadata("llvm.dbg.cu", unit)
    for flag, value in _FLAGS.items():
        said = [llvm.Constant(I32, _WARNING), flag, llvm.Constant(I32, value)]
        module.add_named_metadata("llvm.module.flags", said)
    return LineNumbers(subprogram)


@contextmanager
def located(context: CodegenContext, place: CodePlace) -> Iterator[None]:
    """Give the instructions emitted inside, where nothing inside says otherwise, a place."""
    debug, builder = context.debug, context.builder.builder
    if debug is None:
        yield
        return
    line = debug.lines.setdefault(place, len(debug.lines) + 1)
    before = builder.debug_metadata
    builder.debug_metadata = context.builder.module.add_debug_info(
        "DILocation", {"line": line, "column": 1, "scope": debug.subprogram}
    )
    yield
    builder.debug_metadata = before


def keep_own_locations(module: llvm.Module, function: llvm.Function) -> None:
    """Remove the locations of all functions but one."""
    for each in module.functions:
        if each is not function:
            for block in each.blocks:
                for instruction in block.instructions:
                    instruction.metadata.pop("dbg", None)
