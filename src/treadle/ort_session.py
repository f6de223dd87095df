"""The other methods of onnxruntime's session, for programs that move to treadle.

    providers     get_providers, get_provider_options, set_providers, *_fallback
    other runs    run_async, run_with_ort_values, run_with_ortvaluevector, io_binding
    memory        get_input_memory_infos, create_ortvalue_from_shape_and_type, ...

Missing methods are listed in `parity.py`, with reasons.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from treadle import formats, passes
from treadle.arguments import expect, items_of, mapping_of, shown
from treadle.boundary import public
from treadle.errors import InputError, InputTypeError, TreadleError
from treadle.feeds import NodeArg
from treadle.locks import ForkSafeLock
from treadle.machine import processor_count

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from treadle.delegate import Chosen
    from treadle.iobinding import IOBinding
    from treadle.ir import Model, Type
    from treadle.profiling import Profile

__all__ = ["ModelMetadata", "OrtSession", "choose", "given", "supplied", "write_optimized"]

_UNSAID_VERSION = 2**63 - 1
"""The version onnxruntime reports for a model that states none."""

Finished = Callable[[Sequence[Any], Any, str], object]
"""The callback of `run_async`: takes outputs, user data, and the error as text or ""."""


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """A model's metadata, under onnxruntime's names."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: Mapping[str, str]

    @classmethod
    def of(cls, model: Model) -> ModelMetadata:
        """The metadata of this model."""
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
    """Methods of onnxruntime's session that only call other public methods."""

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
        """The type of an output, if it is known."""

    @abstractmethod
    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
    ) -> None:
        """Replace the execution providers."""

    def get_providers(self) -> list[str]:
        """The execution providers passed to onnxruntime, of those it has."""
        return ["CPUExecutionProvider"] if self._chosen is None else self._chosen.names

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider, as onnxruntime reports them."""
        return {"CPUExecutionProvider": {}} if self._chosen is None else self._chosen.options

    def enable_fallback(self) -> None:
        """Fall back to the CPU, with a warning, if onnxruntime rejects the providers.

        This is the default. A run that fails in onnxruntime is repeated by treadle in either case.
        """
        self._may_fall_back = True

    def disable_fallback(self) -> None:
        """Raise ConfigurationError if onnxruntime rejects the providers."""
        self._may_fall_back = False

    @public
    def end_profiling(self) -> str:
        """End the profile and write it; returns the path of the file.

        Returns "" if SessionOptions.enable_profiling was not set, or the profile has ended before.
        The file is a Chrome trace: see `profiling.py` for its events.
        """
        if self._profile is None or self._profile.is_ended:
            return ""
        return self._profile.end()

    def get_profiling_start_time_ns(self) -> int:
        """The start of the profile in nanoseconds since 1970; 0 if there is none."""
        return 0 if self._profile is None else self._profile.start_ns

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Any]:
        """Run with OrtValues in and out; tensors in CPU memory are not copied."""
        from treadle import delegate

        fed = mapping_of(input_dict_ort_values, "the inputs", "a dict of OrtValues by input")
        for name, value in fed.items():
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
        """Run with onnxruntime's OrtValueVector; the outputs are appended to `fetches`.

        They are in CPU memory, whatever `fetch_devices` asks for.
        """
        from treadle import delegate

        fed, wanted = _names(feed_names, "feed_names"), _names(fetch_names, "fetch_names")
        values = list(items_of(feeds, "feeds", "an OrtValueVector or a list of values"))
        if len(values) != len(fed):
            raise InputError(f"there are {len(values)} feeds for {len(fed)} feed_names")
        if not callable(getattr(fetches, "push_back", None)):
            raise InputTypeError(f"fetches is {shown(fetches)}, wanted an OrtValueVector")
        made = self.run(wanted, dict(zip(fed, values, strict=True)), run_options)
        for name, value in zip(wanted, made, strict=True):
            fetches.push_back(delegate.to_own_ortvalue(value, self.output_type(name))._ortvalue)

    @public
    def io_binding(self) -> IOBinding:
        """A binding of inputs and outputs to memory, for `run_with_iobinding`."""
        from treadle.iobinding import IOBinding

        return IOBinding(self)

    @public
    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Run with bound inputs and outputs."""
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

        `error` is "", or the message of a failed run, without outputs. Exceptions of the callback
        go to `sys.unraisablehook`. At most `intra_op_num_threads` runs are active at once. Raises
        InputError immediately if an input is missing.
        """
        fed = mapping_of(input_feed, "input_feed", "a dict of values by input")
        absent = [
            argument.name
            for argument in self.get_inputs()
            if argument.name not in fed and not argument.type.startswith("optional")
        ]
        if absent:
            raise InputError(f"Required inputs ({absent}) are missing from input feed")
        run = partial(self.run, output_names, dict(fed), run_options)
        self._pool().submit(_finish, run, callback, user_data)

    def _pool(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        with _lock:
            if self._workers is None or self._workers[0] != os.getpid():
                count = getattr(self._options, "intra_op_num_threads", 0) or processor_count()
                self._workers = os.getpid(), ThreadPoolExecutor(count, "treadle run_async")
            return self._workers[1]

    def get_input_memory_infos(self) -> list[Any]:
        """The memory of each input: CPU memory."""
        return [_memory() for _ in self.get_inputs()]

    def get_output_memory_infos(self) -> list[Any]:
        """The memory of each output: CPU memory."""
        return [_memory() for _ in self.get_outputs()]

    def get_input_epdevices(self) -> list[Any]:
        """The device of each input: the CPU, as onnxruntime describes it."""
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
        """An uninitialised OrtValue of this shape, as OrtValue's method of that name makes it."""
        from treadle import delegate

        kind = delegate.of_onnxruntime("OrtValue")
        given = shape, element_type, device_type, device_id, vendor_id
        try:
            return kind.ortvalue_from_shape_and_type(*given)
        except Exception as error:  # noqa: BLE001  onnxruntime raises what its arguments raise
            raise InputError(f"no OrtValue has this shape, type and device: {error}") from None

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Release a captured graph: treadle captures none, so this does nothing."""
        return


def _names(names: Any, what: str) -> list[str]:
    found = list(items_of(names, what, "a list of names"))
    for name in found:
        expect(name, str, f"a name in {what}", "str")
    return found


_lock = ForkSafeLock()


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
    """Write the model optimized by `treadle.optimize`, for `optimized_model_filepath`."""
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
    """The providers of a session; None for the default, the CPU alone."""
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
    """The replacements in the options for parts of the model."""
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
