# page: docs/engines.md
treadle demo --save models
treadle explain models/lstm.onnx --random --dim T=100 --dim B=1
treadle optimize models/prefixes.onnx -o better.onnx
treadle check models/prefixes.onnx
