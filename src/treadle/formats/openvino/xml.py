"""XML to records, in one pass over the file and within limits.

Every element becomes its record when it ends, so nothing is held twice. A DOCTYPE and entities are
refused, which leaves no way to make a small file large; sizes, depths and counts are bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from treadle.formats.openvino.converters import CONVERTERS, Frame, kept
from treadle.formats.openvino.faults import Fault
from treadle.formats.openvino.records import Net

LARGEST_FILE = 1 << 30
DEEPEST = 500
MOST_ELEMENTS = 20_000_000
LONGEST_TEXT = 1 << 20
_FREE = "rt_info"


def parse(data: bytes) -> Net:
    """The Net of an .xml file's bytes; raises Fault with the line."""
    if len(data) > LARGEST_FILE:
        raise Fault("CF803", f"the file has {len(data)} bytes, at most {LARGEST_FILE} are read")
    handlers = _Handlers()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.ordered_attributes = False
    parser.StartElementHandler = handlers.start
    parser.EndElementHandler = handlers.end
    parser.CharacterDataHandler = handlers.text
    parser.StartDoctypeDeclHandler = handlers.doctype
    parser.EntityDeclHandler = handlers.entity
    handlers.where = lambda: parser.CurrentLineNumber
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise Fault("CF801", f"no well-formed XML: {reason}", line=error.lineno) from None
    except UnicodeDecodeError as error:
        raise Fault("CF801", f"no text: {error.reason}") from None
    assert handlers.root is not None, "expat refuses a document without an element"
    if not isinstance(handlers.root, Net):
        hint = "give the .xml of an OpenVINO IR, whose first element is <net>"
        raise Fault("CF801", f"the first element is <{handlers.root.tag}>, not <net>", hint, 1)
    return handlers.root


@dataclass(slots=True)
class _Handlers:
    stack: list[Frame] = field(default_factory=list)
    root: Any = None
    count: int = 0
    free: int = 0
    where: Callable[[], int] = int

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.where()
        self.count += 1
        if len(self.stack) >= DEEPEST:
            raise Fault("CF803", f"elements are nested more than {DEEPEST} deep", line=line)
        if self.count > MOST_ELEMENTS:
            raise Fault("CF803", f"there are more than {MOST_ELEMENTS} elements", line=line)
        for name, value in attributes.items():
            if len(value) > LONGEST_TEXT:
                raise Fault("CF803", f"{name} is longer than {LONGEST_TEXT} characters", line=line)
        if tag == _FREE or self.free:
            self.free += 1
        self.stack.append(Frame(tag, attributes, line))

    def end(self, tag: str) -> None:
        frame = self.stack.pop()
        if self.free:
            self.free -= 1
            made: Any = kept(frame)
        else:
            made = CONVERTERS.get(tag, kept)(frame)
        if self.stack:
            self.stack[-1].children.append((tag, made))
        else:
            self.root = made

    def text(self, text: str) -> None:
        frame = self.stack[-1]
        frame.text += text
        if len(frame.text) > LONGEST_TEXT:
            raise Fault(
                "CF803", f"a text is longer than {LONGEST_TEXT} characters", line=frame.line
            )

    def doctype(self, *_: object) -> None:
        hint = "remove the <!DOCTYPE ...> declaration: an IR needs none"
        raise Fault("CF804", "the file declares a document type", hint, self.where())

    def entity(self, *_: object) -> None:
        raise Fault("CF804", "the file declares an entity", "remove it", self.where())
