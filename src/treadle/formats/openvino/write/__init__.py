"""A Model to OpenVINO IR: an .xml of layers and a .bin of weights."""

from treadle.formats.openvino.write.net import write_file, write_net
from treadle.formats.openvino.write.operators import lacks

__all__ = ["lacks", "write_file", "write_net"]
