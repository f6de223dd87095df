"""The program: closed blocks of steps.

    Model    = (main: Block, functions: {FunctionId: Function}, opset imports, metadata)
    Function = (id, attribute parameters and defaults, opset imports, Block)
    Block    = (params, constants, steps, results)         closed: no free names
    Step     = Leaf   (domain, op, version, attributes, operands, results, blocks, captures)
             | Call   (function, attributes, operands, results, blocks, captures)
             | Branch (condition, then, else, operands, results)
             | Loop   (trip?, condition?, roles, operands, body, stacks, results)   see ir/roles.py

Everything a block reads is a parameter of it, a constant of it, or the result of an earlier step of
it. A value that a body captures is an operand of its step and a parameter of the body, which keeps
the outer value's name. Any operand or result may be None: ONNX's "", absent.

Data are frozen; a rewrite builds new ones. Values are compared by identity, so a value belongs to
one block only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from treadle.ir.roles import Role, Stacked
from treadle.ir.shown import Shown
from treadle.ir.types import Type
from treadle.ir.values import Attribute, Constant, Info, Metadata, Value

Operands = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declared type of a block's result; like every declaration, it is not trusted."""

    type: Type | None = None
    doc: str = ""
    metadata: Metadata = ()
    kept: bytes = b""


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Steps in order, from params to results; closed.

    A result may be a parameter, a constant, or listed twice. `claims` are the declarations at the
    results, one each, or () when there are none. `kept` holds, verbatim, parts of the file that the
    IR cannot express; only the format that stored them reads them.
    """

    params: tuple[Value, ...] = ()
    constants: tuple[Constant, ...] = ()
    steps: tuple[Step, ...] = ()
    results: Operands = ()
    claims: tuple[Declaration, ...] = ()
    name: str = ""
    doc: str = ""
    metadata: Metadata = ()
    kept: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Leaf:
    """One operator without control flow: evaluated as a whole.

    An unknown operator that carries graphs has them as `blocks`, by attribute name ("branches[0]"
    for the first of a list). Every block's last `len(captures)` params are the captured values.
    """

    domain: str
    op: str
    version: int
    operands: Operands
    results: Operands
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    blocks: Mapping[str, Block] = field(default_factory=dict)
    captures: Operands = ()
    info: Info = field(default_factory=Info)


class FunctionId(NamedTuple):
    """The identity of a function; `overload` is "" for most."""

    domain: str
    name: str
    overload: str = ""

    def __str__(self) -> str:
        return "::".join(part for part in self if part)


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """A call of a model-local function, or of one the standard's schema defines.

    `version` is the schema's version, 0 for a model-local function. Scan-8 and SequenceMap are
    calls too; their bodies are `blocks`, closed as a Leaf's are.
    """

    function: FunctionId
    operands: Operands
    results: Operands
    version: int = 0
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    blocks: Mapping[str, Block] = field(default_factory=dict)
    captures: Operands = ()
    info: Info = field(default_factory=Info)


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """Runs one of two blocks; both take the same params, one per operand.

        results = (then if condition else otherwise)(*operands)

    `condition` holds exactly one element, of any rank (docs/semantics.md).
    """

    condition: Value
    then: Block
    otherwise: Block
    operands: Operands
    results: Operands
    info: Info = field(default_factory=Info)


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """Runs its body repeatedly: ONNX Loop, ONNX Scan, OpenVINO Loop and TensorIterator.

    `roles` classify the parameters of the body, in order; `operands` are the initial values of the
    Carried, the sources of the Sliced and the Invariants: one for every role but Iteration and
    Condition, in the same order. The body's results are the next condition (None: true), then one
    per Carried, then one per `stacks`; the loop's results are one per Carried, then one per stack.

        i, go = 0, condition is None or condition
        while go and i < trip:            # no trip: the length of the sliced, else endless
            go, *carried, *elements = body(i, go, *invariants, *carried, *(s[i] for s in sliced))
            stacked.append(elements); i += 1

    A negative trip means no iteration. `fixed_state`: every carried value keeps its shape, as in
    ONNX's Scan; else only its kind and dtype, as in ONNX's Loop. `ir.loop.ports` gives the views by
    role.
    """

    trip: Value | None
    condition: Value | None
    roles: tuple[Role, ...]
    operands: Operands
    body: Block
    stacks: tuple[Stacked, ...]
    results: Operands
    info: Info = field(default_factory=Info)
    fixed_state: bool = False


Step = Leaf | Call | Branch | Loop


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A model-local function: its block is closed over its params and attribute parameters."""

    id: FunctionId
    block: Block
    attributes: tuple[str, ...] = ()
    defaults: Mapping[str, Attribute] = field(default_factory=dict)
    opsets: Mapping[str, int] = field(default_factory=dict)
    doc: str = ""
    metadata: Metadata = ()
    kept: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Model(Shown):
    """A whole program, and the metadata of its file."""

    main: Block
    functions: Mapping[FunctionId, Function] = field(default_factory=dict)
    opsets: Mapping[str, int] = field(default_factory=dict)
    ir_version: int = 10
    producer: str = ""
    producer_version: str = ""
    domain: str = ""
    version: int | None = None
    doc: str = ""
    metadata: Metadata = ()
    kept: Mapping[str, bytes] = field(default_factory=dict)
