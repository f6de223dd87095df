# page: docs/deploying.md
treadle demo --save models
treadle warm models/decoder.onnx --input models/decoder.npz --cache cache
treadle cache list --cache cache
