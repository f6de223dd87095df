"""The page of docs/examples in a browser: it runs a model and shows the time of a call."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

import treadle
from tests.build import models

PAGE = Path(__file__).parent.parent.parent / "docs/examples/browser.html"
BROWSER = shutil.which("chromium")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.mark.skipif(BROWSER is None, reason="chromium is not here")
@pytest.mark.skipif(find_spec("ziglang") is None, reason="the ziglang package is not here")
def test_the_page_shows_how_long_a_call_takes(tmp_path: Path) -> None:
    treadle.build(models.GROW, tmp_path, name="grow", targets=["wasm32"], link=True)
    shutil.copy(PAGE, tmp_path / "page.html")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/page.html"
    # in virtual time the browser waits for the page, and no time passes while a call runs
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu",
               "--virtual-time-budget=20000",
               "--dump-dom", address]  # fmt: skip
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    finally:
        server.shutdown()
        server.server_close()
    assert re.search(r">175,4: a call takes \d+\.\d microseconds<", shown.stdout)
