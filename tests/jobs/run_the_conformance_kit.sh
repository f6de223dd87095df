# page: docs/conformance.md
python -m tools.conformance write conformance-kit
cd conformance-kit
pip install numpy onnx onnxruntime
python -m conformance onnxruntime --only loop/collatz
