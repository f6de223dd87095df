"""Variables of vectors of any length, in pieces whose lengths are powers of two.

LLVM hands a vector of another length from block to block as single elements: a loop that carried
48 lanes took twice the time of one with 64. Put together within a block, pieces cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder, i64
from treadle.jit.codegen.llvm_types import I64, undefined


@dataclass(frozen=True, eq=False, slots=True)
class VectorVariables:
    """The variables of a vector: the longest piece first, which begins at lane 0."""

    type: Any
    variables: tuple[tuple[int, Any], ...]

    @classmethod
    def of(cls, builder: FunctionBuilder, value: Any) -> VectorVariables:
        """New variables that hold a vector."""
        type_, first, variables = value.type, 0, []
        while first < type_.count:
            lanes = 1 << (type_.count - first).bit_length() - 1
            piece = llvm.VectorType(type_.element, lanes)
            variables.append((first, builder.variable(piece)))
            first += lanes
        made = cls(type_, tuple(variables))
        made.store(builder, value)
        return made

    def store(self, builder: FunctionBuilder, value: Any) -> None:
        """Store a vector."""
        if len(self.variables) == 1:
            builder.builder.store(value, self.variables[0][1])
            return
        for first, variable in self.variables:
            piece = variable.allocated_type
            name = f"llvm.vector.extract.{i64(piece)}.{i64(self.type)}"
            extract = builder.external(name, piece, self.type, I64)
            part = builder.builder.call(extract, [value, llvm.Constant(I64, first)])
            builder.builder.store(part, variable)

    def load(self, builder: FunctionBuilder) -> Any:
        """Load the vector."""
        b, found = builder.builder, undefined(self.type)
        for first, variable in self.variables:
            piece = variable.allocated_type
            part = b.load(variable, typ=piece)
            if len(self.variables) == 1:
                return part
            name = f"llvm.vector.insert.{i64(self.type)}.{i64(piece)}"
            insert = builder.external(name, self.type, self.type, piece, I64)
            found = b.call(insert, [found, part, llvm.Constant(I64, first)])
        return found
