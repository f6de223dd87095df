"""The exported form of a region: everything needed to make its session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treadle.delegate.export_scope import ExportModel
from treadle.delegate.workarounds.concat import Named, named_extents
from treadle.delegate.workarounds.optimizers import left_out
from treadle.formats.onnx import write_model
from treadle.ir import Model
from treadle.plan import Region


@dataclass(frozen=True, eq=False, slots=True)
class Exported:
    """A model for onnxruntime as bytes, with its metadata; it pickles.

    `inputs` and `outputs` are its names, `large` the initializers passed in memory.
    `disabled_optimizers` are those of onnxruntime that are left out. `has_exact_forms`: integer
    operators were replaced by exact forms; `has_guards`: the model fails on some operands.
    `named` are extents of inputs about which these must agree.
    """

    data: bytes
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    large: Mapping[str, np.ndarray]
    disabled_optimizers: frozenset[str]
    has_exact_forms: bool
    has_guards: bool
    named: Named

    @classmethod
    def of(cls, region: Region, written: Model, shared: ExportModel) -> Exported:
        """The exported form of a region and the model written for it."""
        inputs = tuple(value.name for value in written.main.params)
        return cls(
            write_model(written).SerializeToString(),
            inputs,
            tuple(value.name for value in written.main.results if value is not None),
            dict(shared.large),
            left_out(region),
            shared.has_exact_forms,
            shared.has_guards,
            named_extents(inputs, region.inputs) if shared.has_symbols else {},
        )
