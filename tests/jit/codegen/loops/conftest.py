"""What tests of loop strategies share."""

from __future__ import annotations

import pytest

from treadle.jit import codegen


@pytest.fixture
def grids(monkeypatch):
    """The grids found while kernels are emitted."""
    found = []
    emit = codegen.loop.emit_wavefront

    def emitted(context, grid, *rest):
        found.append(grid)
        emit(context, grid, *rest)

    monkeypatch.setattr(codegen.loop, "emit_wavefront", emitted)
    return found
