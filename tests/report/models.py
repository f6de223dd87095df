"""Text models for the tests of reports."""

from textwrap import dedent

from treadle import formats
from treadle.ir import Model


def model(text: str) -> Model:
    """The model of a text; fails with its findings."""
    loaded, findings = formats.read(dedent(text).strip() + "\n")
    assert loaded is not None, findings
    return loaded


def loop(
    trip: str = "n", condition: str = "", next_condition: str = "Identity (go)", before: str = ""
) -> Model:
    """A Loop that adds one to a carried value, stacks it, and is bounded as asked."""
    return model(
        f"""
        <ir_version: 10, opset_import: ["" : 21]>
        counted (int64 n, bool start, float[2] x) => (float[2] last, float[K,2] all)
        {{
          {before}
          last, all = Loop <body = add_one (int64 i, bool go, float[2] s) =>
            (bool on, float[2] t, float[2] out)
            {{
              one = Constant <value_float = 1.0> ()
              t = Add (s, one)
              out = Mul (t, x)
              limit = Constant <value_int = 5> ()
              on = {next_condition}
            }}> ({trip}, {condition}, x)
        }}
        """
    )


NESTED = """
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
nested (float[T,3] xs, bool up, float[3] bias) => (float[3] total, float[3,T] rows)
<float[3] bias = {1, 2, 3}>
{
  zero = local.zeros ()
  total, rows = Scan <num_scan_inputs = 1, scan_input_directions = [1],
    scan_output_axes = [1], scan_output_directions = [1], body = add
    (float[3] sum, float[3] x) => (float[3] next, float[3] row)
    {
      moved = If (up) <then_branch = plus () => (float[3] p)
        {
          p = Add (x, bias)
        }, else_branch = minus () => (float[3] m)
        {
          m1 = Sub (x, bias)
          m = Abs (m1)
        }>
      next = Add (sum, moved)
      row = Identity (next)
    }> (zero, xs)
}
<domain: "local", opset_import: ["" : 21]>
zeros () => (z)
{
  z = Constant <value_floats = [0.0, 0.0, 0.0]> ()
}
"""
