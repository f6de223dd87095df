"""Numbers of constants that a layer takes as integers."""

import numpy as np
import pytest

import treadle
from treadle.errors import LoadError

NET = """<?xml version="1.0"?>
<net name="n" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>
<output><port id="0" precision="FP32" names="x"><dim>2</dim></port></output></layer>
<layer id="1" name="s" type="Const" version="opset1">
<data element_type="f32" shape="1" offset="0" size="4"/>
<output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="2" name="y" type="{layer}" version="opset1"><data special_zero="true"/>
<input><port id="0" precision="FP32"><dim>2</dim></port>
<port id="1" precision="FP32"><dim>1</dim></port></input>
<output><port id="2" precision="FP32" names="y"><dim>2</dim></port></output></layer>
<layer id="3" name="r" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>2</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
</edges></net>"""


@pytest.mark.parametrize("layer", ["Reshape", "Unsqueeze", "Squeeze"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_no_integer_is_a_finding(tmp_path, layer, number):
    (tmp_path / "m.xml").write_text(NET.format(layer=layer))
    (tmp_path / "m.bin").write_bytes(np.float32(number).tobytes())

    with pytest.raises(LoadError, match="input 1 holds a number that is no integer"):
        treadle.load(tmp_path / "m.xml")


def test_a_float_that_is_an_integer_is_read(tmp_path):
    (tmp_path / "m.xml").write_text(NET.format(layer="Reshape"))
    (tmp_path / "m.bin").write_bytes(np.float32(2).tobytes())

    (y,) = treadle.InferenceSession(tmp_path / "m.xml").run(None, {"x": np.ones(2, np.float32)})

    assert y.tolist() == [1, 1]
