"""treadle as a backend of onnx: `onnx.backend.test.BackendTest(treadle.backend, __name__)`.

`prepare`, `run_model`, `run_node`, `supports_device` and `is_compatible` are at module level, as
the interface of onnx asks; they are those of `TreadleBackend`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from treadle import ops
from treadle.api import check
from treadle.boundary import public
from treadle.errors import InputError
from treadle.ir import Sequence as SequenceType
from treadle.ir import Tensor, Type
from treadle.session import InferenceSession

__all__ = [
    "TreadleBackend",
    "TreadleRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class TreadleRep(BackendRep):
    """A model prepared for repeated runs."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs = [value.name for value in session.get_inputs()]
        names = [value.name for value in session.get_outputs()]
        self._outputs = namedtupledict("Outputs", names)

    @public
    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """Run the model; `inputs` is a dict, or values in the graph's order.

        Returns the outputs, by position or by name. A single array stands for the only input.
        """
        outputs = self._session.run(None, self._named(inputs))
        return self._outputs(*outputs)

    def _named(self, inputs: Any) -> Mapping[str, object]:
        if isinstance(inputs, Mapping):
            return inputs
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if len(inputs) > len(self._inputs):
            wanted = ", ".join(self._inputs) or "none"
            raise InputError(f"{len(inputs)} inputs were given, the model takes {wanted}")
        return dict(zip(self._inputs, inputs, strict=False))


class TreadleBackend(Backend):
    """Onnx's backend interface over InferenceSession; `engines=` chooses the engines, as there."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is supported: only the CPU is."""
        return device.split(":")[0].upper() == "CPU"

    @classmethod
    @public
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **_: Any) -> bool:
        """Whether the device is supported and no finding of a check stops a session."""
        return cls.supports_device(device) and not any(found.blocks for found in check(model))

    @classmethod
    @public
    def prepare(
        cls,
        model: ModelProto,
        device: str = "CPU",
        *,
        engines: Sequence[str] | None = None,
        **_: Any,
    ) -> TreadleRep:
        """Prepare the model for runs; raises as InferenceSession does."""
        cls._wants(device)
        return TreadleRep(InferenceSession(model, engines=engines))

    @classmethod
    @public
    def run_model(
        cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """Run a model once and return its outputs."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    @public
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node and return its outputs; `outputs_info` is ignored.

        `inputs` are in the node's order, without those that are left out (""). `opset_version` is
        that of the node's domain, by default the newest.
        """
        opset_version = kwargs.pop("opset_version", None)
        names = list(dict.fromkeys(filter(None, node.input)))
        values = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        if len(names) != len(values):
            raise InputError(f"{len(values)} inputs were given, the node reads {', '.join(names)}")
        model = _model_of(node, dict(zip(names, values, strict=True)), opset_version)
        return cls.run_model(model, values, device, **kwargs)

    @classmethod
    def _wants(cls, device: str) -> None:
        if not cls.supports_device(device):
            raise InputError(f'no device "{device}": only "CPU" is there')


def _model_of(
    node: NodeProto, values: Mapping[str, object], opset_version: int | None
) -> ModelProto:
    domain = ops.canonical(node.domain)
    version = opset_version or ops.newest_opset(domain) or 1
    outputs = [ValueInfoProto(name=name) for name in node.output if name]
    inputs = [
        ValueInfoProto(name=name, type=ops.type_to_proto(_type_of(value)))
        for name, value in values.items()
    ]
    graph = helper.make_graph([node], "node", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)])


def _type_of(value: object) -> Type | None:
    """The type of a value; items of a sequence may differ in shape."""
    if not isinstance(value, list):
        return ops.type_of(np.asarray(value)) if value is not None else None
    element = _type_of(value[0]) if value else None
    return SequenceType(Tensor(element.dtype) if isinstance(element, Tensor) else element)


supports_device = TreadleBackend.supports_device
is_compatible = TreadleBackend.is_compatible
prepare = TreadleBackend.prepare
run_model = TreadleBackend.run_model
run_node = TreadleBackend.run_node
