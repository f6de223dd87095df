"""The page in a browser: it opens without an error, blocks open, values appear, keys work."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle
from tests.html_report.models import SMOOTH, chain

pytest.importorskip("igraph", reason="igraph, the extra `report`, is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no chromium is installed", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as made:
        opened = made.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Write a report and open it; the test fails where the page complains."""
    complaints: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda told: complaints.append(told.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def shown(*arguments: Any) -> Any:
        target = tmp_path / "report.html"
        treadle.write_report(arguments[0], target, *arguments[1:])
        page.goto(target.as_uri())
        return page

    yield shown
    page.close()
    assert complaints == []


def test_blocks_open_and_describe_loops(show: Any) -> None:
    page = show(SMOOTH)
    assert page.locator("[data-block]").count() == 3
    assert page.locator('[data-block="main/scan_0.body"] svg').count() == 0  # closed: not drawn
    block = page.locator('[data-block="main/scan_0.body"]')
    block.locator("h2 button").click()
    assert block.locator(".node").count() == 3
    assert block.locator("path.edge").count() == 6
    assert "once per item of x along axis 0" in block.inner_text()


def test_a_node_shows_its_inputs_and_outputs(show: Any) -> None:
    page = show(SMOOTH)
    page.locator('[data-path="main/sub_1"]').click()
    words = page.locator("#detail").inner_text()
    assert "main/sub_1" in words
    assert "float32[T]" in words
    assert "Loop #3" in words
    page.keyboard.press("ArrowDown")
    assert "main/loop_3" in page.locator("#detail .place").inner_text()
    page.keyboard.press("Enter")
    assert page.locator('[data-block="main/loop_3.body"] .node').count() == 2
    page.keyboard.press("Escape")
    assert page.locator("#detail.filled").count() == 0


def test_values_appear_and_nan_leads_to_its_node(show: Any) -> None:
    page = show(SMOOTH, {"x": np.float32([2, 3, -9]), "start": np.float32(1)})
    page.locator("#overview").get_by_role("button", name="main/scan_0.body/n").click()
    assert page.locator("#detail .place").inner_text() == "main/scan_0.body/log_2"
    assert page.locator("#detail svg.spark path").count() >= 2
    assert "NaN from iteration 2" in page.locator("#detail").inner_text()
    page.get_by_text("where the time goes").click()
    assert page.locator("#overview table").get_by_role("button", name="main/scan_0").count() >= 1
    table = page.locator('[data-block="main/loop_3.body"]')
    table.locator("h2 button").click()
    table.locator("details.values summary").click()
    table.locator("tbody tr").nth(1).wait_for()


def test_search_finds_a_node_in_a_closed_block(show: Any) -> None:
    page = show(SMOOTH)
    page.keyboard.press("/")
    page.keyboard.type("concat")
    page.keyboard.press("Enter")
    assert page.locator("#detail .place").inner_text() == "main/loop_3.body/concat_2"
    assert page.locator(".node.chosen").count() == 1


def test_light_and_dark(show: Any) -> None:
    page = show(SMOOTH)
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    page.keyboard.press("t")
    assert page.evaluate(paper) != before


def test_ten_thousand_nodes_can_be_used_after_two_seconds(show: Any) -> None:
    page = show(chain(10_000))
    page.locator(".filter").fill("v9876")
    assert page.locator(".rows li").count() == 2
    page.locator(".rows li").first.click()
    assert "main/tanh_9875" in page.locator("#detail").inner_text()
    assert int(page.evaluate("document.documentElement.dataset.ready")) < 2000
    assert page.locator("#detail .link").count() >= 2
