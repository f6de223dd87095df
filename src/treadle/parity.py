"""Names of onnxruntime's Python API that treadle lacks, each with the reason and an alternative.

A name that is not listed exists and behaves the same, or is in `DIFFERS`. The page
docs/onnxruntime-api.md is generated from these tables, and a test compares them with onnxruntime.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

__all__ = [
    "DIFFERS",
    "MISSING",
    "MODULE",
    "OPTIONS",
    "RUN",
    "SESSION",
    "SHARED",
    "missing",
    "telling_missing",
]

T = TypeVar("T")
MODULE, SESSION, OPTIONS, RUN = "onnxruntime", "InferenceSession", "SessionOptions", "RunOptions"

_TRAINING = "treadle runs models; train in the framework and export again"
_DEVICES = 'treadle takes providers by name: InferenceSession(model, providers=["..."])'
_COMPILED = (
    "treadle compiles when it runs and keeps the code in a cache of its own"
    " (SessionOptions.cache_dir); use onnxruntime.ModelCompiler for EPContext models"
)
_PACKAGES = (
    "use onnxruntime's own; treadle loads the file of a model in such a package:"
    " InferenceSession(path)"
)
_CONTEXT = "treadle reads no EPContext models; run those with onnxruntime.InferenceSession"
_TUNING = (
    "treadle does not tune the models it passes to onnxruntime; use onnxruntime.InferenceSession"
)

SHARED = frozenset(
    {
        "AdapterFormat", "OrtAllocatorType", "OrtArenaCfg", "OrtDevice", "OrtDeviceMemoryType",
        "OrtDeviceVendorId", "OrtEpDevice", "OrtExecutionProviderDevicePolicy",
        "OrtExternalInitializerInfo", "OrtHardwareDevice", "OrtHardwareDeviceType", "OrtMemType",
        "OrtMemoryInfo", "OrtMemoryInfoDeviceType", "OrtSparseFormat", "OrtSyncStream", "OrtValue",
        "SparseTensor", "capi", "copy_tensors", "create_and_register_allocator",
        "create_and_register_allocator_v2", "cuda_version", "disable_telemetry_events",
        "enable_telemetry_events", "get_all_providers", "get_build_info", "get_device",
        "get_ep_devices", "get_version_string", "has_collective_ops", "preload_dlls",
        "print_debug_info", "register_execution_provider_library", "set_default_logger_callback",
        "set_default_logger_verbosity", "unregister_execution_provider_library",
    }
)  # fmt: skip
"""Objects taken from onnxruntime itself, since a process can have them only once."""

MISSING: Mapping[str, Mapping[str, str]] = {
    MODULE: {
        "ModelCompiler": _COMPILED,
        "ModelPackage": _PACKAGES,
        "ModelPackageComponentContext": _PACKAGES,
        "ModelPackageContext": _PACKAGES,
        "ModelPackageOptions": _PACKAGES,
        "ModelPackageWriteMode": _PACKAGES,
        "OrtCompileApiFlags": _COMPILED,
        "OrtEpContextData": _CONTEXT,
        "OrtEpContextDataBuffer": _CONTEXT,
        "OrtEpAssignedNode": (
            "use session.plan and session.explain(), which tell the engine of each region"
        ),
        "OrtEpAssignedSubgraph": (
            "use session.plan and session.explain(), which tell the engine of each region"
        ),
        "SessionIOBinding": "it is internal to onnxruntime; use session.io_binding()",
        "contextlib": "it is Python's own module; import it from there",
        "import_capi_exception": (
            "it is internal to onnxruntime; importing treadle raises its errors"
        ),
        "onnxruntime_validation": "it is internal to onnxruntime; import it from there",
        "package_name": "use treadle.__version__; get_version_string() is onnxruntime's",
        "version": "use treadle.__version__; get_version_string() is onnxruntime's",
        "set_global_thread_pool_sizes": (
            "sessions have threads of their own; use SessionOptions.intra_op_num_threads"
        ),
        "training": _TRAINING,
        "experimental": _TRAINING,
        "ORTModule": _TRAINING,
    },
    SESSION: {
        "get_provider_graph_assignment_info": (
            "use session.plan and session.explain(), which tell the engine of each region"
        ),
        "get_tuning_results": _TUNING,
        "set_tuning_results": _TUNING,
        "set_ep_dynamic_options": (
            "the options of a provider are fixed; use set_providers to change them"
        ),
    },
    OPTIONS: {
        "add_provider_for_devices": _DEVICES,
        "set_provider_selection_policy": _DEVICES,
        "set_provider_selection_policy_delegate": _DEVICES,
        "set_ep_context_data_read_func": _CONTEXT,
        "clear_ep_context_data_read_func": _CONTEXT,
    },
    RUN: {},
}


def missing(owner: str, name: str) -> AttributeError:
    """The error for a missing name; for a name of onnxruntime it names the replacement."""
    why = MISSING[owner].get(name)
    kind = f"module 'treadle' has no attribute {name!r}"
    text = kind if owner == MODULE else f"{owner!r} object has no attribute {name!r}"
    return AttributeError(f"{text}: {why}" if why else text, name=name)


class _Missing:
    """Stands for a missing name: accessing it raises AttributeError with the reason.

    A `__getattr__` would do the same, but slow down every other attribute.
    """

    __slots__ = ("name", "owner")

    def __init__(self, owner: str, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise missing(self.owner, self.name)


def telling_missing(kind: type[T]) -> type[T]:
    """Decorate a class: accessing one of its missing names tells what to use instead."""
    for name in MISSING[kind.__name__]:
        setattr(kind, name, _Missing(kind.__name__, name))
    return kind


_ALONE = "kept, and without effect: sessions always have threads of their own"
_UNSAID = "kept, and without effect: the session's own option decides"

DIFFERS: Mapping[str, Mapping[str, str]] = {
    MODULE: {
        "InferenceSession": (
            "takes more: text, a ModelProto, an onnx_ir.Model, an onnxscript function, OpenVINO IR,"
            " the keywords `engines` and `listener`; an unknown keyword is an error, and so are "
            "providers that are not names, which onnxruntime reports and ignores"
        ),
        "get_ep_devices": "onnxruntime's own; a session takes providers by name alone",
        "register_execution_provider_library": (
            "onnxruntime's own; treadle does not choose among the devices a library brings"
        ),
        "set_default_logger_callback": (
            "onnxruntime's own; it hears of treadle's sessions only after"
            " `set_default_logger_severity` is called"
        ),
        "unregister_execution_provider_library": (
            "onnxruntime's own; treadle does not choose among the devices a library brings"
        ),
    },
    SESSION: {},
    OPTIONS: {
        "optimized_model_filepath": (
            "the file is the model as `treadle.optimize` writes it, in the standard's operators;"
            " configuration entries for it have no effect"
        ),
        "log_severity_level": (
            "-1, the default, writes warnings there, and nothing here until"
            " `set_default_logger_severity` is called"
        ),
        "use_per_session_threads": _ALONE,
    },
    RUN: {
        "log_severity_level": _UNSAID,
        "log_verbosity_level": _UNSAID,
        "logid": _UNSAID,
        "only_execute_path_to_fetches": "kept, and without effect: the whole model is run",
        "add_run_config_entry": "kept, and not passed on to onnxruntime",
    },
}
