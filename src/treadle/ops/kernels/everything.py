"""Every operator onnx.reference has an implementation of, for a start."""

from __future__ import annotations

import importlib

from treadle.ops.kernels.foreign import _TABLES, trust
from treadle.ops.schema import known_operators

_CONTROL = {"If", "Loop", "Scan", "SequenceMap"}

for _domain, _module in _TABLES.items():
    _table = importlib.import_module(_module)
    if _table._registered_operators is None:
        _table._registered_operators = _table._build_registered_operators()
    for _op, _versions in known_operators(_domain).items():
        if _op in _table._registered_operators and _op not in _CONTROL:
            trust(_op, *_versions, domain=_domain)
