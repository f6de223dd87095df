"""The layers that make_operators.py runs in OpenVINO, by family. All files need openvino."""
