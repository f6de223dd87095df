"""A single operator as a callable object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol, TextIO, get_args, runtime_checkable

from treadle import ops
from treadle.arguments import expect, expect_listener, expect_opset
from treadle.boundary import public
from treadle.coercion import coerce_inputs, expect_attribute, fitted_attributes, type_of
from treadle.errors import InputTypeError, InvalidModel, Unsupported, did_you_mean, nearest
from treadle.formats import onnx as onnx_format
from treadle.infer import infer as infer_types
from treadle.ir import Model, Type, with_operands
from treadle.limits import LoadLimits, within
from treadle.options import SessionOptions
from treadle.session import InferenceSession
from treadle.tracing import Verbose

__all__ = ["Operator"]

_KEPT_SESSIONS = 64


@runtime_checkable
class _Stream(Protocol):
    def write(self, text: str, /) -> object: ...


class Operator:
    """One operator, or one model-local function, as a callable.

        softmax = treadle.operator("Softmax", opset=13, axis=0)
        y = softmax(x)
        z = softmax(x, axis=1)          # an attribute overridden at the call

    Values are given in the order of `inputs`, or by name; an optional one may be None or left out.
    One output is returned as a value, several as a tuple. `verbose=True` prints the steps inside,
    each iteration of a loop nested, to `verbose=stream` or `log=function` if given.
    """

    @public
    def __init__(
        self,
        source: object,
        opset: int | None = None,
        domain: str = "",
        *,
        limits: LoadLimits | None = None,
        **attributes: Any,
    ) -> None:
        expect(domain, str, "domain", "a str")
        expect_opset(opset, ops.newest_opset(domain), domain)
        newest = {known: ops.newest_opset(known) for known in ("", "ai.onnx.ml")}
        self._is_named = isinstance(source, str)
        self._wider: dict[int, Operator] = {}
        self._opsets = newest | {domain: opset or ops.newest_opset(domain) or 1}
        if isinstance(source, str):
            self._proto, attributes = self._named(source, domain, attributes, 1), {}
        else:
            self._proto = onnx_format.proto_of(source)
        self._opsets |= onnx_format.opsets_of(self._proto)
        self.function = onnx_format.function_id(self._proto)
        self._opsets.setdefault(self.function.domain, opset or 1)
        if opset is not None:
            expect_opset(opset, ops.newest_opset(self.function.domain), self.function.domain)
            self._opsets[self.function.domain] = opset
        self._given = self._fitted(attributes)
        self._limits = limits
        self._model = self._read({})
        self._sessions: dict[object, InferenceSession] = {}

    def _named(self, op: str, domain: str, attributes: Mapping[str, Any], variadic: int) -> Any:
        version = ops.since_version(domain, op, self._opsets[domain])
        if version is None:
            close = nearest(op, ops.known_operators(domain))
            hint = f", did you mean {close}?" if close else ""
            why = f"opset {self._opsets[domain]} has no such operator{hint}"
            raise Unsupported(op, None, why)
        schema = ops.schema(domain, op, version)
        assert schema is not None
        given = fitted_attributes(attributes, schema.attributes, f"{op}-{version}")
        return onnx_format.named(op, domain, version, given, variadic)

    def _fitted(self, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        """The attributes, given here or at a call, in the kinds of the operator or function."""
        domain, name, _ = self.function
        parameters = onnx_format.parameters_of(self._proto)
        if parameters is not None:
            for each in attributes:
                expect_attribute(each, parameters, str(self.function))
            return attributes
        version = ops.since_version(domain, name, self._opsets[domain])
        schema = ops.schema(domain, name, version) if version is not None else None
        if schema is None:
            return attributes
        return fitted_attributes(attributes, schema.attributes, f"{self.function}-{version}")

    def _read(self, overridden: Mapping[str, Any]) -> Model:
        attributes = {**self._given, **overridden}
        with within(self._limits):
            model, findings = onnx_format.read_alone(self._proto, self._opsets, attributes)
        blocking = [found for found in findings if found.blocks]
        if blocking:
            raise InvalidModel(f"the operator {self.function} cannot be run:", blocking)
        return model

    @property
    def version(self) -> int:
        """The schema version in force: the opset that introduced it; 0 for a function."""
        return self._model.main.steps[0].info.version

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs; outer values that its graphs read come last."""
        return tuple(value.name for value in self._model.main.params)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(value.name for value in self._model.main.results if value is not None)

    @property
    def mandatory(self) -> tuple[str, ...]:
        """The inputs that must be given."""
        return tuple(name for name in self.inputs if name not in self.optional)

    @property
    def optional(self) -> tuple[str, ...]:
        """The inputs that may be left out, by the operator's schema."""
        formals = self._formals()
        return tuple(name for name in formals if formals[name].option == "optional")

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes that are set, as plain Python values, without graphs."""
        step = self._model.main.steps[0]
        return ops.attributes_of(step.info.attributes)

    @property
    def attributes_with_defaults(self) -> dict[str, Any]:
        """The attributes that are set, and the defaults of the others."""
        function = self.function
        if function in self._model.functions:
            defaults = ops.attributes_of(self._model.functions[function].defaults)
        else:
            defaults = ops.defaults_of(function.domain, function.name, self.version)
        return {**defaults, **self.attributes}

    @property
    def doc(self) -> str:
        """The documentation of the operator's schema, or of the function."""
        schema = self._schema
        return schema.doc if schema is not None else self._model.functions[self.function].doc

    @property
    def _schema(self) -> ops.Schema | None:
        if self.function in self._model.functions:
            return None
        return ops.schema(self.function.domain, self.function.name, self.version)

    @public
    def infer_types(self, *types: Type | None, **by_name: Type | None) -> dict[str, Type | None]:
        """Infer the types of the outputs from the types of the inputs."""
        self._expect_fitting(types, by_name)
        for type_ in (*types, *by_name.values()):
            expect(type_, (*get_args(Type), type(None)), "a type", "a type of treadle.ir, or None")
        given = dict(zip(self.inputs, types, strict=False)) | by_name
        typed = infer_types(_with_types(self._model, given))
        values = [value for value in typed.main.results if value is not None]
        return dict(zip(self.outputs, (value.type for value in values), strict=True))

    @public
    def _expect_fitting(self, types: Collection[object], by_name: Collection[str]) -> None:
        if len(types) > len(self.inputs):
            raise InputTypeError(
                f"{self.function} takes {len(self.inputs)} inputs, {len(types)} types given"
            )
        for name in by_name:
            if name not in self.inputs:
                hint = did_you_mean(name, self.inputs)
                raise InputTypeError(f'{self.function} has no input "{name}", {hint}')

    def __call__(
        self,
        *values: Any,
        verbose: bool | TextIO = False,
        log: Callable[[str], object] | None = None,
        **named: Any,
    ) -> Any:
        """Evaluate the operator; keywords that are not inputs override attributes."""
        if len(values) > len(self.inputs):
            return self._widened(len(values))(*values, verbose=verbose, log=log, **named)
        feeds = dict(zip(self.inputs, values, strict=False))
        twice = [name for name in named if name in feeds]
        if twice:
            raise InputTypeError(f'{self.function} is given the input "{twice[0]}" twice')
        attributes = self._fitted({n: v for n, v in named.items() if n not in self.inputs})
        feeds |= {name: v for name, v in named.items() if name in self.inputs}
        feeds = coerce_inputs({n: v for n, v in feeds.items() if v is not None}, self._formals())
        missing = [name for name in self.mandatory if name not in feeds]
        if missing:
            raise InputTypeError(f"{self.function} wants the inputs {', '.join(missing)} too")
        session = self._session(feeds, attributes)
        expect(verbose, (bool, _Stream), "verbose", "True, False or a stream to write to")
        expect_listener(log, "log")
        listener = None
        if verbose or log is not None:
            stream = sys.stdout if isinstance(verbose, bool) else verbose
            listener = Verbose(stream=stream, log=log)
        results = session.run(None, feeds, listener=listener)
        return results[0] if len(results) == 1 else tuple(results)

    def _session(self, feeds: Mapping[str, Any], attributes: Mapping[str, Any]) -> InferenceSession:
        types = {name: type_of(value) for name, value in feeds.items()}
        if attributes:
            return _session(_with_types(self._read(attributes), types), self._limits)
        key = tuple(sorted((name, str(type_)) for name, type_ in types.items()))
        if key not in self._sessions:
            if len(self._sessions) >= _KEPT_SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[key] = _session(_with_types(self._model, types), self._limits)
        return self._sessions[key]

    def _formals(self) -> dict[str, ops.Formal]:
        """The schema's entry for each of its own inputs."""
        schema = self._schema
        if schema is None:
            return {}
        names = onnx_format.input_names(self._proto)
        last = schema.inputs[-1:]
        formals = (*schema.inputs, *last * (len(names) - len(schema.inputs)))
        return {name: formal for name, formal in zip(names, formals, strict=False) if name}

    def _widened(self, count: int) -> Operator:
        """The operator with more inputs in its variadic position, if it has one."""
        schema = self._schema
        is_variadic = schema is not None and schema.inputs[-1].option == "variadic"
        if not is_variadic or not self._is_named:
            raise InputTypeError(f"{self.function} takes {len(self.inputs)} inputs, {count} given")
        if count not in self._wider:
            function, opset = self.function, self._opsets[self.function.domain]
            limits = self._limits
            wider = Operator(
                function.name, opset, function.domain, limits=limits, **self.attributes
            )
            variadic = count - len(wider.inputs) + 1
            proto = self._named(function.name, function.domain, self.attributes, variadic)
            self._wider[count] = Operator(proto, opset, function.domain, limits=limits)
        return self._wider[count]

    def __repr__(self) -> str:
        return f"<operator {self.function}-{self.version}({', '.join(self.inputs)})>"


def _session(model: Model, limits: LoadLimits | None) -> InferenceSession:
    options = SessionOptions(load_limits=limits)
    return InferenceSession(model, options, engines=("interp",))


def _with_types(model: Model, types: Mapping[str, Type | None]) -> Model:
    # params get the given types; one without a type is an absent operand of the step
    read = {
        param: replace(param, declared=types[param.name]) if param.name in types else None
        for param in model.main.params
    }
    (step,) = model.main.steps
    params = tuple(param for param in read.values() if param is not None)
    block = replace(model.main, params=params, steps=(with_operands(step, read),))
    return replace(model, main=block)
