"""XML to records, in one pass over the file and within limits.

Every element is converted to its record when it ends, so nothing is held twice. A DOCTYPE and
entities are rejected, so a small file cannot expand to a large one; sizes, depths and counts are
limited.
"""

from __future__ import annotations

from xml.parsers import expat

from treadle.formats.openvino.converters import (
    CONVERTERS,
    LONGEST_TEXT,
    TEXT,
    Frame,
    unread_element,
)
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.records import Net
from treadle.limits import poll

LARGEST_FILE = 1 << 30
DEEPEST = 500
MOST_TAGS = 40_000_000
_FREE, _DIM, _LAYER = "rt_info", "dim", "layer"
_LONGEST_NUMBER = 19
_STRETCH = LONGEST_TEXT // 2


def parse(data: bytes) -> Net:
    """Parse the bytes of an .xml file to a Net; raises IrError with the line."""
    if len(data) > LARGEST_FILE:
        raise IrError("CF903", f"the file has {len(data)} bytes, at most {LARGEST_FILE} are read")
    tags = data.count(b"<")
    if tags > MOST_TAGS:
        raise IrError("CF903", f"the file has {tags} tags, at most {MOST_TAGS} are read")
    parser = expat.ParserCreate()
    handlers = _Handlers(parser, has_long_texts=_may_have_long_texts(data))
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise IrError("CF901", f"not well-formed XML: {reason}", line=error.lineno) from None
    except UnicodeDecodeError as error:
        raise IrError("CF901", f"not text: {error.reason}") from None
    return _net(handlers.top)


def _may_have_long_texts(data: bytes) -> bool:
    """False if quotes are so close that no attribute can be too long."""
    if b"'" in data:
        return True
    stretches = range(0, len(data) - _STRETCH, _STRETCH)
    return any(data.find(b'"', start, start + _STRETCH) < 0 for start in stretches)


def _net(document: Frame) -> Net:
    tag, root = document.children[0] if document.children else (_DIM, None)
    if not isinstance(root, Net):
        hint = "give the .xml of an OpenVINO IR, whose first element is <net>"
        raise IrError("CF901", f"the first element is <{tag}>, not <net>", hint, 1)
    return root


class _Handlers:
    """The callbacks of expat; `top` is the innermost open element, at the end the document.

    Half of all elements are dims, so they are stored as numbers in `top`. Texts, most of which are
    irrelevant, are collected in a list without a Python call.
    """

    def __init__(self, parser: expat.XMLParserType, *, has_long_texts: bool) -> None:
        self.parser = parser
        self.top = Frame("", {}, 0, [], [])
        self.around: list[Frame] = []
        self.free = 0
        self.texts: list[str] = []
        parser.buffer_text = True
        parser.CharacterDataHandler = self.texts.append
        parser.StartElementHandler = self.start_measured if has_long_texts else self.start
        parser.EndElementHandler = self.end
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity

    def start_measured(self, tag: str, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if len(value) > LONGEST_TEXT:
                raise self._limit(f"{name} is longer than {LONGEST_TEXT} characters")
        self.start(tag, attributes)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self.free:
            self._take_text()
        elif tag == _DIM:
            self.texts.clear()
            return
        self.texts.clear()
        if self.free or tag == _FREE:
            self.free += 1
        if len(self.around) >= DEEPEST:
            raise self._limit(f"elements are nested more than {DEEPEST} deep")
        self.around.append(self.top)
        self.top = Frame(tag, attributes, self.parser.CurrentLineNumber, [], [])

    def end(self, tag: str) -> None:
        frame = self.top
        if self.free:
            self._take_text()
            self.free -= 1
            made: object = unread_element(frame)
        elif tag == _DIM:
            frame.dims.append(self._extent())
            return
        else:
            if tag == _LAYER:
                poll()
            made = CONVERTERS.get(tag, unread_element)(frame)
        self.top = self.around.pop()
        self.top.children.append((tag, made))

    def _extent(self) -> int:
        text = "".join(self.texts)
        self.texts.clear()
        if text.isdecimal() and len(text) < _LONGEST_NUMBER:
            return int(text)
        return Frame(_DIM, {}, self.parser.CurrentLineNumber, [], []).number("the text", text)

    def _take_text(self) -> None:
        if self.texts:
            self.top.children.append((TEXT, "".join(self.texts)))
            self.texts.clear()

    def _limit(self, message: str) -> IrError:
        return IrError("CF903", message, line=self.parser.CurrentLineNumber)

    def doctype(self, *_: object) -> None:
        hint = "remove the <!DOCTYPE ...> declaration: an IR needs none"
        line = self.parser.CurrentLineNumber
        raise IrError("CF904", "the file declares a document type", hint, line)

    def entity(self, *_: object) -> None:
        line = self.parser.CurrentLineNumber
        raise IrError("CF904", "the file declares an entity", "remove it", line)
