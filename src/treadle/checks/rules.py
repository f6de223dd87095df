"""The table of rules: a code, its severity, and the clause of the standard behind it.

`stopping.py` lists the rules that stop a session.

Codes: CF0 the file, CF1 names and scopes, CF2 counts of inputs and outputs, CF3 types and shapes,
CF4 loops, CF5 scans, CF6 branches, CF7 functions and opsets, CF8 known defects of runtimes (the
clause names the version), CF9 OpenVINO IR.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.checks.stopping import STOPPING
from treadle.errors import Finding, Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding; `clause` names the part of the standard behind the rule."""

    code: str
    severity: Severity
    title: str
    clause: str = ""

    @property
    def stops(self) -> str:
        """The reason why a finding of the rule stops a session; "" if it does not."""
        return STOPPING.get(self.code, "")

    @property
    def blocks(self) -> bool:
        """Whether the rule stops a session in at least one of its forms."""
        return self.code in STOPPING


_NAMES = "IR.md, Names Within a Graph"
_SCHEMA = "Operators.md, min and max inputs and outputs"
_ATTRIBUTES = "Operators.md, Attributes"
_TYPES = "Operators.md, Type Constraints"
_SPARSE = "onnx.proto, SparseTensorProto"
_RANKS = "IR.md, Static tensor shapes"
_CLAIMS = "IR.md, Graphs: value_info"
_BODY = "Operators.md, body attribute"
_LOOP = "Operators.md, Loop"
_SCAN = "Operators.md, Scan"
_IF = "Operators.md, If"
_IR = "OpenVINO IR, versions 10 and 11"
_TRIPS = "Operators.md, Loop: trip count and condition"
_OUTER = "Operators.md, Loop: values of the enclosing scope"
_SHAPES = "IR.md, Graphs: value_info; Operators.md, Loop: v_initial"
_FUNCTIONS = "IR.md, Functions"
_ORT = "measured on onnxruntime 1.31.1 and 1.32.0, CPU"
_OPENVINO = "measured on OpenVINO 2026.4.1, CPU"
_TABLE = (
    Rule("CF001", "error", "The source is no model"),
    Rule("CF002", "error", "A tensor's data cannot be had"),
    Rule("CF003", "error", "An IR version this build does not read"),
    Rule("CF004", "error", "A tensor with two data fields", "onnx.proto, TensorProto"),
    Rule("CF005", "error", "Sparse indices out of order, or twice", _SPARSE),
    Rule("CF101", "error", "A name that nothing defines", _NAMES),
    Rule("CF102", "error", "A name defined twice in one graph", _NAMES),
    Rule("CF103", "error", "A body's name that hides an outer one", _NAMES),
    Rule("CF104", "error", "An outer value returned directly by a body", "IR.md, Graphs"),
    Rule("CF105", "error", "A value used before the node that defines it", "IR.md, Graphs"),
    Rule("CF106", "error", "A body input that is also an initializer", "IR.md, Graphs"),
    Rule("CF107", "advice", "A node of a body whose results nothing reads", "IR.md, Graphs"),
    Rule("CF108", "error", "An initializer that is no input, before IR 4", "IR.md, Graphs"),
    Rule("CF109", "error", "An initializer without a name", "IR.md, Graphs"),
    Rule("CF201", "error", "Too few or too many inputs of a control-flow node", _SCHEMA),
    Rule("CF202", "error", "A control-flow node without outputs", _SCHEMA),
    Rule("CF203", "error", "A body with another number of inputs than it is given", _BODY),
    Rule("CF204", "error", "A body with another number of outputs than needed", _BODY),
    Rule("CF205", "error", "A variadic input that is left out", "IR.md, Variadic Inputs"),
    Rule("CF206", "error", "A control-flow node without its graph", _BODY),
    Rule("CF207", "error", "Operands other than the operator's schema takes", _SCHEMA),
    Rule("CF208", "error", "Results other than the operator's schema gives", _SCHEMA),
    Rule("CF209", "error", "A required attribute that is missing", _ATTRIBUTES),
    Rule("CF210", "error", "An attribute of another kind than the schema's", _ATTRIBUTES),
    Rule("CF211", "error", "An attribute the schema does not have", _ATTRIBUTES),
    Rule("CF212", "error", "A function's attribute named outside of functions", _FUNCTIONS),
    Rule("CF213", "error", "A reference to an attribute the function does not have", _FUNCTIONS),
    Rule("CF214", "error", "A value that the operator does not list", _ATTRIBUTES),
    Rule("CF301", "error", "An operand of a type the operator does not take", _TYPES),
    Rule("CF302", "error", "A type this version of If, Loop or Scan does not allow", _TYPES),
    Rule("CF303", "error", "A declared kind or element type other than the value's", _CLAIMS),
    Rule("CF304", "error", "A declared shape that contradicts the value's", _CLAIMS),
    Rule("CF305", "error", "Operands whose shapes do not fit the operator", _TYPES),
    Rule("CF306", "warning", "The same in a body that may never run", _TYPES),
    Rule("CF307", "error", "A main input without a type", "IR.md, Graphs"),
    Rule("CF308", "warning", "A main input or output without a shape", _RANKS),
    Rule("CF309", "error", "An opaque type without a name", "onnx.proto, TypeProto.Opaque"),
    Rule("CF310", "error", "A Softmax of a scalar, which has no axis", "Operators.md, Softmax"),
    Rule("CF401", "error", "A trip count that is no int64 tensor", _LOOP),
    Rule("CF402", "error", "A trip count of more or less than one element", _LOOP),
    Rule("CF403", "error", "A condition that is no bool tensor", _LOOP),
    Rule("CF404", "error", "A condition of more or less than one element", _LOOP),
    Rule("CF405", "error", "An iteration number or condition of another type", _LOOP),
    Rule("CF406", "error", "A body's condition that is no bool tensor", _LOOP),
    Rule("CF407", "error", "A body's condition of more or less than one element", _LOOP),
    Rule("CF408", "error", "A carried value that changes its kind or element type", _LOOP),
    Rule("CF409", "error", "A stacked value that is no tensor", _LOOP),
    Rule("CF410", "warning", "An omitted condition, and a body that can stop", _LOOP),
    Rule("CF411", "error", "A stacked value whose shape changes between iterations", _LOOP),
    Rule("CF412", "warning", "A carried value declared with its first shape", _SHAPES),
    Rule("CF413", "warning", "A loop that never runs", _TRIPS),
    Rule("CF414", "warning", "A loop that nothing stops", _TRIPS),
    Rule("CF415", "advice", "A carried or stacked value that nothing reads", _LOOP),
    Rule("CF416", "advice", "A carried value that never changes", _OUTER),
    Rule("CF417", "advice", "Work in a body that is the same in every iteration", _OUTER),
    Rule("CF418", "advice", "A carried value that grows by copying all of it", _LOOP),
    Rule("CF501", "error", "num_scan_inputs missing or out of range", _SCAN),
    Rule("CF502", "error", "Scan axes: not one for each scanned value", _SCAN),
    Rule("CF503", "error", "Scan directions: not one for each scanned value", _SCAN),
    Rule("CF504", "error", "A Scan direction other than 0 and 1", _SCAN),
    Rule("CF505", "error", "A Scan axis out of range", _SCAN),
    Rule("CF506", "error", "A scanned value without an axis to scan", _SCAN),
    Rule("CF507", "error", "Scanned values of different lengths", _SCAN),
    Rule("CF508", "error", "A Scan state that changes its shape", _SCAN),
    Rule("CF509", "error", "A Scan state that keeps its shape only if empty", _SCAN),
    Rule("CF510", "error", "Scan-8's sequence lengths: not one int64 for each row", _SCAN),
    Rule("CF511", "error", "Scan-8 over different batch sizes", _SCAN),
    Rule("CF512", "error", "A Scan whose form is an attribute of its function", _FUNCTIONS),
    Rule("CF601", "error", "A branch that declares an input", _IF),
    Rule("CF602", "error", "An If condition that is no bool tensor", _IF),
    Rule("CF603", "error", "An If condition of more or less than one element", _IF),
    Rule("CF604", "error", "Branches whose results differ in kind or element type", _IF),
    Rule("CF605", "error", "If-1: branches whose results differ in shape", _IF),
    Rule("CF606", "advice", "An If whose condition is always the same", _IF),
    Rule("CF701", "error", "An operator this opset does not have", "Versioning.md"),
    Rule("CF702", "error", "A domain whose opset is not imported", "IR.md, Operator Sets"),
    Rule("CF703", "error", "An opset newer than this build knows", "Versioning.md"),
    Rule("CF704", "error", "A function that calls itself", _FUNCTIONS),
    Rule("CF705", "error", "A call with more values than its function", _FUNCTIONS),
    Rule("CF706", "error", "An operator this opset has withdrawn", "Versioning.md"),
    Rule("CF707", "warning", "An operator that nothing defines", _FUNCTIONS),
    Rule("CF708", "advice", "A function that nothing calls", _FUNCTIONS),
    Rule("CF801", "error", "A Scan body that gives a parameter or a value twice", _ORT),
    Rule("CF802", "error", "Bounds of another rank than the body declares", _ORT),
    Rule("CF803", "error", "An output of If, Loop or Scan that is left out", _ORT),
    Rule("CF804", "error", "A Loop body that gives its iteration number", _ORT),
    Rule("CF805", "error", "A Scan over nothing", _ORT),
    Rule("CF806", "error", "A stacked value of a Scan without a known rank", _ORT),
    Rule("CF807", "error", "An opset or IR version that is too new", _ORT),
    Rule("CF808", "advice", "Whole numbers at the edge of their type are answered wrongly", _ORT),
    Rule("CF809", "error", "An RNN, GRU or LSTM in float64", _ORT),
    Rule("CF810", "error", "Extents on which a kernel ends the process", _ORT),
    Rule("CF811", "error", "An empty name at the end of the inputs", _ORT),
    Rule("CF851", "error", "Sequences, optionals and strings in control flow", _OPENVINO),
    Rule("CF852", "error", "A Scan body that reads outer values", _OPENVINO),
    Rule("CF853", "error", "A body that gives a parameter as it is", _OPENVINO),
    Rule("CF854", "error", "Functions and control flow together", _OPENVINO),
    Rule("CF855", "error", "A negative trip count", _OPENVINO),
    Rule("CF856", "warning", "A loop with stacked outputs that may not run", _OPENVINO),
    Rule("CF857", "error", "A rank that is not the same everywhere", _OPENVINO),
    Rule("CF858", "error", "Scan-8", _OPENVINO),
    Rule("CF859", "error", "A condition that is not converted", _OPENVINO),
    Rule("CF860", "error", "A carried value of changing shape that nothing reads", _OPENVINO),
    Rule("CF861", "error", "A vector after a reduction over the last of three axes", _OPENVINO),
    Rule("CF901", "error", "The file is no OpenVINO IR", _IR),
    Rule("CF902", "error", "A version of OpenVINO IR that is not read", _IR),
    Rule("CF903", "error", "A file over a limit of the reader", _IR),
    Rule("CF904", "error", "A document type or an entity in an IR", _IR),
    Rule("CF905", "error", "An attribute of an IR that is missing or makes no sense", _IR),
    Rule("CF906", "error", "Layers of an IR that are wired wrong", _IR),
    Rule("CF907", "error", "A loop or If of an IR whose ports do not fit its body", _IR),
    Rule("CF908", "error", "A layer of an IR that is not supported", _IR),
    Rule("CF909", "error", "A layer of an IR in a form that is not supported", _IR),
)  # fmt: skip

RULES = {rule.code: rule for rule in _TABLE}


def finding(
    code: str, path: str, message: str, hint: str = "", *, blocks: bool | None = None
) -> Finding:
    """Make a finding of a rule at a path.

    Some rules stop a session only in some of their forms; `blocks` then tells whether this form
    does.
    """
    rule = RULES[code]
    stops = rule.blocks if blocks is None else blocks
    return Finding(rule.code, rule.severity, path, message, hint, stops, rule.clause)
