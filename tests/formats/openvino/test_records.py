"""The .xml: written files can be read back, and invalid ones are refused with the line."""

# ruff: noqa: E501 - tables, a row a line

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.formats.openvino.fixtures import DATA, NAMES
from treadle.formats import openvino, read
from treadle.formats.openvino.converters import split_names
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.printing import join_names
from treadle.formats.openvino.records import Element

NET = '<?xml version="1.0"?>\n<net name="n" version="11">\n{}\n</net>'
RELU = """<layer id="{0}" name="r{0}" type="ReLU" version="opset1">
<input><port id="0"/></input><output><port id="1" precision="FP32"/></output></layer>"""


@pytest.mark.parametrize("name", NAMES)
def test_the_xml_round_trips(name: str) -> None:
    net = openvino.parse((DATA / f"{name}.xml").read_bytes())
    assert openvino.parse(openvino.print_net(net).encode()) == net


def test_names_and_texts_survive_all_characters() -> None:
    names = ("a,b", "<&>\"'", "tab\there", "ünï")
    assert split_names(join_names(names)) == names
    text = NET.format(
        '<layers><layer id="0" name="a&quot;&lt;&amp;&#10;b" type="X" version="opset1"/></layers>'
        '<rt_info><a b="c"><d>some text</d></a></rt_info>'
    )
    net = openvino.parse(text.encode())
    assert net.body.layers[0].name == 'a"<&\nb'
    assert net.body.extras[0].children[0].children == (Element("d", {}, (), "some text"),)
    assert openvino.parse(openvino.print_net(net).encode()) == net


def _finding(tmp_path: Path, text: str) -> str:
    path = tmp_path / "m.xml"
    path.write_text(text)
    model, findings = read(path)
    assert model is None
    return str(findings[0])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("no xml at all", "CF901 error m.xml:1"),
        ("", "CF901 error m.xml:1"),
        ("<graph/>", "the first element is <graph>, not <net>"),
        ("<net version='11'><layers>\n</net>", "CF901 error m.xml:2"),
        ("<net version='9'/>", "CF902 error m.xml:1: the file has IR version 9"),
        ("\n<net version='12'/>", "CF902 error m.xml:2: the file has IR version 12"),
        ("<net/>", "IR version unknown"),
        (NET.format("<layers><layer name='a' type='b'/></layers>"), "m.xml:3: <layer> has no attribute id"),
        (NET.format("<layers><layer id='x' name='a' type='b'/></layers>"), 'id of <layer> is "x"'),
        (NET.format(f"<layers><layer id='{'9' * 50}' name='a' type='b'/></layers>"), "wanted a whole number"),
        ('<!DOCTYPE net [<!ENTITY a "b">]><net version="11"/>', "CF904 error m.xml:1"),
        (NET.format("&a;"), "CF901 error m.xml:3"),
        ("<net version='11'>" + "<a>" * 600, "CF903 error m.xml:1: elements are nested more than 500"),
        (f"<net version='11' name='{'x' * (2 << 20)}'/>", "name is longer than"),
        (NET.format(f"<layers>{RELU.format(0)}{RELU.format(0)}</layers>"), "CF906 error m.xml:4: two layers have the id 0"),
        (NET.format(f"<layers>{RELU.format(0)}</layers>"), "nothing feeds input port 0"),
        (
            NET.format(
                f"<layers>{RELU.format(0)}</layers>\n<edges>\n"
                "<edge from-layer='7' from-port='0' to-layer='0' to-port='0'/></edges>"
            ),
            "m.xml:6: an edge names output port 0 of layer 7",
        ),
    ],
)  # fmt: skip
def test_an_error_of_the_xml_has_its_line(text: str, wanted: str, tmp_path: Path) -> None:
    assert wanted in _finding(tmp_path, text)


def test_layers_that_read_each_other_are_a_cycle(tmp_path: Path) -> None:
    end = '<layer id="2" name="e" type="Result" version="opset1"><input><port id="0"/></input></layer>'
    edges = "".join(
        f"<edge from-layer='{a}' from-port='1' to-layer='{b}' to-port='0'/>"
        for a, b in ((0, 1), (1, 0), (1, 2))
    )
    layers = f"<layers>{RELU.format(0)}{RELU.format(1)}{end}</layers><edges>{edges}</edges>"
    assert "reads its own result" in _finding(tmp_path, NET.format(layers))


def test_an_element_inside_text_of_its_own_is_a_fault() -> None:
    with pytest.raises(IrError, match="not well-formed XML"):
        openvino.parse(b"<net version='11'></net><net/>")


def test_20000_layers_load_in_time(tmp_path: Path) -> None:
    count = 20_000
    layers = "".join(
        f'<layer id="{k}" name="layer number {k} of a very long chain of layers, each of which has a name as long as exporters give" type="ReLU" '
        'version="opset1"><input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim>'
        "<dim>224</dim><dim>224</dim></port></input><output><port id=\"1\" precision=\"FP32\">"
        "<dim>1</dim><dim>3</dim><dim>224</dim><dim>224</dim></port></output></layer>\n"
        for k in range(1, count)
    )  # fmt: skip
    first = (
        '<layer id="0" name="x" type="Parameter" version="opset1">'
        '<data shape="1,3,224,224" element_type="f32"/><output><port id="1" precision="FP32"/>'
        "</output></layer>"
    )
    end = f'<layer id="{count}" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>'
    edges = "".join(
        f'<edge from-layer="{k}" from-port="1" to-layer="{k + 1}" to-port="0"/>\n'
        for k in range(count)
    )
    path = tmp_path / "m.xml"
    path.write_text(NET.format(f"<layers>{first}{layers}{end}</layers><edges>{edges}</edges>"))
    path.with_suffix(".bin").write_bytes(b"")
    started = time.process_time()
    model, findings = read(path)
    assert model is not None, findings
    assert len(model.main.steps) == count - 1
    assert time.process_time() - started < 3
