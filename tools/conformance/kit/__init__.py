"""Runs every case of this package's folder on a runtime; needs numpy and onnx only.

    python -m conformance onnxruntime openvino            a table of verdicts, results in results/
    python -m conformance onnxruntime --only loop/collatz --opset 11
    python -m conformance --name mine --python my_module:prepare
    python -m conformance --name mine --command "my-runtime {model} {inputs} {outputs}"

`prepare(path)` loads a model and gives a function from inputs by name to the list of outputs. A
command finds input_*.pb in the folder {inputs} and leaves output_*.pb in the folder {outputs}.
"""
