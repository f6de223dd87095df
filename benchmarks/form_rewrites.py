"""Forms that treadle's own rewrites make: a Loop as a Scan, an If as a Where."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

import treadle
from benchmarks.form_edits import Draft
from benchmarks.form_rules import form
from benchmarks.form_steps import FORMS
from treadle.errors import Unsupported
from treadle.formats.onnx import write_model

__all__ = ["FORMS"]


@form("Loop as Scan")
def loop_as_scan(draft: Draft) -> bool:
    """Loops of a known number of iterations as Scans; whole numbers that are fed are known."""
    whole = [n for n, each in draft.feed.items() if not each.shape and each.dtype == np.int64]
    kept = [info for info in draft.model.graph.input if info.name not in whole]
    del draft.model.graph.input[:]
    draft.model.graph.input.extend(kept)
    for name in whole:
        draft.model.graph.initializer.append(numpy_helper.from_array(draft.feed[name], name))
    return _rewritten(draft, "loop-to-scan")


@form("If as Where")
def if_as_where(draft: Draft) -> bool:
    """Branches that cannot fail are both taken, and a Where chooses."""
    return _rewritten(draft, "if-to-where")


def _rewritten(draft: Draft, name: str) -> bool:
    try:
        made, report = treadle.rewrite(draft.model, name, with_report=True)
    except Unsupported:
        return False
    draft.model = write_model(made)
    return bool(report.done)
