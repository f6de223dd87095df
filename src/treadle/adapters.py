"""LoRA adapters: inputs that a run takes from a file in onnxruntime's adapter format."""

from __future__ import annotations

import os
from typing import Any

from treadle.boundary import public
from treadle.errors import InputError

__all__ = ["LoraAdapter"]


class LoraAdapter:
    """The parameters of an adapter file, for `RunOptions.add_active_adapter`."""

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}

    @public
    def Load(self, path: str | os.PathLike[str]) -> None:  # noqa: N802  # onnxruntime's name
        """Read a file, as `AdapterFormat.export_adapter` writes it; raises InputError."""
        from treadle import delegate

        read = delegate.of_onnxruntime("AdapterFormat").read_adapter
        try:
            self.parameters = read(os.fspath(path)).get_parameters()
        except delegate.failures() as failure:
            raise InputError(f'"{os.fspath(path)}" is not an adapter: {failure}') from failure
