"""Models that the tests of `build` compile."""

GROW = """
<ir_version: 10, opset_import: ["" : 21]>
grow (int64 limit, float[4] start) => (float[K,4] rows, float[4] last)
{
  always = Constant <value = bool {1}> ()
  last, rows = Loop <body = step
    (int64 i, bool go, float[4] x) => (bool go_on, float[4] y, float[4] row)
    {
      half = Constant <value = float[4] {0.5, 0.25, 0.125, 0.0625}> ()
      most = Constant <value = float {900.0}> ()
      more = Exp (half)
      y = Add (x, more)
      row = Identity (y)
      sum = ReduceSum <keepdims = 0> (y)
      go_on = Less (sum, most)
    }> (limit, always, start)
}
"""
"""A while loop: only the run tells how many rows there are."""

SCAN = """
<ir_version: 10, opset_import: ["" : 21]>
totals (float[T,3] x, float[3] first) => (float[3] last, float[T,3] sums)
{
  last, sums = Scan <num_scan_inputs = 1, body = step
    (float[3] before, float[3] item) => (float[3] after, float[3] out)
    { after = Add (before, item)  out = Tanh (after) }> (first, x)
}
"""
"""A Scan, of any length."""

FOREVER = """
<ir_version: 10, opset_import: ["" : 21]>
forever (int64 n, float x) => (float y)
{
  always = Constant <value = bool {1}> ()
  y = Loop <body = step (int64 i, bool go, float a) => (bool go_on, float b)
    { c = Sin (a)  b = Cos (c)  go_on = Identity (go) }> (n, always, x)
}
"""
"""It runs as long as it is told."""

PICK = """
<ir_version: 10, opset_import: ["" : 21]>
pick (float[5] table, int64[N] index) => (float total)
{
  zero = Constant <value = float {0.0}> ()
  total = Scan <num_scan_inputs = 1, body = step
    (float before, int64 k) => (float after)
    { item = Gather (table, k)  after = Add (before, item) }> (zero, index)
}
"""
"""Indices come from data."""

BESIDE = """
<ir_version: 10, opset_import: ["" : 21]>
beside (float[1,1,4,4] image, int64 n) => (float[1,1,8,8] larger, seq(float[2]) made)
{
  none = SequenceEmpty <dtype = 1> ()
  sizes = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()
  larger = Resize <mode = "cubic"> (image, , sizes)
  two = Constant <value = float[2] {1.0, 2.0}> ()
  made = Loop <body = step (int64 i, bool go, seq(float[2]) so_far) => (bool on, seq(float[2]) next)
    { on = Identity (go)  next = SequenceInsert (so_far, two) }> (n, , none)
}
"""
"""What cannot leave Python, for several reasons."""

BATCH = """
<ir_version: 10, opset_import: ["" : 21]>
batch (float[T,B,4] x, float[B,4] first) => (float[B,4] last)
{
  last = Scan <num_scan_inputs = 1, body = step
    (float[B,4] before, float[B,4] item) => (float[B,4] after)
    { sum = Add (before, item)  after = Sigmoid (sum) }> (first, x)
}
"""
"""A batch of any size."""

WIDE = """
<ir_version: 10, opset_import: ["" : 21]>
wide (float[T,192,192] x, float[192,192] first) => (float[192,192] last)
{
  last = Scan <num_scan_inputs = 1, body = step
    (float[192,192] before, float[192,192] item) => (float[192,192] after)
    { product = MatMul (before, item)  after = Tanh (product) }> (first, x)
}
"""
"""Its products are worth several threads."""
