"""The numbers of inputs and outputs of a node, as read from the file."""

import pytest

from treadle.checks import branch, loop, scan
from treadle.ir import Attribute, Kind, Reference, attribute


def codes(findings):
    return [finding.code for finding in findings]


@pytest.mark.parametrize(
    ("version", "counts", "wanted"),
    [
        (21, (2, 1, 2, 2), []),
        (11, (4, 3, 4, 4), []),
        (1, (3, 1, 3, 2), []),
        (1, (2, 1, 2, 2), ["CF201"]),
        (21, (1, 1, 2, 2), ["CF201"]),
        (21, (0, 1, 2, 2), ["CF201"]),
        (21, (2, 0, 2, 1), ["CF202"]),
        (21, (3, 1, 2, 2), ["CF203"]),
        (21, (3, 1, 4, 2), ["CF203"]),
        (21, (3, 2, 3, 2), ["CF204"]),
        (21, (3, 1, 3, 3), ["CF204"]),
        (21, (4, 1, 4, 2), ["CF204"]),
        (21, (3, 1, 2, 4), ["CF203", "CF204"]),
    ],
)
def test_counts_of_a_loop(version, counts, wanted):
    assert codes(loop.arity(version, *counts, "main/loop_0")) == wanted


def test_a_carried_value_cannot_be_left_out():
    (found,) = loop.arity(21, 3, 1, 3, 2, "main/loop_0", absent=[0, 1, 2])
    assert str(found) == (
        'CF205 error main/loop_0: the third input of Loop is "", it must be a value'
        " (name a value, or remove the input and the body's parameter for it)"
    )


@pytest.mark.parametrize(
    ("version", "counts", "wanted"),
    [
        (9, (1, 1, 1, 1), []),
        (8, (2, 1, 1, 1), []),
        (8, (1, 1, 0, 1), ["CF201"]),
        (11, (0, 1, 0, 1), ["CF201"]),
        (11, (1, 0, 1, 0), ["CF202"]),
        (11, (2, 2, 1, 2), ["CF203"]),
        (11, (2, 2, 2, 1), ["CF204"]),
    ],
)
def test_counts_of_a_scan(version, counts, wanted):
    assert codes(scan.arity(version, *counts, "p")) == wanted


def test_only_the_sequence_lengths_of_scan_8_can_be_left_out():
    assert not scan.arity(8, 3, 2, 2, 2, "p", absent=[0])
    assert codes(scan.arity(8, 3, 2, 2, 2, "p", absent=[0, 1])) == ["CF205"]
    assert codes(scan.arity(9, 2, 2, 2, 2, "p", absent=[0])) == ["CF205"]


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ((1, 1, 0, 0, 1, 1), []),
        ((1, 0, 0, 0, 0, 0), ["CF202"]),
        ((2, 1, 0, 0, 1, 1), ["CF201"]),
        ((0, 1, 0, 0, 1, 1), ["CF201"]),
        ((1, 1, 1, 0, 1, 1), ["CF601"]),
        ((1, 1, 0, 0, 2, 2), ["CF204", "CF204"]),
        ((1, 2, 0, 0, 2, 1), ["CF204"]),
    ],
)
def test_counts_of_an_if(counts, wanted):
    assert codes(branch.arity(*counts, "p")) == wanted


@pytest.mark.parametrize(
    ("version", "given", "wanted"),
    [
        (11, {"num_scan_inputs": 1}, []),
        (11, {}, ["CF501"]),
        (11, {"num_scan_inputs": 0}, ["CF501"]),
        (11, {"num_scan_inputs": -1}, ["CF501"]),
        (11, {"num_scan_inputs": 4}, ["CF501"]),
        (11, {"num_scan_inputs": 1.5}, ["CF501"]),
        (11, {"num_scan_inputs": 1, "scan_input_axes": [0, 0]}, ["CF502"]),
        (11, {"num_scan_inputs": 1, "scan_output_axes": [0, 0]}, ["CF502"]),
        (11, {"num_scan_inputs": 1, "scan_input_axes": 1}, ["CF502"]),
        (11, {"num_scan_inputs": 1, "scan_input_directions": [0, 0]}, ["CF503"]),
        (11, {"num_scan_inputs": 1, "scan_output_directions": [1, 1]}, ["CF503"]),
        (11, {"num_scan_inputs": 1, "scan_input_directions": [2]}, ["CF504"]),
        (8, {"num_scan_inputs": 1, "directions": [1]}, []),
        (8, {"num_scan_inputs": 1, "directions": [-1]}, ["CF504"]),
    ],
)
def test_attributes_of_a_scan(version, given, wanted):
    attributes = {name: attribute(name, value) for name, value in given.items()}
    inputs = 3 if version > 8 else 4
    assert codes(scan.attributes(version, attributes, inputs, 3, "p")) == wanted


def test_a_scan_needs_an_output_for_each_state():
    attributes = {"num_scan_inputs": attribute("num_scan_inputs", 1)}
    (found,) = scan.attributes(11, attributes, 4, 2, "p")
    assert found.message == "Scan has 3 states and 2 outputs"


def test_the_number_of_scan_inputs_is_no_attribute_reference():
    reference = Attribute("num_scan_inputs", Kind.INT, Reference("n"))
    (found,) = scan.attributes(11, {"num_scan_inputs": reference}, 3, 3, "p")
    assert found.code == "CF512"
    assert not scan.attributes(8, {"num_scan_inputs": reference}, 3, 3, "p")


def test_messages_name_the_counts_found_and_wanted():
    (found,) = loop.arity(21, 3, 1, 2, 2, "main/loop_0")
    assert found.message == (
        "the body takes 2 inputs, the node gives it 3:"
        " the iteration number, the condition and 1 carried value"
    )
    (found,) = branch.arity(1, 2, 0, 0, 2, 1, "main/if_3")
    assert str(found) == (
        "CF204 error main/if_3: the else_branch gives 1 output, the node needs 2:"
        " it has 2 outputs (let the body give one value for each of them)"
    )
