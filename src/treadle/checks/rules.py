"""The table of rules: a code, how severe it is, whether it blocks running, and its clause.

Codes: CF0 the file, CF1 names and scopes, CF2 counts of inputs and outputs, CF3 types and shapes,
CF4 loops, CF5 scans, CF6 branches, CF7 functions and opsets, CF8 what a runtime is known not to
load or to answer wrongly (its version stands in the clause), CF9 OpenVINO IR.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.errors import Finding, Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding; `clause` names what of the standard it rests on."""

    code: str
    severity: Severity
    blocks: bool
    title: str
    clause: str = ""


_NAMES = "IR.md, Names Within a Graph"
_SCHEMA = "Operators.md, min and max inputs and outputs"
_ATTRIBUTES = "Operators.md, Attributes"
_TYPES = "Operators.md, Type Constraints"
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
_ORT = "measured on onnxruntime 1.31.1, CPU"
_OPENVINO = "measured on OpenVINO 2026.4.1, CPU"
_TABLE = (
    Rule("CF001", "error", True, "The source is no model"),
    Rule("CF002", "error", True, "A tensor's data cannot be had"),
    Rule("CF003", "error", True, "An IR version this build does not read"),
    Rule("CF101", "error", True, "A name that nothing defines", _NAMES),
    Rule("CF102", "error", True, "A name defined twice in one graph", _NAMES),
    Rule("CF103", "error", False, "A body's name that hides an outer one", _NAMES),
    Rule("CF104", "error", True, "An outer value returned directly by a body", "IR.md, Graphs"),
    Rule("CF105", "error", True, "A value used before the node that defines it", "IR.md, Graphs"),
    Rule("CF106", "error", True, "A body input that is also an initializer", "IR.md, Graphs"),
    Rule("CF107", "advice", False, "A node of a body whose results nothing reads", "IR.md, Graphs"),
    Rule("CF201", "error", True, "Too few or too many inputs of a control-flow node", _SCHEMA),
    Rule("CF202", "error", True, "A control-flow node without outputs", _SCHEMA),
    Rule("CF203", "error", True, "A body with another number of inputs than it is given", _BODY),
    Rule("CF204", "error", True, "A body with another number of outputs than needed", _BODY),
    Rule("CF205", "error", True, "A variadic input that is left out", "IR.md, Variadic Inputs"),
    Rule("CF206", "error", True, "A control-flow node without its graph", _BODY),
    Rule("CF207", "error", True, "Operands other than the operator's schema takes", _SCHEMA),
    Rule("CF208", "error", True, "Results other than the operator's schema gives", _SCHEMA),
    Rule("CF209", "error", True, "A required attribute that is missing", _ATTRIBUTES),
    Rule("CF210", "error", True, "An attribute of another kind than the schema's", _ATTRIBUTES),
    Rule("CF211", "error", False, "An attribute the schema does not have", _ATTRIBUTES),
    Rule("CF301", "error", True, "An operand of a type the operator does not take", _TYPES),
    Rule("CF302", "error", False, "A type this version of If, Loop or Scan does not allow", _TYPES),
    Rule("CF303", "error", True, "A declared kind or element type other than the value's", _CLAIMS),
    Rule("CF304", "error", False, "A declared shape that contradicts the value's", _CLAIMS),
    Rule("CF305", "error", True, "Operands whose shapes do not fit the operator", _TYPES),
    Rule("CF306", "warning", False, "The same in a body that may never run", _TYPES),
    Rule("CF401", "error", True, "A trip count that is no int64 tensor", _LOOP),
    Rule("CF402", "error", True, "A trip count of more or less than one element", _LOOP),
    Rule("CF403", "error", True, "A condition that is no bool tensor", _LOOP),
    Rule("CF404", "error", True, "A condition of more or less than one element", _LOOP),
    Rule("CF405", "error", True, "An iteration number or condition of another type", _LOOP),
    Rule("CF406", "error", True, "A body's condition that is no bool tensor", _LOOP),
    Rule("CF407", "error", True, "A body's condition of more or less than one element", _LOOP),
    Rule("CF408", "error", True, "A carried value that changes its kind or element type", _LOOP),
    Rule("CF409", "error", True, "A stacked value that is no tensor", _LOOP),
    Rule("CF410", "warning", False, "An omitted condition, and a body that can stop", _LOOP),
    Rule("CF411", "error", False, "A stacked value whose shape changes between iterations", _LOOP),
    Rule("CF412", "warning", False, "A carried value declared with its first shape", _SHAPES),
    Rule("CF413", "warning", False, "A loop that never runs", _TRIPS),
    Rule("CF414", "warning", False, "A loop that nothing stops", _TRIPS),
    Rule("CF415", "advice", False, "A carried or stacked value that nothing reads", _LOOP),
    Rule("CF416", "advice", False, "A carried value that never changes", _OUTER),
    Rule("CF417", "advice", False, "Work in a body that is the same in every iteration", _OUTER),
    Rule("CF418", "advice", False, "A carried value that grows by copying all of it", _LOOP),
    Rule("CF501", "error", True, "num_scan_inputs missing or out of range", _SCAN),
    Rule("CF502", "error", True, "Scan axes: not one for each scanned value", _SCAN),
    Rule("CF503", "error", True, "Scan directions: not one for each scanned value", _SCAN),
    Rule("CF504", "error", True, "A Scan direction other than 0 and 1", _SCAN),
    Rule("CF505", "error", True, "A Scan axis out of range", _SCAN),
    Rule("CF506", "error", True, "A scanned value without an axis to scan", _SCAN),
    Rule("CF507", "error", True, "Scanned values of different lengths", _SCAN),
    Rule("CF508", "error", True, "A Scan state that changes its shape", _SCAN),
    Rule("CF509", "error", False, "A Scan state that keeps its shape only if empty", _SCAN),
    Rule("CF510", "error", True, "Scan-8's sequence lengths: not one int64 for each row", _SCAN),
    Rule("CF511", "error", True, "Scan-8 over different batch sizes", _SCAN),
    Rule("CF512", "error", True, "A Scan whose form is an attribute of its function", _FUNCTIONS),
    Rule("CF601", "error", True, "A branch that declares an input", _IF),
    Rule("CF602", "error", True, "An If condition that is no bool tensor", _IF),
    Rule("CF603", "error", True, "An If condition of more or less than one element", _IF),
    Rule("CF604", "error", True, "Branches whose results differ in kind or element type", _IF),
    Rule("CF605", "error", True, "If-1: branches whose results differ in shape", _IF),
    Rule("CF606", "advice", False, "An If whose condition is always the same", _IF),
    Rule("CF701", "error", True, "An operator this opset does not have", "Versioning.md"),
    Rule("CF702", "error", True, "A domain whose opset is not imported", "IR.md, Operator Sets"),
    Rule("CF703", "error", True, "An opset newer than this build knows", "Versioning.md"),
    Rule("CF704", "error", True, "A function that calls itself", _FUNCTIONS),
    Rule("CF705", "error", True, "A call with more values than its function", _FUNCTIONS),
    Rule("CF706", "error", False, "An operator this opset has withdrawn", "Versioning.md"),
    Rule("CF707", "warning", False, "An operator that nothing defines", _FUNCTIONS),
    Rule("CF708", "advice", False, "A function that nothing calls", _FUNCTIONS),
    Rule("CF801", "error", False, "A Scan body that gives a parameter or a value twice", _ORT),
    Rule("CF802", "error", False, "Bounds of another rank than the body declares", _ORT),
    Rule("CF803", "error", False, "An output of If, Loop or Scan that is left out", _ORT),
    Rule("CF804", "error", False, "A Loop body that gives its iteration number", _ORT),
    Rule("CF805", "error", False, "A Scan over nothing", _ORT),
    Rule("CF806", "error", False, "A stacked value of a Scan without a known rank", _ORT),
    Rule("CF807", "error", False, "An opset or IR version that is too new", _ORT),
    Rule("CF851", "error", False, "Sequences, optionals and strings in control flow", _OPENVINO),
    Rule("CF852", "error", False, "A Scan body that reads outer values", _OPENVINO),
    Rule("CF853", "error", False, "A body that gives a parameter as it is", _OPENVINO),
    Rule("CF854", "error", False, "Functions and control flow together", _OPENVINO),
    Rule("CF855", "error", False, "A negative trip count", _OPENVINO),
    Rule("CF856", "warning", False, "A loop with stacked outputs that may not run", _OPENVINO),
    Rule("CF857", "error", False, "A rank that is not the same everywhere", _OPENVINO),
    Rule("CF858", "error", False, "Scan-8", _OPENVINO),
    Rule("CF859", "error", False, "A condition that is not converted", _OPENVINO),
    Rule("CF901", "error", True, "The file is no OpenVINO IR", _IR),
    Rule("CF902", "error", True, "A version of OpenVINO IR that is not read", _IR),
    Rule("CF903", "error", True, "A file over a limit of the reader", _IR),
    Rule("CF904", "error", True, "A document type or an entity in an IR", _IR),
    Rule("CF905", "error", True, "An attribute of an IR that is missing or makes no sense", _IR),
    Rule("CF906", "error", True, "Layers of an IR that are wired wrong", _IR),
    Rule("CF907", "error", True, "A loop or If of an IR whose ports do not fit its body", _IR),
    Rule("CF908", "error", True, "A layer of an IR that is not supported", _IR),
    Rule("CF909", "error", True, "A layer of an IR in a form that is not supported", _IR),
)  # fmt: skip

RULES = {rule.code: rule for rule in _TABLE}


def finding(code: str, path: str, message: str, hint: str = "") -> Finding:
    """The finding of a rule at a path."""
    rule = RULES[code]
    return Finding(rule.code, rule.severity, path, message, hint, rule.blocks, rule.clause)
