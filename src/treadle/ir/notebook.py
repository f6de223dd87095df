"""A model on a line, as text of at most 200 lines, and as HTML for notebooks."""

from __future__ import annotations

from treadle import markup
from treadle.ir.graph import Block, Model
from treadle.ir.printer import show_block, show_model
from treadle.ir.shown import FORMS
from treadle.ir.types import show_type
from treadle.ir.values import Value
from treadle.ir.walk import bodies, walk
from treadle.messages import brief, join_words, visible

_MOST_LINES = 200
_MOST_BLOCKS = 60
_LONGEST = 60


def model_line(model: Model) -> str:
    """`<Model "lstm": 12 nodes; inputs x; outputs y>`."""
    count = sum(1 for _ in walk(model))
    inputs, outputs = (join_words(_names(vs), 4) for vs in (model.main.params, model.main.results))
    name = brief(model.main.name, _LONGEST)
    words = f"inputs {brief(inputs, _LONGEST)}; outputs {brief(outputs, _LONGEST)}"
    return visible(f'<Model "{name}": {count:,} {"node" if count == 1 else "nodes"}; {words}>')


def model_text(model: Model) -> str:
    """The program as `show_model` prints it; of more than 200 lines the first ones."""
    lines = show_model(model).splitlines()
    more = len(lines) - _MOST_LINES + 1
    if more <= 1:
        return "\n".join(lines)
    return "\n".join([*lines[: _MOST_LINES - 1], f"... and {more:,} more lines"])


def model_html(model: Model) -> str:
    """Inputs and outputs, and each block in a `<details>`."""
    ports = [("input", v.name, show_type(v.type)) for v in model.main.params]
    ports += [("output", v.name, show_type(v.type)) for v in model.main.results if v is not None]
    blocks = [_block("main", model.main, is_open=True)]
    for visit in walk(model):
        if len(blocks) < _MOST_BLOCKS:
            blocks += [_block(f"{visit.path}.{name}", body) for name, body in bodies(visit.step)]
    head = f"<p>{markup.escaped(model_line(model).strip('<>'))}</p>"
    return markup.join([head, markup.table(("", "name", "type"), ports), *blocks])


def _block(path: str, block: Block, *, is_open: bool = False) -> str:
    title = f"{path}: {len(block.steps):,} nodes"
    return markup.details(title, markup.preformatted(show_block(block, path)), is_open=is_open)


def _names(values: tuple[Value | None, ...]) -> list[str]:
    return [value.name for value in values if value is not None]


FORMS.update(line=model_line, text=model_text, html=model_html)
