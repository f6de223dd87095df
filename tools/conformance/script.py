"""Writes a program to paste that shows the outputs of a runtime for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

_IMPORTS = {
    "onnxruntime": "import onnxruntime\n",
    "onnx.reference": "from onnx.reference import ReferenceEvaluator\n",
    "openvino": "import openvino\n",
}
_CALLS = {
    "onnxruntime": """session = onnxruntime.InferenceSession(
    model.SerializeToString(), providers=["CPUExecutionProvider"]
)


def run(feeds):
    return session.run(None, feeds)

""",
    "onnx.reference": """evaluator = ReferenceEvaluator(model)


def run(feeds):
    return evaluator.run(None, feeds)

""",
    "openvino": """onnx.save(model, "model.onnx")
compiled = openvino.compile_model("model.onnx", "CPU")


def run(feeds):
    return [compiled(feeds)[output] for output in compiled.outputs]

""",
}


def script(runtime: str, text: str, runs: Sequence[Mapping[str, object]]) -> str:
    """The program: the model as text, the call, and the inputs of one run or several."""
    lines = "".join(f"print(run({_feeds(feeds)}))\n" for feeds in runs)
    narrow = "import ml_dtypes\n" if "ml_dtypes" in lines else ""
    return (
        f"{narrow}import numpy as np\nimport onnx.parser\n{_IMPORTS[runtime]}\n"
        f'model = onnx.parser.parse_model("""{text}""")\n{_CALLS[runtime]}\n{lines}'
    )


def _feeds(feeds: Mapping[str, object]) -> str:
    return "{" + ", ".join(f'"{name}": {literal(value)}' for name, value in feeds.items()) + "}"


def literal(value: object) -> str:
    """A value as a Python expression with numpy."""
    if value is None:
        return "None"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    array = np.asarray(value)
    name = "object" if array.dtype == object else f"np.{array.dtype.name}"
    if array.dtype.isbuiltin != 1:
        name = f"ml_dtypes.{array.dtype.name}"
    if array.dtype == np.bool_:
        name = "bool"
    special = str(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    shape = f".reshape({list(array.shape)})" if array.size == 0 else ""
    return f"np.array({special}, {name}){shape}"
