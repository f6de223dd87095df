"""XML to records, in one pass over the file and within limits.

Every element becomes its record when it ends, so nothing is held twice. A DOCTYPE and entities are
refused, which leaves no way to make a small file large; sizes, depths and counts are bounded.
"""

from __future__ import annotations

import re
from typing import Any
from xml.parsers import expat

from treadle.formats.openvino.converters import CONVERTERS, Frame, kept
from treadle.formats.openvino.faults import Fault
from treadle.formats.openvino.records import Net

LARGEST_FILE = 1 << 30
DEEPEST = 500
MOST_ELEMENTS = 20_000_000
LONGEST_TEXT = 1 << 20
_FREE, _DIM = "rt_info", "dim"
_LONGEST_NUMBER = 19
_LONG_TEXT = re.compile(rb'"[^"]{%d}' % LONGEST_TEXT)
"""Where this finds nothing, and there is no other kind of quote, no attribute is too long."""


def parse(data: bytes) -> Net:
    """The Net of an .xml file's bytes; raises Fault with the line."""
    if len(data) > LARGEST_FILE:
        raise Fault("CF903", f"the file has {len(data)} bytes, at most {LARGEST_FILE} are read")
    parser = expat.ParserCreate()
    has_long_texts = b"'" in data or _LONG_TEXT.search(data) is not None
    handlers = _Handlers(parser, has_long_texts=has_long_texts)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise Fault("CF901", f"no well-formed XML: {reason}", line=error.lineno) from None
    except UnicodeDecodeError as error:
        raise Fault("CF901", f"no text: {error.reason}") from None
    assert handlers.root is not None, "expat refuses a document without an element"
    if not isinstance(handlers.root, Net):
        hint = "give the .xml of an OpenVINO IR, whose first element is <net>"
        raise Fault("CF901", f"the first element is <{handlers.root.tag}>, not <net>", hint, 1)
    return handlers.root


class _Handlers:
    """What expat calls. Text is listened to only where it means something: in dims and rt_info.

    More than half of all elements are dims, so they share one frame.
    """

    def __init__(self, parser: expat.XMLParserType, *, has_long_texts: bool) -> None:
        self.parser, self.has_long_texts = parser, has_long_texts
        self.stack: list[Frame] = []
        self.root: Any = None
        self.count = self.free = 0
        self.dim = Frame(_DIM, {}, 0)
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        stack = self.stack
        if len(stack) >= DEEPEST or self.count > MOST_ELEMENTS:
            raise self._limit(
                f"there are more than {MOST_ELEMENTS} elements"
                if self.count > MOST_ELEMENTS
                else f"elements are nested more than {DEEPEST} deep"
            )
        if self.has_long_texts:
            self._measure(attributes)
        if tag == _DIM and not self.free:
            self.parser.CharacterDataHandler = self.text
            stack.append(self.dim)
            return
        if tag == _FREE or self.free:
            self.free += 1
            self.parser.CharacterDataHandler = self.text
        stack.append(Frame(tag, attributes, self.parser.CurrentLineNumber, [], ""))

    def _measure(self, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if len(value) > LONGEST_TEXT:
                raise self._limit(f"{name} is longer than {LONGEST_TEXT} characters")

    def end(self, tag: str) -> None:
        frame = self.stack.pop()
        if self.free:
            self.free -= 1
            made: Any = kept(frame)
        elif frame is self.dim:
            made = self._extent(frame.text)
            frame.text = ""
        else:
            made = CONVERTERS.get(tag, kept)(frame)
        if not self.free:
            self.parser.CharacterDataHandler = None
        if self.stack:
            self.stack[-1].children.append((tag, made))
        else:
            self.root = made

    def _extent(self, text: str) -> int:
        if text.isdecimal() and len(text) < _LONGEST_NUMBER:
            return int(text)
        return Frame(_DIM, {}, self.parser.CurrentLineNumber).number("the text", text)

    def text(self, text: str) -> None:
        frame = self.stack[-1]
        frame.text += text
        if len(frame.text) > LONGEST_TEXT:
            raise self._limit(f"a text is longer than {LONGEST_TEXT} characters")

    def _limit(self, message: str) -> Fault:
        return Fault("CF903", message, line=self.parser.CurrentLineNumber)

    def doctype(self, *_: object) -> None:
        hint = "remove the <!DOCTYPE ...> declaration: an IR needs none"
        line = self.parser.CurrentLineNumber
        raise Fault("CF904", "the file declares a document type", hint, line)

    def entity(self, *_: object) -> None:
        line = self.parser.CurrentLineNumber
        raise Fault("CF904", "the file declares an entity", "remove it", line)
