"""A block under export to onnxruntime: unique names over all scopes, and its new steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treadle.delegate.kernels import registry
from treadle.infer import Range, range_of_array, range_of_type
from treadle.ir import (
    Attribute,
    Block,
    Constant,
    Declaration,
    DType,
    External,
    Info,
    Leaf,
    Literal,
    Operands,
    Optional,
    Shape,
    Step,
    Tensor,
    Type,
    Value,
    attribute,
)
from treadle.ir import Sequence as SequenceType

LARGE = 1 << 20
"""The bytes from which a constant is passed in memory instead of being copied into the model."""


@dataclass(slots=True)
class ExportModel:
    """The state shared by all blocks of one exported model.

    `inputs` are the shapes of its inputs, as far as they were inferred; `fixed` are the names of
    values that constants determine, which onnxruntime may compute as it loads the model, `makers`
    the steps that make them, and `folded` those contents of theirs that were asked for.
    `has_symbols`: its steps rely on equal symbols of the inputs. `is_judged`: refusals by ranks and
    extents have been looked for in its steps.
    """

    opset: int
    names: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    large: dict[str, np.ndarray] = field(default_factory=dict)
    contents: dict[str, np.ndarray] = field(default_factory=dict)
    ranges: dict[str, Range | None] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    makers: dict[str, tuple[Leaf, int, Operands]] = field(default_factory=dict)
    folded: dict[str, np.ndarray | None] = field(default_factory=dict)
    inputs: tuple[Shape | None, ...] = ()
    has_exact_forms: bool = False
    has_guards: bool = False
    has_symbols: bool = False
    is_judged: bool = False

    def fresh(self, hint: str) -> str:
        """A name no value of the model has: the hint, or the hint with a number."""
        return _fresh(self.names, hint or "value")

    def node(self, path: str) -> str:
        """A fresh name for a node: the step's path; onnxruntime rejects duplicates."""
        return _fresh(self.nodes, path)


def _fresh(taken: dict[str, int], hint: str) -> str:
    name = hint
    while name in taken:
        taken[hint] += 1
        name = f"{hint}_{taken[hint]}"
    taken[name] = 0
    return name


@dataclass(slots=True)
class ExportScope:
    """The parts of one block; `new` maps values of the original block to exported ones.

    `unsigned` maps names of int8 values to the uint8 values that replace them (`byte_products.py`).
    """

    shared: ExportModel
    path: str
    params: list[Value] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    new: dict[Value, Value | None] = field(default_factory=dict)
    unsigned: dict[str, Value] = field(default_factory=dict)

    def inner(self, path: str) -> ExportScope:
        """The scope of a body."""
        return ExportScope(self.shared, path)

    def value(self, hint: str, type_: Type | None = None) -> Value:
        """A new value."""
        return Value(self.shared.fresh(hint), type_)

    def renamed(self, old: Value | None, type_: Type | None = None) -> Value:
        """The new value for the result of a step; an unnamed result also gets a name."""
        made = self.value(old.name if old is not None else "unused", type_)
        if old is not None:
            self.new[old] = made
        return made

    def read(self, old: Value | None) -> Value | None:
        """The new value for an operand."""
        return None if old is None else self.new[old]

    def reads(self, old: Sequence[Value | None]) -> tuple[Value | None, ...]:
        """The new values for operands."""
        return tuple(map(self.read, old))

    def keep(self, constant: Constant) -> Value:
        """Copy a constant of the original; the data of a large one stay where they are."""
        made, array = self.renamed(constant.value), constant.array
        dtype = constant.data.dtype if isinstance(constant.data, Literal) else None
        self.new[constant.value] = typed = self._add_constant(made, array, dtype)
        self.shared.ranges[made.name] = range_of_array(array)
        return typed

    def array(self, array: np.ndarray | np.generic, dtype: DType) -> Value:
        """A new constant of an array."""
        return self._add_constant(self.value("constant"), np.asarray(array), dtype)

    def _add_constant(self, made: Value, array: np.ndarray, dtype: DType | None) -> Value:
        """Add a constant; a large array stays where it is."""
        name = made.name
        literal = Literal(array, dtype, name) if dtype else Literal.of(array, name)
        if array.nbytes >= LARGE and array.dtype.kind in "fiub":
            self.shared.large[name] = array
            literal = replace(literal, external=_in_memory(array))
        typed = replace(made, declared=Tensor(literal.dtype, tuple(array.shape)))
        self.constants.append(Constant(typed, literal))
        self.shared.contents[name] = array
        return typed

    def range(self, value: Value | None) -> Range | None:
        """The range of the integers in an exported value, if it is known.

        Exported values are found by name: bodies see outer values under the same name.
        """
        if value is None:
            return None
        return self.shared.ranges.get(value.name) or range_of_type(value.type)

    def constant(self, values: Sequence[float] | float | bool, dtype: DType = DType.INT64) -> Value:
        """A new constant of numbers or a bool."""
        if isinstance(values, bool):
            dtype = DType.BOOL
        array = np.array(values, dtype.numpy)
        made = self.value("constant", Tensor(dtype, tuple(array.shape)))
        self.constants.append(Constant(made, Literal.of(array, made.name)))
        self.shared.contents[made.name] = array
        return made

    def known(self, value: Value) -> np.ndarray | None:
        """The content of an exported value if it is constant, in outer blocks too."""
        return self.shared.contents.get(value.name)

    def is_fixed(self, value: Value) -> bool:
        """Whether constants determine an exported value."""
        return value.name in self.shared.fixed or value.name in self.shared.contents

    def note_fixed(self, step: Step, operands: Sequence[Value | None]) -> None:
        """Record the results of a step of the original whose exported operands are fixed."""
        if all(value is None or self.is_fixed(value) for value in operands):
            made = (self.read(value) for value in step.results)
            self.shared.fixed.update(value.name for value in made if value is not None)

    def leaf(self, op: str, *operands: Value | None, **attributes: object) -> Value:
        """Add a standard step with one result, at the model's opset."""
        result = self.value(op.lower())
        named: Mapping[str, Attribute] = {k: attribute(k, v) for k, v in attributes.items()}
        version = registry().version_at(op, self.shared.opset)
        info = Info(name=self.shared.node(f"{self.path}/{op.lower()}"), op=op, version=version)
        self.steps.append(Leaf("", op, version, operands, (result,), named, info=info))
        return result

    def build(
        self, results: Sequence[Value | None], name: str, types: Sequence[Type | None] = ()
    ) -> Block:
        """The finished block; `types` are the known types of its results.

        Measured: onnxruntime 1.31 crashes when it folds an If whose results have no types.
        """
        claims = [Declaration(value.declared if value is not None else None) for value in results]
        for index, type_ in enumerate(types):
            if claims[index].type is None:
                claims[index] = Declaration(_closed(type_))
        params, constants, steps = tuple(self.params), tuple(self.constants), tuple(self.steps)
        return Block(params, constants, steps, tuple(results), tuple(claims), name)


def _closed(type_: Type | None) -> Type | None:
    """The type without extents; None if its dtype is unknown."""
    match type_:
        case Tensor(DType(), _):
            return without_shapes(type_)
        case SequenceType(element) | Optional(element) if _closed(element) is not None:
            return without_shapes(type_)
    return None


def _in_memory(array: np.ndarray) -> External:
    location = "in memory"
    entries = (("location", location), ("offset", "0"), ("length", str(array.nbytes)))
    return External(location, entries)


def trusted(value: Value) -> Type | None:
    """The type to write for a value: only extents that inference determined as numbers.

    A body may declare a carried value's shape for the first iteration only; elements of a sequence
    may differ in shape.
    """
    type_ = value.type
    if isinstance(type_, Tensor):
        return Tensor(type_.dtype, _extents(value)) if type_.dtype else None
    return without_shapes(type_)


def without_shapes(type_: Type | None) -> Type | None:
    """The type without its shapes."""
    match type_:
        case Tensor(dtype, _):
            return Tensor(dtype, None)
        case SequenceType(element):
            return SequenceType(without_shapes(element))
        case Optional(element):
            return Optional(without_shapes(element))
    return type_


def _extents(value: Value) -> tuple[int | None, ...] | None:
    known = value.inferred
    if not isinstance(known, Tensor) or known.shape is None:
        return None
    return tuple(dim if isinstance(dim, int) else None for dim in known.shape)
