"""Runs a runtime in its own process, which may die or hang, or a command for each run."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import shlex
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import onnx

from .runtimes import RUNTIMES
from .values import plain, read

_MEMORY = 8 << 30


@dataclass(frozen=True)
class Question:
    """A model's file and a folder with its inputs."""

    model: Path
    data: Path


@dataclass(frozen=True)
class Answer:
    """The outcome of a question: `gave` values, or `refused` or `crashed` with a text."""

    kind: str
    values: tuple[Any, ...] = ()
    text: str = ""


def inputs_of(question: Question, proto: onnx.ModelProto) -> dict[str, Any]:
    """The inputs with a file, by name."""
    paths = {each.name: question.data / f"input_{k}.pb" for k, each in enumerate(proto.graph.input)}
    types = {each.name: each.type for each in proto.graph.input}
    return {name: read(path, types[name]) for name, path in paths.items() if path.exists()}


def _prepared(runtime: str) -> Callable[[Path], Any]:
    if runtime in RUNTIMES:
        return RUNTIMES[runtime][1]
    module, _, name = runtime.partition(":")
    function: Callable[[Path], Any] = getattr(importlib.import_module(module), name)
    return function


def _serve(pipe: Connection, runtime: str) -> None:
    """The main loop of the child process: reads questions and writes answers."""
    with contextlib.suppress(ImportError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    prepare, loaded, run = _prepared(runtime), None, None
    with contextlib.suppress(EOFError):
        while True:
            question = pipe.recv()
            try:
                if loaded != question.model:
                    loaded = None
                    run = prepare(question.model)
                    loaded = question.model
                values = run(inputs_of(question, onnx.load(question.model)))
                pipe.send(Answer("gave", tuple(map(plain, values))))
            except Exception as error:  # noqa: BLE001 - a runtime raises anything
                text = " ".join(f"{type(error).__name__}: {error}".split())
                pipe.send(Answer("refused", text=text[:2000]))


class Child:
    """A runtime in its own process, which is restarted after a crash or a timeout."""

    def __init__(self, runtime: str, seconds: float) -> None:
        self._runtime, self._seconds = runtime, seconds
        self._process: Any = None

    def __call__(self, question: Question) -> Answer:
        """The answer of the runtime."""
        if self._process is None:
            self._start()
        try:
            self._pipe.send(question)
            if self._pipe.poll(self._seconds):
                answer: Answer = self._pipe.recv()
                return answer
            text = f"no answer in {self._seconds:g} seconds"
        except (EOFError, OSError):
            self._process.join(self._seconds)
            text = _ending(self._process.exitcode)
        self.close()
        return Answer("crashed", text=text)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self._runtime), daemon=True)
        self._process.start()
        other.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the process died of {signal.Signals(-code).name}"
    return f"the process ended with {code}"


class Command:
    """A runtime as a command: files of inputs in one folder, files of outputs into another."""

    def __init__(self, words: str, seconds: float) -> None:
        self._words, self._seconds = shlex.split(words), seconds

    def __call__(self, question: Question) -> Answer:
        """The answer of the command."""
        with tempfile.TemporaryDirectory() as folder:
            places = {"model": question.model, "inputs": question.data, "outputs": folder}
            words = [word.format(**places) for word in self._words]
            try:
                done = subprocess.run(
                    words, capture_output=True, text=True, timeout=self._seconds, check=False
                )
            except subprocess.TimeoutExpired:
                return Answer("crashed", text=f"no answer in {self._seconds:g} seconds")
            if done.returncode < 0:
                return Answer("crashed", text=_ending(done.returncode))
            if done.returncode:
                return Answer("refused", text=" ".join(done.stderr.split())[-2000:])
            outputs = enumerate(onnx.load(question.model).graph.output)
            paths = [(Path(folder) / f"output_{k}.pb", each.type) for k, each in outputs]
            values = tuple(read(path, type_) for path, type_ in paths if path.exists())
            return Answer("gave", values)

    def close(self) -> None:
        """Do nothing: a command has ended by itself."""
