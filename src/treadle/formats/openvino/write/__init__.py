"""Writes a Model as OpenVINO IR: an .xml of layers and a .bin of weights."""

from treadle.formats.openvino.write.net import write_file, write_net
from treadle.formats.openvino.write.operators import lacks
from treadle.formats.openvino.write.pool import Pool

__all__ = ["Pool", "lacks", "write_file", "write_net"]
