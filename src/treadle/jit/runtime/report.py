"""The native engine's part of `explain`: a report for each signature of a region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from treadle.ir import Value, show_shape
from treadle.jit.kernel.ir import BOXED_DOMAIN, Constant, HostCall, Input, Node
from treadle.jit.kernel.traversal import all_nodes, makes_objects, word_of
from treadle.jit.runtime.ahead_of_time import show
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.runtime.specialize import Signature
from treadle.plan import CompilationReport

_GIVEN = (Input, Constant)


_WAYS = {
    "delay_lines": "delay lines: shift registers that are windows over their history",
    "growing": "carried arrays that grow at their end: only new items are written",
    "remade": "carried arrays whose shape changes: reallocated in each iteration",
    "unjoined": "concats elided: their operands are read piece by piece",
    "laid_out": "matrices packed for their products before the loop",
    "ahead": "matrix products batched over iterations",
    "register_tiled": "loops in register tiles: carried arrays stay in vector registers",
    "antidiagonals": "nested loops computed by antidiagonals (wavefront)",
    "stages": "stacked loops in a pipeline, each on a thread of its own",
    "vectorized": "loops vectorized: several iterations at once, in vector lanes",
    "linear": "linear recurrences by parallel prefix, several iterations at once",
}
"""The descriptions of the counts from code generation."""


def report_of(
    inputs: Sequence[Value], signature: Signature, made: CompiledKernel | str
) -> CompilationReport:
    """The report for this signature of these inputs: a kernel, or why there is none."""
    title = _title(inputs, signature)
    if isinstance(made, str):
        return CompilationReport(title, (f"declined: {made}",), {"declined": made}, lambda kind: "")
    data = _data(made)
    return CompilationReport(
        title, tuple(_facts(data)), data, partial(show, made.kernel, made.exact)
    )


def pending_report(inputs: Sequence[Value], signature: Signature) -> CompilationReport:
    """The report for a signature whose code is being compiled in the background."""
    fact = "being compiled in the background, while calls run on another engine"
    return CompilationReport(_title(inputs, signature), (fact,), {"pending": True}, lambda kind: "")


def _title(inputs: Sequence[Value], signature: Signature) -> str:
    shown = (
        f"{value.name} boxed"
        if dtype is None
        else f"{value.name} {dtype}{_shape(shape)}{' of these values' * bool(known)}"
        for value, (dtype, shape, *known) in zip(inputs, signature, strict=True)
    )
    return ", ".join(shown) or "no inputs"


def _shape(shape: Sequence[int]) -> str:
    return show_shape(tuple(None if extent < 0 else extent for extent in shape))


def _data(made: CompiledKernel) -> dict[str, object]:
    nodes = [n for n in all_nodes(made.kernel.main) if not isinstance(n.op, _GIVEN)]
    counts = dict(made.code.counts)
    return {
        "seconds": made.machine.seconds,
        "was_kept": made.machine.was_kept,
        "in_background": made.machine.in_background,
        "bytes": made.machine.size,
        "workspace": made.code.workspace,
        "nodes": len(nodes),
        "hoisted": _words(made.kernel.hoisted),
        "fused": counts.get("fused", 0),
        "nests": counts.get("nests", 0),
        "in_place": counts.get("in place", 0),
        "copied": counts.get("copied", 0),
        "taking_turns": counts.get("taking turns", 0),
        **{name: counts.get(name, 0) for name in _WAYS},
        "threads": made.threads,
        "shared": counts.get("shared", 0),
        "escapes": dict(Counter(
            f"{n.op.leaf.op}-{n.op.leaf.version}"
            for n in nodes
            if isinstance(n.op, HostCall) and n.op.leaf.domain != BOXED_DOMAIN
        )),
        "held": sum(map(makes_objects, nodes)),
        **({} if made.clocks is None else {"clocks": made.clocks}),
    }  # fmt: skip


def _words(nodes: Iterable[Node]) -> Mapping[str, int]:
    """The operations of nodes, counted."""
    return dict(Counter(map(word_of, nodes)).most_common())


def _facts(data: Mapping[str, object]) -> Iterable[str]:
    verb = "found again" if data["was_kept"] else "compiled"
    verb += " in the background" if data["in_background"] else ""
    milliseconds = float(str(data["seconds"])) * 1e3
    yield f"{verb} in {milliseconds:.1f} ms, {data['bytes']} bytes, {data['nodes']} operations"
    for word, name in (("hoisted out of loops", "hoisted"), ("called outside", "escapes")):
        found = data[name]
        assert isinstance(found, dict)
        if found:
            shown = (f"{what} {count}" for what, count in found.items())
            yield f"{word}: {', '.join(shown)}"
    if data["held"]:
        yield f"boxed, since they have no native form: the results of {data['held']} calls"
    if data["nests"]:
        yield f"fused: {data['fused']} operations on arrays in {data['nests']} loop nests"
    if data["in_place"] or data["copied"] or data["taking_turns"]:
        turns = f", {data['taking_turns']} in two memories that take turns"
        yield (
            f"carried arrays: {data['in_place']} changed in place, {data['copied']} copied"
            f"{turns if data['taking_turns'] else ''}"
        )
    yield from (f"{words}: {data[name]}" for name, words in _WAYS.items() if data[name])
    yield from _sharing(data)


def _sharing(data: Mapping[str, object]) -> Iterable[str]:
    if data["shared"]:
        yield f"threads: {data['threads']}, which share {data['shared']} loop nests"
    elif data["threads"] != 1:
        yield "threads: 1, as none of its loop nests is shared"
