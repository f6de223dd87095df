# page: docs/predicting.md
# needs: ray
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
END
pip install 'treadle[data]' 'ray[data]'
python - <<'END'
import numpy as np
import ray
import treadle

rows = [{"signal": np.ones(k % 5 + 1), "start": 0.0, "id": k} for k in range(1000)]
context = ray.data.DataContext.get_current()
context.execution_options.preserve_order = True  # rows come back in their order
mapped = ray.data.from_items(rows).map_batches(
    treadle.Predictor,
    fn_constructor_args=("sums.onnx", {"x": "signal"}),
    fn_constructor_kwargs={"options": treadle.SessionOptions(intra_op_num_threads=1)},
    compute=ray.data.ActorPoolStrategy(size=2),
    num_cpus=1,
    batch_format="pyarrow",
)
lasts = [row["last"] for row in mapped.iter_rows()]
assert lasts == [float(k % 5 + 1) for k in range(1000)]
END
