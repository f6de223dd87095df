"""The options of a session and of a run, with onnxruntime's fields and a few of ours.

A bad value raises InputTypeError when the field is set, not when it is used (`fields.py`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, Literal, get_args

import numpy as np

from treadle.adapters import LoraAdapter
from treadle.arguments import naming_fields
from treadle.boundary import public
from treadle.errors import ConfigurationError, InputTypeError
from treadle.limits import LoadLimits
from treadle.options.fields import (
    FILES,
    LIST,
    MAPPING,
    OPTIONAL_COUNT,
    OPTIONAL_NUMBER,
    OPTIONAL_PATH,
    PAIRS,
    PATH,
    TEXT,
    TEXTS,
    TRUTH,
    WHOLE,
    CheckedFields,
    Conversion,
    Named,
    add_entry,
    converted,
    dim_extent,
    look_up,
    member_of,
)
from treadle.parity import telling_missing
from treadle.plan import Limits

__all__ = [
    "COMPILE_MODES",
    "CompileMode",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "RunOptions",
    "SessionOptions",
]

OmittedCondition = Literal["stop", "ignore"]
CompileMode = Literal["first_run", "background", "eager"]
COMPILE_MODES: tuple[CompileMode, ...] = get_args(CompileMode)


class GraphOptimizationLevel(Named):
    """How far onnxruntime optimizes its models: its own names and numbers."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(Named):
    """Whether onnxruntime runs independent nodes in parallel: its own names and numbers."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(Named):
    """The order in which onnxruntime runs independent nodes: its own names."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def _condition(value: object) -> object:
    if not isinstance(value, str) or value not in ("stop", "ignore"):
        raise InputTypeError
    return value


def _compile_mode(value: object) -> object:
    if not isinstance(value, str) or value not in COMPILE_MODES:
        raise InputTypeError
    return value


def _limits(value: object) -> object:
    if value is not None and not isinstance(value, LoadLimits):
        raise InputTypeError
    return value


def _adapters(value: object) -> object:
    if not isinstance(value, list) or not all(isinstance(each, LoraAdapter) for each in value):
        raise InputTypeError
    return value


_SESSION: Mapping[str, Conversion] = {
    "intra_op_num_threads": WHOLE,
    "inter_op_num_threads": WHOLE,
    "graph_optimization_level": ("a GraphOptimizationLevel", member_of(GraphOptimizationLevel)),
    "execution_mode": ("an ExecutionMode", member_of(ExecutionMode)),
    "execution_order": ("an ExecutionOrder", member_of(ExecutionOrder)),
    "enable_cpu_mem_arena": TRUTH,
    "enable_mem_pattern": TRUTH,
    "enable_mem_reuse": TRUTH,
    "enable_profiling": TRUTH,
    "profile_file_prefix": PATH,
    "optimized_model_filepath": PATH,
    "log_severity_level": WHOLE,
    "log_verbosity_level": WHOLE,
    "logid": TEXT,
    "use_deterministic_compute": TRUTH,
    "use_per_session_threads": TRUTH,
    "omitted_condition": ('"stop" or "ignore"', _condition),
    "compile": ('"first_run", "background" or "eager"', _compile_mode),
    "load_limits": ("a treadle.LoadLimits, or None", _limits),
    "cache_dir": OPTIONAL_PATH,
    "is_cancelled": TRUTH,
    "providers": PAIRS,
    "config_entries": TEXTS,
    "custom_ops_libraries": LIST,
    "dims_by_name": MAPPING,
    "dims_by_denotation": MAPPING,
    "initializers": MAPPING,
    "external_initializers": MAPPING,
    "external_files": FILES,
}
_RUN: Mapping[str, Conversion] = {
    "terminate": TRUTH,
    "max_iterations": OPTIONAL_COUNT,
    "max_seconds": OPTIONAL_NUMBER,
    "max_bytes": OPTIONAL_COUNT,
    "log_severity_level": WHOLE,
    "log_verbosity_level": WHOLE,
    "logid": TEXT,
    "only_execute_path_to_fetches": TRUTH,
    "adapters": ("a list of LoraAdapter", _adapters),
}


@telling_missing
@naming_fields
@dataclass(slots=True, kw_only=True, repr=False)
class SessionOptions(CheckedFields):
    """Onnxruntime's SessionOptions, passed on to it, and some fields of treadle's own.

    `omitted_condition`: the behaviour of a Loop without a condition input when its body's condition
    turns false: "stop", as in every runtime, or "ignore", the literal reading of the table in the
    standard's text of Loop, "Operator inputs defined as (max_trip_count, ...)".

    `load_limits` limits the time and memory of loading; None: the defaults of LoadLimits.

    `intra_op_num_threads` applies to native code too: 0 means one thread per processor of the
    process, or as many as its cgroup's quota allows.

    `use_deterministic_compute`: the bits of a result depend on the model, the feeds, the options,
    the machine and the versions only, not on earlier runs or other threads. Every new set of shapes
    is then compiled. Without it the last bits of floats may differ from run to run, within the
    tolerances of docs/semantics.md.

    `compile` says when loops are compiled. "first_run": by the first call with a signature (dtypes
    and shapes), which waits for the code. "eager": also when the session is made, for the declared
    types, with undeclared extents open; what they do not determine is left to the first call.
    "background": by another process, while calls run on onnxruntime; a call waits for the code if
    onnxruntime cannot run the loop, or is expected to take longer than compiling. The last bits of
    floats may change when the code is ready, so `use_deterministic_compute` refuses this mode.
    `InferenceSession.warm_up` waits for the code.

    `cache_dir`: the folder in which prepared models (of files up to 16 MB) and their machine code
    are kept for other processes; "" disables it. The default is the environment variable
    TREADLE_CACHE_DIR, or the platform's cache folder. Whoever can write there can run code as this
    user, so a folder is used only where it, what is above it, and the files in it belong to this
    user or to root and nobody else may write them (a sticky /tmp may be above it); on Windows, in
    the user's profile. See SECURITY.md.
    """

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_profiling: bool = False
    profile_file_prefix: str = "onnxruntime_profile_"
    optimized_model_filepath: str = ""
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    use_deterministic_compute: bool = False
    use_per_session_threads: bool = True
    omitted_condition: OmittedCondition = "stop"
    compile: CompileMode = "first_run"
    cache_dir: str | None = None
    load_limits: LoadLimits | None = None
    config_entries: dict[str, str] = field(default_factory=dict)
    providers: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    dims_by_name: dict[str, int] = field(default_factory=dict)
    dims_by_denotation: dict[str, int] = field(default_factory=dict)
    initializers: dict[str, Any] = field(default_factory=dict)
    external_initializers: dict[str, Any] = field(default_factory=dict)
    external_files: dict[str, Any] = field(default_factory=dict)
    is_cancelled: bool = False
    custom_ops_libraries: list[str] = field(default_factory=list)

    @public
    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Register a library of custom operators made for onnxruntime; onnxruntime runs them.

        Raises InputError for a file that is not such a library.
        """
        from treadle import delegate

        library = str(converted("the library", path, PATH))
        delegate.Options(libraries=(library,)).session_options()
        self.custom_ops_libraries.append(library)

    @public
    def add_session_config_entry(self, key: str, value: str) -> None:
        """Set one of onnxruntime's configuration entries."""
        add_entry(self.config_entries, key, value)

    @public
    def get_session_config_entry(self, key: str) -> str:
        """Return one of the configuration entries; raises ConfigurationError if it was not set."""
        return look_up("SessionOptions", self.config_entries, key)

    @public
    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Fix the extent of every dim of this name: feeds must have it, and code may rely on it.

        A name that no dim has is ignored.
        """
        key = str(converted("the dim's name", name, TEXT))
        self.dims_by_name[key] = dim_extent(value)

    @public
    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """Fix the extent of every dynamic dim of an input with this denotation ("DATA_BATCH")."""
        key = str(converted("the denotation", denotation, TEXT))
        self.dims_by_denotation[key] = dim_extent(value)

    @public
    def add_initializer(self, name: str, value: Any) -> None:
        """Replace the data of the model's initializer of this name by an OrtValue or array.

        The memory is not copied: do not modify it while a session lives. A name that the model does
        not have is ignored; another dtype or shape is rejected when a session is made.
        """
        _add(self.initializers, name, value)

    @public
    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """Supply the data of initializers that the model stores in external files.

        Works as `add_initializer`, but names that the model does not have, or whose data are in the
        model, are rejected when a session is made.
        """
        if not isinstance(names, list) or not isinstance(values, list):
            raise InputTypeError("names and values are wanted as two lists")
        if len(names) != len(values):
            raise ConfigurationError(f"{len(names)} names are given for {len(values)} values")
        for name, value in zip(names, values, strict=True):
            _add(self.external_initializers, name, value)

    @public
    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]
    ) -> None:
        """Supply the bytes of the files that hold the model's external data.

        The first `lengths` bytes of each buffer are used. Nothing is copied: do not modify the
        buffers while a session lives.
        """
        if not len(names) == len(buffers) == len(lengths):
            raise ConfigurationError("as many names, buffers and lengths are wanted")
        for name, buffer, length in zip(names, buffers, lengths, strict=True):
            key = str(converted("the name of a file", name, TEXT))
            try:
                data = memoryview(buffer).cast("B")
            except TypeError:
                given = type(buffer).__name__
                raise InputTypeError(f'"{key}" is given as {given}, wanted bytes') from None
            if key in self.external_files:
                raise ConfigurationError(f'the file "{key}" was given before')
            self.external_files[key] = data[: index(length)]

    @public
    def add_provider(self, name: str, options: Mapping[str, str]) -> None:
        """Add an execution provider, for sessions without a `providers` argument."""
        key = str(converted("the provider", name, TEXT))
        if not isinstance(options, Mapping):
            raise InputTypeError(f"a {type(options).__name__} is given, wanted a dict of options")
        self.providers.append((key, {str(k): str(v) for k, v in options.items()}))

    def set_load_cancellation_flag(self, is_cancelled: bool) -> None:
        """Cancel the making of sessions with these options; may be called from any thread."""
        self.is_cancelled = is_cancelled

    def has_providers(self) -> bool:
        """Whether providers were added."""
        return bool(self.providers)

    @property
    def supplies(self) -> bool:
        """Whether a part of the model is to be replaced."""
        return bool(
            self.dims_by_name
            or self.dims_by_denotation
            or self.initializers
            or self.external_initializers
            or self.external_files
        )


def _add(known: dict[str, Any], name: object, value: Any) -> None:
    key = str(converted("the initializer's name", name, TEXT))
    if not isinstance(value, np.ndarray) and not hasattr(value, "_ortvalue"):
        given = type(value).__name__
        raise ConfigurationError(f'"{key}" is given as {given}, wanted an OrtValue or an array')
    if key in known:
        raise ConfigurationError(f'an initializer called "{key}" was given before')
    known[key] = value


@telling_missing
@naming_fields
@dataclass(slots=True, kw_only=True, repr=False)
class RunOptions(CheckedFields):
    """The options of one run: mainly its limits.

    `terminate`: set it, from any thread, and the run raises Terminated. `max_iterations` counts the
    iterations of all loops together, `max_seconds` is the time since the run began, `max_bytes` the
    memory that loops hold at one time for carried and stacked values, computed from the program and
    not from an engine's allocations; on interp it bounds each result too. Exceeding a limit raises
    LimitExceeded.
    """

    terminate: bool = False
    max_iterations: int | None = None
    max_seconds: float | None = None
    max_bytes: int | None = None
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
    config_entries: dict[str, str] = field(default_factory=dict)
    adapters: list[LoraAdapter] = field(default_factory=list)

    @public
    def add_active_adapter(self, adapter: LoraAdapter) -> None:
        """Also feed the parameters of an adapter; inputs fed by name take precedence."""
        if not hasattr(adapter, "parameters"):
            given = type(adapter).__name__
            raise InputTypeError(f"a {given} is given, wanted a treadle.LoraAdapter")
        self.adapters.append(adapter)

    @public
    def add_run_config_entry(self, key: str, value: str) -> None:
        """Set one of onnxruntime's configuration entries."""
        add_entry(self.config_entries, key, value)

    @public
    def get_run_config_entry(self, key: str) -> str:
        """Return one of the configuration entries; raises ConfigurationError if it was not set."""
        return look_up("RunOptions", self.config_entries, key)

    @property
    def limits(self) -> Limits:
        """The limits, as engines take them."""
        return Limits(self.max_iterations, self.max_seconds, self.max_bytes)


SessionOptions._fields = _SESSION
RunOptions._fields = _RUN
