"""What onnxruntime's session has besides `run`: the methods a program moves over with.

    providers     get_providers, get_provider_options, set_providers, *_fallback
    other runs    run_async, run_with_ort_values, run_with_ortvaluevector, io_binding
    memory        get_input_memory_infos, create_ortvalue_from_shape_and_type, ...

What it has not, and why, is in `parity.py`.
"""

from __future__ import annotations

import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from treadle import formats, passes
from treadle.boundary import public
from treadle.errors import InputError, InputTypeError, TreadleError
from treadle.feeds import NodeArg
from treadle.processors import processor_count

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from treadle.delegate import Chosen
    from treadle.iobinding import IOBinding
    from treadle.ir import Model, Type
    from treadle.profiling import Profile

__all__ = ["ModelMetadata", "OrtSession", "choose", "given", "supplied", "write_optimized"]

_UNSAID_VERSION = 2**63 - 1
"""The version onnxruntime tells of a model that does not say it."""

Finished = Callable[[Sequence[Any], Any, str], object]
"""What `run_async` calls: the outputs, what its caller wants back, the error as words or ""."""


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """What a model says of itself, under onnxruntime's names."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: Mapping[str, str]

    @classmethod
    def of(cls, model: Model) -> ModelMetadata:
        """What this model says."""
        return cls(
            model.producer,
            model.main.name,
            model.domain,
            model.doc,
            model.main.doc,
            _UNSAID_VERSION if model.version is None else model.version,
            dict(model.metadata),
        )


class OrtSession(ABC):
    """The methods of onnxruntime's session that are made of others."""

    _options: Any
    _chosen: Chosen | None = None
    _may_fall_back = True
    _profile: Profile | None = None
    _workers: tuple[int, ThreadPoolExecutor] | None = None

    @abstractmethod
    def run(
        self, output_names: Sequence[str] | None, input_feed: Any, run_options: Any = None
    ) -> list[Any]:
        """Run the model."""

    @abstractmethod
    def get_inputs(self) -> list[NodeArg]:
        """The inputs that must be fed."""

    @abstractmethod
    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""

    @abstractmethod
    def output_type(self, name: str) -> Type | None:
        """The type of an output, where it is known."""

    @abstractmethod
    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
    ) -> None:
        """Have other execution providers."""

    def get_providers(self) -> list[str]:
        """The execution providers onnxruntime is given, those alone that it has."""
        return ["CPUExecutionProvider"] if self._chosen is None else self._chosen.names

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider, as onnxruntime tells them."""
        return {"CPUExecutionProvider": {}} if self._chosen is None else self._chosen.options

    def enable_fallback(self) -> None:
        """Go on with the processor where onnxruntime does not take the providers, with a warning.

        The default. What fails in a run is done again by treadle itself, with or without it.
        """
        self._may_fall_back = True

    def disable_fallback(self) -> None:
        """Raise ConfigurationError where onnxruntime does not take the providers."""
        self._may_fall_back = False

    @public
    def end_profiling(self) -> str:
        """Write what the session did to its profile and end it; the path of the file.

        "" where SessionOptions.enable_profiling was not set, or the profile has ended before. A
        trace of Chrome: see `profiling.py` for what its events say.
        """
        if self._profile is None or self._profile.is_ended:
            return ""
        return self._profile.end()

    def get_profiling_start_time_ns(self) -> int:
        """When the profile began, in nanoseconds since 1970; 0 where there is none."""
        return 0 if self._profile is None else self._profile.start_ns

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Any]:
        """As `run`, with OrtValues in and out; tensors on the processor are not copied."""
        from treadle import delegate

        for name, value in input_dict_ort_values.items():
            if not delegate.is_ortvalue(value):
                given = type(value).__name__
                raise InputTypeError(f'input "{name}" is a {given}, wanted an OrtValue')
        made = self.run(output_names, dict(input_dict_ort_values), run_options)
        names = output_names or [output.name for output in self.get_outputs()]
        return [
            delegate.to_ortvalue(value, self.output_type(name))
            for name, value in zip(names, made, strict=True)
        ]

    @public
    def run_with_ortvaluevector(
        self,
        run_options: Any,
        feed_names: Sequence[str],
        feeds: Sequence[Any],
        fetch_names: Sequence[str],
        fetches: Any,
        fetch_devices: Sequence[Any],
    ) -> None:
        """As `run`, with onnxruntime's OrtValueVector; the outputs are put at the end of `fetches`.

        They lie in the processor's memory, whatever `fetch_devices` say.
        """
        from treadle import delegate

        made = self.run(fetch_names, dict(zip(feed_names, feeds, strict=True)), run_options)
        for name, value in zip(fetch_names, made, strict=True):
            fetches.push_back(delegate.to_ortvalue(value, self.output_type(name))._ortvalue)

    @public
    def io_binding(self) -> IOBinding:
        """A binding of inputs and outputs to memory, for `run_with_iobinding`."""
        from treadle.iobinding import IOBinding

        return IOBinding(self)

    @public
    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Run with what is bound: outputs are written where they are bound to."""
        if getattr(iobinding, "session", None) is not self:
            raise InputError("an IOBinding of this session is wanted: session.io_binding()")
        iobinding.run(run_options)

    @public
    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Finished,
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Run in a thread of the session's own, and call `callback(outputs, user_data, error)`.

        `error` is "", or what went wrong, with no outputs. What the callback raises is written to
        `sys.unraisablehook`. As many runs go at once as `intra_op_num_threads` says. Raises
        InputError at once where an input is missing.
        """
        absent = [
            argument.name
            for argument in self.get_inputs()
            if argument.name not in input_feed and not argument.type.startswith("optional")
        ]
        if absent:
            raise InputError(f"Required inputs ({absent}) are missing from input feed")
        run = partial(self.run, output_names, dict(input_feed), run_options)
        self._pool().submit(_finish, run, callback, user_data)

    def _pool(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        with _lock:
            if self._workers is None or self._workers[0] != os.getpid():
                count = getattr(self._options, "intra_op_num_threads", 0) or processor_count()
                self._workers = os.getpid(), ThreadPoolExecutor(count, "treadle run_async")
            return self._workers[1]

    def get_input_memory_infos(self) -> list[Any]:
        """Where each input is read: in the processor's memory."""
        return [_memory() for _ in self.get_inputs()]

    def get_output_memory_infos(self) -> list[Any]:
        """Where each output lies: in the processor's memory."""
        return [_memory() for _ in self.get_outputs()]

    def get_input_epdevices(self) -> list[Any]:
        """The device that takes each input: the processor, as onnxruntime describes it."""
        from treadle import delegate

        return [delegate.processor() for _ in self.get_inputs()]

    @public
    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: Any,
        device_type: str,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> Any:
        """An OrtValue of this shape with anything in it, as OrtValue's own method of the name."""
        from treadle import delegate

        kind = delegate.of_onnxruntime("OrtValue")
        return kind.ortvalue_from_shape_and_type(
            shape, element_type, device_type, device_id, vendor_id
        )

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Let go of a graph captured on a device: treadle captures none, so nothing happens."""
        return


_lock = threading.Lock()


def _finish(run: Callable[[], Sequence[Any]], callback: Finished, user_data: Any) -> None:
    outputs: Sequence[Any] = []
    error = ""
    try:
        outputs = run()
    except TreadleError as fault:
        error = str(fault) or type(fault).__name__
    try:
        callback(outputs, user_data, error)
    except BaseException as fault:  # noqa: BLE001  # foreign code, and nobody above to raise to
        sys.unraisablehook(
            SimpleNamespace(
                exc_type=type(fault),
                exc_value=fault,
                exc_traceback=fault.__traceback__,
                err_msg="Exception ignored in the callback of run_async",
                object=callback,
            )
        )


def _memory() -> Any:
    from treadle import delegate

    return delegate.processor_memory()


def write_optimized(model: Model, path: str) -> None:
    """Write the model as `treadle.optimize` gives it: what `optimized_model_filepath` asks for."""
    cleaned, _ = passes.simplify(model)
    formats.onnx.save(passes.repair(cleaned, passes.FOR_RUNTIMES)[0], Path(path))


def choose(
    options: Any,
    engines: Sequence[str],
    providers: Sequence[Any] | None,
    provider_options: Sequence[Mapping[Any, Any]] | None,
    *,
    may_fall_back: bool,
) -> Chosen | None:
    """The providers of a session; None for the processor alone, by default."""
    added = getattr(options, "providers", ())
    if providers is None and provider_options is None and not added:
        return None
    from treadle import delegate

    chosen = delegate.choose(providers, provider_options, added, may_fall_back=may_fall_back)
    return chosen if "onnxruntime" in engines else None


def given(chosen: Chosen | None) -> tuple[Any, None]:
    """The providers as an engine takes them."""
    return (None, None) if chosen is None else (chosen.providers, None)


def supplied(options: Any) -> formats.onnx.Supplied | None:
    """What the options put in the place of what the model says."""
    if not getattr(options, "supplies", False):
        return None
    return formats.onnx.Supplied(
        options.dims_by_name,
        options.dims_by_denotation,
        {name: _array(value) for name, value in options.initializers.items()},
        {name: _array(value) for name, value in options.external_initializers.items()},
        options.external_files,
    )


def _array(value: Any) -> Any:
    if not hasattr(value, "_ortvalue"):
        return value
    from treadle import delegate

    return delegate.from_ortvalue(value, None)
