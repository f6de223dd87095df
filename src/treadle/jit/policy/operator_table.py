"""docs/native.md: the support of every operator and version in a compiled loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.lowering import lowering
from treadle.ops import Schema

DOMAINS = {"": "ai.onnx", "ai.onnx.ml": "ai.onnx.ml"}
_CONTROL = ("If", "Loop", "Scan")
CALLED_TYPES: Mapping[str, Sequence[DType]] = {
    "BitCast": (DType.BOOL, DType.FLOAT16, DType.BFLOAT16),
    "DFT": (DType.FLOAT16, DType.BFLOAT16),
}
"""Element types without native code in an operator that has it otherwise.

It becomes a host call.
"""
_HEAD = """# Operators in native code

How the native engine runs each operator inside a compiled loop, by versions of its schema.

* **native**: it is part of the machine code. An operand that gives axes must be a constant of the
  kernel; otherwise the operator is a host call. Shapes, bounds, steps, lengths, counts, pads and
  repetitions may be computed in the run. A Squeeze without axes assumes that an extent which is
  unknown before the run is not 1; if it is 1, the loop falls back to another engine.
* **called**: the machine code makes a host call to the operator's numpy kernel, which costs about
  5 microseconds more than the kernel itself. So do forms of a native operator without native code
  (training mode, axes not known before the run). Extents of its operands and results may depend
  on the run. If numpy has no kernel (an operator of another domain, such as `com.microsoft`) or
  the operator computes much, onnxruntime's kernel of that one operator is called instead, provided
  that the session's `engines` include onnxruntime.
* **declined**: the loop is run by another engine, for the reason given.

Sequences are native tensors. If all elements have one shape, the sequence is a tensor with one more
axis; otherwise it is a buffer of the elements, with the offset and shape of each. An optional that
may be empty is a flag and an element. Values without a native form (text, other element types,
tensors of a rank that is not known before the run) stay on the host and have a handle in native
code; all operators on them are host calls. A loop may still carry, slice and stack them.

On Linux, loop nests that are expected to take 1.5 microseconds or more are divided among
`intra_op_num_threads` threads (0: all processors of the process); if a run finds that this is not
faster, it continues on one thread. The results have the same bits. Gathered and scattered rows,
running sums, wavefront grids and loops that are run in parts are not divided.

Element types in native code:
{dtypes}.
A native operator is native for each of them that its schema has. Host calls nevertheless:
{exceptions}.

float16 and bfloat16 are computed in float32 and rounded after every operator; in a Shrink or a
recurrent operator of float16, after every sum, product and function of its formulas. Functions of a
float32 are within 2 ULP over their whole range, sine and cosine within 1.6, the other trigonometric
functions, hyperbolic ones and powers within 0.6; sine and cosine of a float64 are within 1.
Functions of a float64 without code of their own are those of the C library. Products and sums of
elements are rounded one by one, as in `interp`. Sums of a reduction or of a product of matrices
may be reordered, and products be added to them without being rounded first. A linear recurrence of
single numbers, such as a moving average, may be reordered too: it is computed in float64, several
iterations at once, and its results are rounded.

`pytest tests/jit/policy/test_operator_table.py --update-golden` writes this page.
"""


@dataclass(frozen=True)
class OperatorRow:
    """One operator: its versions by kind of support, and the reasons of declined ones."""

    op: str
    native: list[int] = field(default_factory=list)
    called: list[int] = field(default_factory=list)
    declined: dict[str, list[int]] = field(default_factory=dict)


def operators_page() -> str:
    """The page."""
    dtypes = ", ".join(dtype.value for dtype in DType if dtype in NATIVE)
    exceptions = "; ".join(
        f"{op} from or to {', '.join(dtype.value for dtype in called)}"
        for op, called in CALLED_TYPES.items()
    )
    parts = [_HEAD.format(dtypes=dtypes, exceptions=exceptions)]
    for domain, name in DOMAINS.items():
        rows = [_row(domain, op, versions) for op, versions in ops.known_operators(domain).items()]
        parts.append(f"## {name}\n\n{_summary(rows)}\n\n" + "\n".join(_table(rows)) + "\n")
    return "\n".join(parts)


def _summary(rows: list[OperatorRow]) -> str:
    newest = [_newest(row) for row in rows]
    words = [f"{newest.count(word)} {word}" for word in ("native", "called", "declined")]
    return f"{len(rows)} operators; of their newest versions {', '.join(words)}."


def _newest(row: OperatorRow) -> str:
    declined = [version for versions in row.declined.values() for version in versions]
    found = {"native": row.native, "called": row.called, "declined": declined}
    return max(found, key=lambda word: max(found[word], default=0))


def _row(domain: str, op: str, versions: tuple[int, ...]) -> OperatorRow:
    row = OperatorRow(op)
    for version in versions:
        schema = ops.schema(domain, op, version)
        if schema is None or schema.deprecated:
            continue
        if lowering(domain, op, version) is not None or op in _CONTROL:
            row.native.append(version)
            continue
        why = _refusal(schema)
        if why:
            row.declined.setdefault(why, []).append(version)
        else:
            row.called.append(version)
    return row


def _refusal(schema: Schema) -> str:
    """Why the operator cannot be a host call; "" if it can."""
    if ops.kernel(schema.domain, schema.name, schema.version) is not None:
        return ""
    return "stands for its body" if schema.is_function else "it has no kernel"


def _table(rows: list[OperatorRow]) -> Iterator[str]:
    yield "| operator | native | called | declined |"
    yield "|---|---|---|---|"
    for row in rows:
        reasons = "; ".join(f"{_list(v)}: {why}" for why, v in row.declined.items())
        if row.native or row.called or reasons:
            yield f"| {row.op} | {_list(row.native)} | {_list(row.called)} | {reasons} |"


def _list(versions: list[int]) -> str:
    return ", ".join(map(str, versions))
