# page: docs/predicting.md
# needs: pyarrow
python - <<'END'
import numpy as np
import treadle

model = """<ir_version: 8, opset_import: ["" : 17]>
main (float[N, T] x, float[N] start) => (float[N, T] y, float[N] last) {
    time = Transpose(x)
    last, ys = Scan <num_scan_inputs = 1, body = step (float[N] sum, float[N] item)
        => (float[N] next, float[N] out) { next = Add(sum, item)  out = Identity(next) }>(start, time)
    y = Transpose(ys)
}"""
treadle.save(treadle.load(model), "sums.onnx")
import pyarrow
import pyarrow.parquet

table = pyarrow.table({"signal": [[1.0, 2.0], [3.0]], "start": [0.0, 0.0]})
pyarrow.parquet.write_table(table, "data.parquet")
END
pip install 'treadle[data]'
treadle map sums.onnx --input data.parquet --columns x=signal --output out.parquet --workers 2
