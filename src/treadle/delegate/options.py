"""What a session says to onnxruntime when it makes a region ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_SILENT = 4
_LEVELS = {"disabled": 0, "basic": 1, "extended": 2, "layout": 3, "all": 99}


@dataclass(frozen=True, slots=True)
class Options:
    """onnxruntime's SessionOptions by their own names; None: its default.

    `providers` are execution providers with their options, in the order of preference;
    `entries` go to `add_session_config_entry`.
    """

    intra_op_num_threads: int | None = None
    inter_op_num_threads: int | None = None
    graph_optimization_level: str | int = "all"
    is_parallel: bool = False
    enable_profiling: bool = False
    profile_file_prefix: str | None = None
    optimized_model_filepath: str | None = None
    enable_mem_pattern: bool | None = None
    enable_mem_reuse: bool | None = None
    enable_cpu_mem_arena: bool | None = None
    log_severity_level: int = _SILENT
    entries: Mapping[str, str] = field(default_factory=dict)
    providers: tuple[tuple[str, Mapping[str, Any]], ...] = (("CPUExecutionProvider", {}),)

    def session_options(self) -> Any:
        """A new SessionOptions of onnxruntime."""
        import onnxruntime

        made = onnxruntime.SessionOptions()
        for name in _PLAIN:
            value = getattr(self, name)
            if value is not None:
                setattr(made, name, value)
        level = self.graph_optimization_level
        made.graph_optimization_level = onnxruntime.GraphOptimizationLevel(
            _LEVELS[level] if isinstance(level, str) else level
        )
        if self.is_parallel:
            made.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        for key, value in self.entries.items():
            made.add_session_config_entry(key, value)
        return made


_PLAIN = (
    "intra_op_num_threads", "inter_op_num_threads", "enable_profiling", "profile_file_prefix",
    "optimized_model_filepath", "enable_mem_pattern", "enable_mem_reuse", "enable_cpu_mem_arena",
    "log_severity_level",
)  # fmt: skip
