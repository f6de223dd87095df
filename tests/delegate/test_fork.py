"""onnxruntime sessions that a forked process inherits."""

import subprocess
import sys
import textwrap

SCRIPT = """
import gc, os, time, numpy, onnx.parser, onnxruntime, treadle, treadle.delegate.cancellation
gc.disable()
TEXT = '<ir_version: 8, opset_import: ["": 17]> g (float[9000] x) => (float[9000] y) { y = Exp(x) }'
model = onnx.parser.parse_model(TEXT)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 2
inherited = [onnxruntime.InferenceSession(model.SerializeToString(), options)]
inherited.append(inherited)
inherited[0].run(None, {"x": numpy.zeros(9000, numpy.float32)})
time.sleep(0.5)  # its threads sleep by then
del inherited
child = os.fork()
if child == 0:
    gc.collect()
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


def test_a_forked_process_does_not_wait_for_its_parents_threads():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
