"""Replaces a Scan by a Loop that gathers item i of each sliced input.

    scan(x of X): ... x ...     ->     loop(i) x length(X): ... Gather(X, i) ...

Declines if a state may change its shape: a Scan then fails, and a Loop does not.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.infer import infer
from treadle.ir import Loop, Model, Step, ports, walk
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Change, Report
from treadle.passes.rewrites.finished import finished, without_functions
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.paths import chosen, mark, marked_path
from treadle.passes.simplify.captures import closure_convert, to_implicit_captures
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.names import with_own_names
from treadle.passes.simplify.speculation import keeps_kind
from treadle.passes.to_onnx_loops import mixed_refusal, with_onnx_loops

NAME = "scan-to-loop"


def scan_to_loop(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Replace Scans by Loops."""
    told = Obstacles(NAME)
    plain = without_functions(model, told, _is_scan)
    told.refuse()
    marked = infer(replace(plain, main=mark(plain.main)))
    scans = [v.step for v in walk(marked) if isinstance(v.step, Loop) and _is_scan(v.step)]
    paths = chosen([marked_path(scan) for scan in scans], options.paths, "Scan")
    at = PassContext.of(marked)
    meant = [scan for scan in scans if marked_path(scan) in paths]
    for scan in meant:
        _refuse(scan, at, told)
    told.refuse()
    if not meant:
        return model, Report()
    done = tuple(Change(NAME, marked_path(scan), "a Loop") for scan in meant)
    written = with_onnx_loops(marked, lambda loop: _is_scan(loop) and marked_path(loop) in paths)
    # steps of nested loops may have received the same name
    named = closure_convert(with_own_names(to_implicit_captures(written.main)))
    current = replace(written, main=named)
    return finished(current, PassContext.of(current)), Report(done)


def _is_scan(step: Step) -> bool:
    return isinstance(step, Loop) and bool(ports(step).sliced)


def _refuse(scan: Loop, at: PassContext, told: Obstacles) -> None:
    path, why = marked_path(scan), mixed_refusal(scan)
    if why:
        told.add(path, why, "specialize the extents it depends on")
    for port in ports(scan).carried:
        if scan.fixed_state and not keeps_kind(scan, port, at):
            what = f"the shape of the state {port.param.name} may change, which only a Scan forbids"
            told.add(path, what, "specialize the extents it depends on")
