"""The options of a session and of a run, with onnxruntime's fields and a few of ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Literal

from treadle.plan import Limits

__all__ = ["ExecutionMode", "GraphOptimizationLevel", "RunOptions", "SessionOptions"]

OmittedCondition = Literal["stop", "ignore"]


class GraphOptimizationLevel(IntEnum):
    """How far onnxruntime optimizes what it is given: its own names and numbers."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(Enum):
    """Whether onnxruntime runs independent nodes at once: its own names and numbers."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


@dataclass(slots=True, kw_only=True)
class SessionOptions:
    """What onnxruntime's SessionOptions holds, handed on to it, and two fields of our own.

    `omitted_condition`: what a Loop whose condition input is left out does when its body's
    condition turns false. "stop", as every runtime does, or "ignore", the literal reading of the
    table in the standard's text of Loop, "Operator inputs defined as (max_trip_count, ...)".

    `intra_op_num_threads` holds for native code too: 0 for as many as the process has processors.

    `cache_dir`: the folder where the native engine keeps machine code for other processes; "" for
    none. Without, the environment variable TREADLE_CACHE_DIR says it, or the platform's custom.
    """

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0
    graph_optimization_level: object = None
    execution_mode: object = None
    execution_order: object = None
    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_profiling: bool = False
    profile_file_prefix: str = "onnxruntime_profile_"
    optimized_model_filepath: str = ""
    log_severity_level: int = 4
    log_verbosity_level: int = 0
    logid: str = ""
    use_deterministic_compute: bool = False
    use_per_session_threads: bool = True
    omitted_condition: OmittedCondition = "stop"
    cache_dir: str | None = None
    config_entries: dict[str, str] = field(default_factory=dict)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Set one of onnxruntime's configuration entries."""
        self.config_entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """Return one of onnxruntime's configuration entries; KeyError where it was not set."""
        return self.config_entries[key]


@dataclass(slots=True, kw_only=True)
class RunOptions:
    """What may stop one run.

    `terminate`: set it, from any thread, and the run raises Terminated. `max_iterations` counts the
    iterations of all loops together, `max_seconds` is the time since the run began, `max_bytes`
    what the loops that run at one time hold for carried and stacked values: as the program has
    them, whatever an engine keeps. Going over one raises LimitExceeded.
    """

    terminate: bool = False
    max_iterations: int | None = None
    max_seconds: float | None = None
    max_bytes: int | None = None
    log_severity_level: int = 4
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
    config_entries: dict[str, str] = field(default_factory=dict)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Set one of onnxruntime's configuration entries."""
        self.config_entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """Return one of onnxruntime's configuration entries; KeyError where it was not set."""
        return self.config_entries[key]

    @property
    def limits(self) -> Limits:
        """The bounds, as engines take them."""
        return Limits(self.max_iterations, self.max_seconds, self.max_bytes)
