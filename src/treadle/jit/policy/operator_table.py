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
}
"""Element types without native code in an operator that has it otherwise.

It becomes a host call.
"""
_HEAD = """# Operators in native code

What becomes of an operator inside a loop that is compiled, by the versions of its schema.

* **native**: it is part of the machine code. Where one of its operands says axes, that operand
  is known when the kernel is made, or the operator is called; shapes, bounds, steps, lengths,
  counts, pads and repetitions may be those of the run. A Squeeze without axes takes extents of the
  run for other than 1; where one is 1, the loop goes to another engine.
* **called**: the machine code calls its numpy kernel, each time for about 5 microseconds more than
  the kernel takes. What a native operator has no code for (training, axes that only the run
  tells) is called, too. Extents of its operands and results may be those of the run. Where numpy
  has no kernel (an operator of another domain, such as `com.microsoft`) or would compute much,
  onnxruntime's kernel of that one operator is called, if the session's `engines` name onnxruntime.
* **declined**: the loop goes to another engine, for the reason given.

Sequences are native tensors: of elements that are alike one with an axis more, of others their
elements one after the other, with where each ends and its shape. So is an optional that may be
empty: whether it has an element, and the element. What native code has no form for is held outside,
by number, and every operator of it is called: text and other element types, tensors whose rank only
the run tells. A loop may carry, slice and stack it all the same.

On Linux, loop nests that are expected to take 1.5 microseconds or more are shared by as many
threads as `intra_op_num_threads` says, 0 for all processors of the process; where a run finds that
this is not faster, it goes on alone. The results are the same bits. What is not shared: gathered
and scattered rows, running sums, grids that run by antidiagonals, loops that run part by part.

Element types in native code:
{dtypes}.
A native operator is native for each of them that its schema has. Called all the same:
{exceptions}.

float16 and bfloat16 are computed in float32 and rounded after every operator; in a Shrink or a
recurrent operator of float16, after every sum, product and function of its formulas. Functions of a
float32 are within 2 ULP over all their range, trigonometric and hyperbolic ones and powers within
0.6; of float64, those that have no form of their own are the C library's. Products and sums of
elements are rounded one by one, as interp does. Sums of a reduction or of a product of matrices may
be reordered, and so may a recurrence of single numbers that is linear, such as a moving average:
that is computed in float64, several iterations at once, and rounded where it leaves.

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
