"""The live pages in a browser: an exercise is answered, a step-through is recorded again, progress stays. ``make docs-check`` runs it."""

import json
import os
import re
import urllib.request

import pytest

from tests.docs.conftest import HTML, live_server
from tests.docs.test_browser import browser, site  # noqa: F401

pytestmark = pytest.mark.skipif(os.environ.get("MINIGRAD_BROWSER") != "1", reason="make docs-check runs it")
SECONDS = 120 * 1000        # for a kernel to start and minigrad to be imported, on a busy machine
GRAPH = "tutorials/01_derivative_to_graph.html"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("jupyter_server")
    with live_server(HTML, tmp_path_factory.mktemp("live")) as about:
        yield about


@pytest.fixture
def opened(server, browser):  # noqa: F811
    """opened(name): a page in a browser that has the cookie. Nothing may fail in it, and nothing may be fetched from elsewhere."""
    from playwright.sync_api import expect
    expect.set_options(timeout=SECONDS)
    context, wrong = browser.new_context(viewport={"width": 1280, "height": 900}), []
    context.set_default_timeout(SECONDS)
    here = server["url"]

    def open_page(name):
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith((here, "data:", "blob:")) else wrong.append(request.url))
        page.goto(f"{here}minigrad/{name}?token={server['token']}")
        return page
    yield open_page
    context.close()
    assert not wrong


def said(cell, pattern):
    """Wait until a cell says this, and nothing runs."""
    from playwright.sync_api import expect
    expect(cell.locator(".live-said")).to_have_text(re.compile(pattern, re.DOTALL))
    expect(cell.get_by_role("button", name="Run")).to_be_visible()


def kernels(server):
    request = urllib.request.Request(f"{server['url']}api/kernels", headers={"Authorization": f"token {server['token']}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_an_exercise(server, opened):
    """No answer, a wrong one and a right one. The right one is still there after a reload, and the index of the tutorials says so."""
    from playwright.sync_api import expect
    page = opened(GRAPH)
    assert "token" not in page.url
    cell = page.locator("div.cell:has(button:has-text('Check'))").first
    area, check = cell.locator("textarea"), cell.get_by_role("button", name="Check")
    stub = area.input_value()
    check.click()
    said(cell, r"^not yet: exercise 1\. Write your answers into the list\.$")
    area.fill(stub.replace("[None, None, None, None, None]", "[1, 3, 2, 5, 0]"))
    check.click()
    said(cell, r"^not yet: exercise 1\. a \* b: not 1\..*You counted the operation\. The two leaves have nodes too\.$")
    assert "right" not in page.locator("div.tag_solution .live-said").all_inner_texts()      # the solution did not run
    area.fill(stub.replace("[None, None, None, None, None]", "[3, 3, 2, 5, 0]"))
    check.click()
    said(cell, "^✓ right$")
    page.reload()
    expect(cell.locator(".live-said")).to_have_text("✓ right")
    assert "[3, 3, 2, 5, 0]" in area.input_value() and "[3, 3, 2, 5, 0]" in cell.locator("pre").first.inner_text()
    cell.get_by_role("button", name="Reset").click()
    assert area.input_value() == stub
    expect(opened("tutorials/index.html").locator("span.live-right")).to_have_text("✓ 1 right")


def test_a_step_through_is_recorded_again(server, opened):
    """Typed as a reader does it, run with Shift+Enter; the cells above run first and keep what they showed."""
    from playwright.sync_api import expect
    page = opened(GRAPH)
    cell = page.locator("div.cell:has(.mg-step)").first
    count, area = cell.locator(".mg-count"), cell.locator("textarea")
    assert count.inner_text() == "Step 1 of 32"
    area.click()
    page.keyboard.press("Control+End")
    for line in ("", "for _ in range(2):", "print(y)"):      # Enter keeps the indentation, and adds to it after a colon
        page.keyboard.type(line)
        page.keyboard.press("Enter")
    assert area.input_value().endswith("mg.viz.step(r)\nfor _ in range(2):\n    print(y)\n    ")
    area.fill(area.input_value().partition("\nfor")[0].replace("(a * b).sin() + a", "(a * b).sin()"))
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("Step 1 of 26")
    said(cell, "^$")
    cell.locator("[data-do=forth]").click()
    assert count.inner_text() == "Step 2 of 26"
    assert cell.locator("pre").first.evaluate("pre => pre.scrollHeight") == area.evaluate("area => area.scrollHeight")


def test_errors_endings_and_stop(server, opened):
    """An error is shown where it happened; a loop can be stopped; a Python that ended starts again; a closed page ends its own."""
    from playwright.sync_api import expect
    page = opened(GRAPH)
    first, second = page.locator("div.cell").nth(0), page.locator("div.cell").nth(1)
    first.locator("textarea").fill("import math\nmath.sqrt(-1)")
    second.get_by_role("button", name="Run").click()
    said(second, "^This has not run: cell 1, above, has raised an error")
    assert "ValueError" in first.locator(".cell_output").inner_text()
    first.locator("textarea").fill("print('here', flush=True)\nwhile True: pass")
    first.get_by_role("button", name="Run").click()
    expect(first.locator(".cell_output")).to_contain_text("here")
    first.get_by_role("button", name="Stop").click()
    expect(first.locator(".cell_output")).to_contain_text("KeyboardInterrupt")
    first.locator("textarea").fill("import os\nos._exit(1)")
    first.get_by_role("button", name="Run").click()
    said(first, "Python has ended")
    first.locator("textarea").fill("mg_source = __import__('minigrad').utils.source.source_of('_version.py')\nmg_source")
    first.get_by_role("button", name="Run").click()
    expect(first.locator(".cell_output .highlight-python")).to_contain_text("__version__")
    page.get_by_role("button", name="Start Python again").click()
    first.locator("textarea").fill("print(1)\nprint(2)")
    first.get_by_role("button", name="Run").click()
    expect(first.locator(".cell_output")).to_have_text(re.compile(r"^\s*1\s+2\s*$"))
    assert [one for one in kernels(server) if one["connections"]]
    page.close()
    index = opened("index.html")
    for _ in range(100):
        if not [one for one in kernels(server) if one["connections"]]:
            return
        index.wait_for_timeout(200)
    raise AssertionError(kernels(server))


def test_static_pages_show_no_buttons(site, browser):  # noqa: F811
    page, wrong = browser.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    for address in (f"{site}{GRAPH}", (HTML / GRAPH).as_uri()):
        page.goto(address)
        assert page.locator("div.cell").count() > 20 and page.locator("textarea, .live-bar, .live-note").count() == 0
        assert page.get_by_role("button", name="Run", exact=True).count() == 0
    assert not wrong
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(server, browser, scheme):  # noqa: F811
    from axe_playwright_python.sync_playwright import Axe
    page = browser.new_page(color_scheme=scheme)
    page.goto(f"{server['url']}minigrad/{GRAPH}?token={server['token']}", wait_until="load")
    found = Axe().run(page).response["violations"]
    assert [f"{v['id']}: {v['nodes'][0]['html'][:200]} {v['nodes'][0].get('failureSummary', '')[:300]}"
            for v in found if v["impact"] in ("serious", "critical")] == []
    page.close()
