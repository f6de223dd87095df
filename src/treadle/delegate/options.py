"""The settings that a session passes to onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import Any

from treadle.delegate.ort_errors import translating_errors
from treadle.errors import InputError
from treadle.machine import processor_count, quota

Providers = tuple[tuple[str, Mapping[str, Any]], ...]

CPU: Providers = (("CPUExecutionProvider", {}),)
_SILENT = 4
_NUMBERS = count()
_UNCHOSEN = (None, -1, 2)
_default_severity = [_SILENT]
_LEVELS = {"disabled": 0, "basic": 1, "extended": 2, "layout": 3, "all": 99}


@dataclass(frozen=True, slots=True)
class Options:
    """The fields of onnxruntime's SessionOptions under their own names; None: the default.

    `providers` are execution providers with their options, in the order of preference;
    `entries` go to `add_session_config_entry`, `libraries` to `register_custom_ops_library`.
    `profiles` is the folder into which sessions write their profiles, "" for none.
    """

    intra_op_num_threads: int | None = None
    inter_op_num_threads: int | None = None
    graph_optimization_level: str | int | None = None
    is_parallel: bool = False
    enable_mem_pattern: bool | None = None
    enable_mem_reuse: bool | None = None
    enable_cpu_mem_arena: bool | None = None
    use_deterministic_compute: bool | None = None
    log_severity_level: int = _SILENT
    log_verbosity_level: int | None = None
    logid: str | None = None
    execution_order: int | None = None
    entries: Mapping[str, str] = field(default_factory=dict)
    providers: Providers = CPU
    libraries: tuple[str, ...] = ()
    profiles: str = ""

    @classmethod
    def of(
        cls,
        source: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
    ) -> Options:
        """Read a SessionOptions, treadle's or onnxruntime's own, and a list of providers.

        onnxruntime's own does not expose its configuration entries, nor whether its default
        severity was chosen on purpose: both are ignored.
        """
        given: dict[str, Any] = {name: getattr(source, name, None) for name in _PLAIN}
        if given["log_severity_level"] in _UNCHOSEN:
            given["log_severity_level"] = _default_severity[0]
        level = getattr(source, "graph_optimization_level", None)
        return cls(
            **given,
            graph_optimization_level=level
            if level is None or isinstance(level, str)
            else int(level),
            execution_order=_order(getattr(source, "execution_order", None)),
            is_parallel=_is_parallel(getattr(source, "execution_mode", None)),
            entries=dict(getattr(source, "config_entries", {})),
            providers=_providers(providers, provider_options),
            libraries=tuple(getattr(source, "custom_ops_libraries", ())),
        )

    def session_options(self, defaults: Mapping[str, str] = MappingProxyType({})) -> Any:
        """Make a SessionOptions of onnxruntime; `defaults` are entries unless others are set."""
        import onnxruntime

        made = onnxruntime.SessionOptions()
        for name in _PLAIN:
            value = getattr(self, name)
            if value is not None:
                setattr(made, name, value)
        if not self.intra_op_num_threads and quota() is not None:
            made.intra_op_num_threads = processor_count()  # onnxruntime ignores cgroup quotas
        if self.profiles:
            made.enable_profiling = True
            made.profile_file_prefix = os.path.join(self.profiles, f"session_{next(_NUMBERS)}")
        level = self.graph_optimization_level
        if level is not None:
            number = _LEVELS[level] if isinstance(level, str) else level
            made.graph_optimization_level = onnxruntime.GraphOptimizationLevel(number)
        if self.execution_order is not None:
            made.execution_order = onnxruntime.ExecutionOrder(self.execution_order)
        if self.is_parallel:
            made.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        for key, value in {**defaults, **self.entries}.items():
            made.add_session_config_entry(key, value)
        for library in self.libraries:
            translating_errors(partial(made.register_custom_ops_library, library), InputError)
        return made


def set_severity(severity: int) -> None:
    """Set onnxruntime's log severity for messages outside of sessions and for default sessions."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(severity)
    _default_severity[0] = int(severity)


def available_providers() -> list[str]:
    """The execution providers of this onnxruntime build."""
    import onnxruntime

    return list(onnxruntime.get_available_providers())


def _order(order: Any) -> int | None:
    return None if order is None else int(order)


def _is_parallel(mode: object) -> bool:
    return str(mode).rpartition(".")[2].lower() in ("parallel", "ort_parallel")


def _providers(
    named: Sequence[Any] | None, options: Sequence[Mapping[Any, Any]] | None
) -> Providers:
    if not named:
        return CPU
    settings = options or [{}] * len(named)
    pairs = [n if isinstance(n, tuple) else (n, s) for n, s in zip(named, settings, strict=True)]
    return tuple((name, dict(setting)) for name, setting in pairs)


_PLAIN = (
    "intra_op_num_threads", "inter_op_num_threads", "enable_mem_pattern", "enable_mem_reuse",
    "enable_cpu_mem_arena", "log_severity_level", "log_verbosity_level", "logid",
    "use_deterministic_compute",
)  # fmt: skip
