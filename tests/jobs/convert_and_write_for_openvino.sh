# page: docs/openvino.md
treadle demo --save models
treadle convert models/lstm.onnx -o model.xml
treadle run model.xml --input models/lstm.npz
treadle convert model.xml -o model.onnx
