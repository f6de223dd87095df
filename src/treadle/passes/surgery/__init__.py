"""Extracts, merges and renames parts of models; reads inside bodies count as reads."""

from treadle.passes.surgery.blocks import block_paths
from treadle.passes.surgery.cut import cut
from treadle.passes.surgery.extract import extract_body
from treadle.passes.surgery.functions import inline, outline
from treadle.passes.surgery.merge import merge
from treadle.passes.surgery.rename import rename
from treadle.passes.surgery.replace import replace_part
from treadle.passes.surgery.stages import Stage, Staged, stages
from treadle.passes.surgery.window import LoopWindow

__all__ = [
    "LoopWindow",
    "Stage",
    "Staged",
    "block_paths",
    "cut",
    "extract_body",
    "inline",
    "merge",
    "outline",
    "rename",
    "replace_part",
    "stages",
]
