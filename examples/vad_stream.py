"""Speech detected in a stream of sound, block by block, with silero's model.

    pip install --no-deps silero-vad
    python examples/vad_stream.py [FILE.wav of 16 kHz, mono, 16 bits]

Without a file the sound is made up: noise, with a hum in the middle.
"""

import sys
import wave
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import treadle

RATE, BLOCK, CONTEXT = 16_000, 512, 64


class Detector:
    """Says of each block of 512 samples how likely it is speech; keeps state between blocks."""

    def __init__(self, model: str | Path) -> None:
        self.session = treadle.InferenceSession(model)
        self.state = np.zeros((2, 1, 128), np.float32)
        self.before = np.zeros((1, CONTEXT), np.float32)

    def __call__(self, block: np.ndarray) -> float:
        """The probability of speech."""
        sound = np.concatenate([self.before, block[None]], axis=1)
        feeds = {"input": sound, "state": self.state, "sr": np.array(RATE)}
        probability, self.state = self.session.run(None, feeds)
        self.before = sound[:, -CONTEXT:]
        return float(probability.item())


def sound(path: str | None) -> np.ndarray:
    """The samples of a file, or made-up ones, between -1 and 1."""
    if path is not None:
        with wave.open(path) as file:
            return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype("f4") / 32768
    time = np.arange(3 * RATE) / RATE
    noise = 0.01 * np.random.default_rng(0).standard_normal(time.size)
    hum = sum(np.sin(2 * np.pi * 140 * k * time) / k for k in range(1, 12))
    return (noise + 0.1 * hum * ((time > 1) & (time < 2))).astype(np.float32)


def blocks(samples: np.ndarray) -> Iterator[np.ndarray]:
    """Whole blocks of the samples."""
    for start in range(0, samples.size - BLOCK + 1, BLOCK):
        yield samples[start : start + BLOCK]


def model_file() -> Path:
    """The model in the installed package, which is not imported: that would need PyTorch."""
    package = find_spec("silero_vad")
    if package is None or package.origin is None:
        sys.exit("silero-vad is not installed: pip install --no-deps silero-vad")
    return Path(package.origin).parent / "data" / "silero_vad.onnx"


def main() -> None:
    """Print a bar for each block."""
    detect = Detector(model_file())
    for number, block in enumerate(blocks(sound(sys.argv[1] if len(sys.argv) > 1 else None))):
        probability = detect(block)
        print(
            f"{number * BLOCK / RATE:6.2f} s  {probability:4.2f}  {'#' * round(40 * probability)}"
        )


if __name__ == "__main__":
    main()
