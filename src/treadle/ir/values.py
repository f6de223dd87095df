"""Values, the tensors written in a file, and attributes.

Value     = (name, declared type?, inferred type?)      compared by identity, not by name
Literal   = (array | sparse, external?)                  a tensor written in the file
Constant  = (Value, Literal)                             an initializer of a block
Attribute = (name, kind, value | Reference)
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from math import prod

import numpy as np

from treadle.ir.types import DType, Type, dtype_of
from treadle.limits import spend

Metadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """One value of a block: a parameter, a constant, or the result of a step.

    `declared` is the type in the file, which nothing relies on; `inferred` is the type inference
    found. Values are compared by identity.
    """

    name: str
    declared: Type | None = None
    inferred: Type | None = None
    doc: str = ""
    metadata: Metadata = ()
    kept: bytes = b""

    @property
    def type(self) -> Type | None:
        """The best known type: the inferred type, else the declared one."""
        return self.inferred if self.inferred is not None else self.declared

    def __repr__(self) -> str:
        return f"Value({self.name!r})"


@dataclass(frozen=True, slots=True)
class External:
    """The location of an external tensor's bytes, as the file states it.

    `entries` are the file's key-value pairs verbatim; `location` is relative to `folder`.
    """

    location: str
    entries: Metadata = ()
    folder: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class SparseArray:
    """A sparse tensor: `values` [nnz], `indices` [nnz] (linear) or [nnz, rank], dense `shape`."""

    values: Literal
    indices: Literal
    shape: tuple[int, ...]

    def dense(self) -> np.ndarray:
        """The dense tensor, zeros included."""
        dtype = self.values.array.dtype
        spend(prod(self.shape) * dtype.itemsize, "a sparse tensor written out")
        array = np.zeros(self.shape, dtype)
        indices = self.indices.array
        where = indices if indices.ndim == 1 else np.ravel_multi_index(indices.T, self.shape)
        array.reshape(-1)[where] = self.values.array
        return array


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    """A tensor written in the file: `array` has its shape, element type `dtype`.

    An external tensor's array is memory-mapped and keeps its place in `external`.
    """

    array: np.ndarray
    dtype: DType
    name: str = ""
    external: External | None = None
    doc: str = ""
    metadata: Metadata = ()

    @classmethod
    def of(cls, array: np.ndarray, name: str = "") -> Literal:
        """The literal of an array whose numpy dtype has an ONNX element type."""
        dtype = dtype_of(array.dtype)
        assert dtype is not None, f"no ONNX element type for {array.dtype}"
        return cls(array, dtype, name)


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    """An initializer. One whose value is also a parameter of the block is that input's default.

    `listed`: the file lists it among the body's inputs as well (IR version 3), after the real ones.
    """

    value: Value
    data: Literal | SparseArray
    listed: bool = False

    @property
    def array(self) -> np.ndarray:
        """The dense array."""
        return self.data.array if isinstance(self.data, Literal) else self.data.dense()


class Kind(enum.Enum):
    """The kinds of attributes; graphs are `blocks` of their step, never attributes."""

    FLOAT = "float"
    INT = "int"
    STRING = "string"
    TENSOR = "tensor"
    SPARSE = "sparse_tensor"
    TYPE = "type"
    FLOATS = "floats"
    INTS = "ints"
    STRINGS = "strings"
    TENSORS = "tensors"
    SPARSES = "sparse_tensors"
    TYPES = "types"
    GRAPH = "graph"
    GRAPHS = "graphs"


@dataclass(frozen=True, slots=True)
class Reference:
    """The value of an attribute inside a function: the function's attribute parameter `name`."""

    name: str


Scalar = float | int | bytes | Literal | SparseArray | Type


@dataclass(frozen=True, eq=False, slots=True)
class Attribute:
    """A named attribute. Strings are bytes, lists are tuples, tensors are Literals."""

    name: str
    kind: Kind
    value: Scalar | tuple[Scalar, ...] | Reference | None
    doc: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Info:
    """The origin of a step, for saving and messages; no run, plan or rewrite depends on it.

    `op` and `version` are the operator in the file, `path` its place there, and `attributes` those
    of a control-flow operator as written (its graphs are blocks). `kept` holds the node's other
    fields, verbatim.
    """

    name: str = ""
    doc: str = ""
    metadata: Metadata = ()
    domain: str = ""
    op: str = ""
    version: int = 0
    overload: str = ""
    path: str = ""
    attributes: dict[str, Attribute] = field(default_factory=dict)
    kept: bytes = b""


def typed(value: Value, inferred: Type | None) -> Value:
    """Copy the value with an inferred type; the copy has a new identity."""
    return Value(value.name, value.declared, inferred, value.doc, value.metadata, value.kept)
