"""The built site in a browser: nothing is fetched from elsewhere, nothing sticks out, the steps can be walked, axe-core finds no fault.

``make docs-check`` runs it, after ``make docs``. It needs Chromium: ``apt install chromium``.
"""

import functools
import http.server
import os
import shutil
import threading

import pytest

from tests.docs.conftest import HTML, ROOT, why_no_site
from tools.docs.picture import DARK, LIGHT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(os.environ.get("MINIGRAD_BROWSER") != "1", reason="make docs-check runs it")
PAGES = ["index.html", "start.html", "tutorials/00_derivative_machine.html", "tutorials/01_derivative_to_graph.html",
         "errors/index.html", "errors/MG-E102.html", "errors/modified-by-an-inplace-operation.html",
         "reference/tensor.html", "reference/ops.html",
         "projects/digits_cnn.html", "projects/char_gpt.html", "map.html", "features.html", "teach/cheat-sheet.html"]
BUILT = sorted([path.relative_to(HTML).as_posix() for path in HTML.rglob("*.html") if "_static" not in path.parts]) or ["index.html"]
# A full look takes half an hour; every tenth page, and those above, for a change.
LOOKED_AT = BUILT if os.environ.get("MINIGRAD_EVERY") == "1" else sorted({*BUILT[::10], *PAGES})
TUTORIALS = [path.stem for path in sorted((ROOT / "tutorials").glob("[0-9]*.py"))]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def site():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(HTML))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    from playwright import sync_api
    assert not why_no_site(), why_no_site()
    assert CHROMIUM, "the pages are looked at in Chromium: apt install chromium"
    with sync_api.sync_playwright() as p:
        running = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


def watched(page, site):
    """A list that collects errors of the console, exceptions, and requests that leave the site."""
    wrong = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith((site, "data:", "blob:")) else wrong.append(request.url))
    return wrong


def sticking_out(page):
    """How many pixels a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages(site, browser, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name in PAGES:
        page = context.new_page()
        wrong = watched(page, site)
        page.goto(site + name, wait_until="load")
        out = sticking_out(page)
        assert out <= 0, f"{name} is {out} pixels wider than a screen of {width}"
        assert not wrong, f"{name}: {wrong}"
        page.close()
    context.close()


def test_arrow_keys_stay_on_the_page(site, browser):
    """A step-through that lost the focus must not send the reader to another tutorial."""
    page = browser.new_page()
    page.goto(site + "tutorials/02_the_engine.html")
    for key in ("ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)
        assert page.url.endswith("/02_the_engine.html")
    page.close()


def test_formulas_are_set(site, browser):
    page = browser.new_page()
    page.goto(site + "tutorials/01_derivative_to_graph.html")
    assert page.evaluate("document.fonts.check('16px \"minigrad math\"')")
    root = page.locator("math mover").first
    assert 0 < root.bounding_box()["height"] < 40
    page.close()


def test_the_map_can_be_used(site, browser):
    """Its first column is wide enough for words, and each row of code has a link."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(site + "map.html")
    tables = page.locator("table").filter(has_text="mechanism")
    assert tables.count() > 5
    for table in tables.all():
        assert table.locator("td").first.bounding_box()["width"] > 130
        assert all(row.locator("a").count() for row in table.locator("tbody tr").all())
    page.close()


def test_the_source_of_minigrad_can_be_read(site, browser):
    """Its lines are broken, and its comments are upright: an oblique overline stands beside its letter in some fonts."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(site + "tutorials/10_views_in_place.html")
    sources = page.locator(".cell_output .highlight-python pre")
    assert sources.count() > 2
    for source in sources.all():
        assert source.evaluate("pre => pre.scrollWidth - pre.clientWidth") == 0
    assert {span.evaluate("e => getComputedStyle(e).fontStyle") for span in sources.locator(".sd, .c1").all()} == {"normal"}
    page.close()


def test_search_finds_inplace(site, browser):
    page = browser.new_page()
    page.goto(site + "search.html?q=inplace")
    page.wait_for_selector("#search-results li a")
    assert "modified by an inplace operation" in page.inner_text("#search-results li >> nth=0")
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_word_shows_its_definition(site, browser, width):
    """With the keyboard and under the pointer, inside the window; Escape closes it."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(site + "tutorials/09_version_counters.html")
    words = [word for word in page.locator(".mg-explained").all() if word.is_visible()]
    assert len(words) >= 2
    for word in words:
        about = word.get_by_role("tooltip", include_hidden=True)
        assert not about.is_visible()
        word.locator("a").focus()
        assert about.is_visible()
        box = about.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        page.keyboard.press("Escape")
        assert not about.is_visible()
    words[0].locator("a").hover()
    assert words[0].get_by_role("tooltip").is_visible()
    page.close()


def test_a_solution_is_folded_away(site, browser):
    page = browser.new_page()
    page.goto(site + "tutorials/01_derivative_to_graph.html")
    folded = page.locator("details:has(summary:has-text('Show the solution'))").first
    code = folded.locator("pre").first
    assert not code.is_visible()
    folded.locator("summary").click()
    assert code.is_visible()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_follows_the_theme(site, browser, scheme):
    """The system's, and the one that the reader has chosen instead."""
    page = browser.new_page(color_scheme=scheme)
    page.goto(site + "tutorials/00_derivative_machine.html")
    for theme, paper in (("auto", LIGHT if scheme == "light" else DARK), ("light", LIGHT), ("dark", DARK)):
        page.evaluate("theme => document.body.dataset.theme = theme", theme)
        found = page.evaluate("getComputedStyle(document.querySelector('#two-paths')).getPropertyValue('--paper')")
        assert found.strip() == paper["paper"], theme
    page.close()


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_is_walked(site, browser, name):
    """On the published page: buttons and keys go forward, back and to the end, and two predictions are answered."""
    page = browser.new_page()
    wrong = watched(page, site)
    page.goto(f"{site}tutorials/{name}.html")
    steps = page.locator(".mg-step").first
    steps.scroll_into_view_if_needed()

    def at():
        return int(steps.locator(".mg-count").inner_text().split()[1])
    assert at() == 1
    steps.locator("[data-do=forth]").click()
    assert at() == 2
    steps.locator("[data-do=back]").click()
    assert at() == 1
    steps.focus()
    page.keyboard.press("ArrowRight")
    assert at() == 2
    page.keyboard.press("End")
    assert at() == int(steps.locator(".mg-count").inner_text().split()[3])
    page.keyboard.press("Home")
    steps.locator("[data-do=predict]").click()
    asked = 0
    while asked < 2 and steps.locator("[data-do=forth]").get_attribute("aria-disabled") != "true":
        steps.locator("[data-do=forth]").click()
        if steps.locator(".mg-ask").count():
            asked += 1
            page.keyboard.press("1")
            assert steps.locator(".mg-right, .mg-wrong").count()
    assert asked and steps.locator(".mg-score").inner_text().endswith(f"of {asked} right")
    assert not wrong
    page.close()


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page(site, browser, name):
    """Wide and narrow nothing sticks out, and axe finds no fault, with all parts unfolded. In the dark only the colours are others."""
    from axe_playwright_python.sync_playwright import Axe
    page = browser.new_page(reduced_motion="reduce")
    wrong = watched(page, site)
    page.goto(site + name, wait_until="load")
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        out = sticking_out(page)
        assert out <= 0, f"{out} pixels wider than a screen of {width}"
    for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options=options).response["violations"]
        assert [f"{v['id']}: {v['help']}: {v['nodes'][0]['html'][:200]} {v['nodes'][0].get('failureSummary', '')[:300]}"
                for v in found] == [], scheme
    assert not wrong
    page.close()
