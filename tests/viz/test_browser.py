"""The fragment in a browser: buttons, keys, slider, predict, two records; nothing is fetched, nothing fails, a phone is wide enough."""

import os
import shutil

import pytest

import minigrad as mg
from tests.viz.programs import diamond, everything, overwritten

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(os.environ.get("MINIGRAD_BROWSER") != "1", reason="make docs-check runs it")


@pytest.fixture(scope="module")
def browser():
    from playwright import sync_api
    assert CHROMIUM, "the pages are looked at in Chromium: apt install chromium"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show(browser, tmp_path):
    """A function that opens a page of `mg.viz`. Any message on the console and any request is an error."""
    said, contexts = [], []

    def shown(thing, width=1280, **options):
        thing.save(tmp_path / "page.html")
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if request.url != (tmp_path / "page.html").as_uri() else None)
        page.goto((tmp_path / "page.html").as_uri())
        return page
    yield shown
    for context in contexts:
        context.close()
    assert said == []


def step_of(page):
    return int(page.inner_text(".mg-count").split()[1])


def disabled(page, button):
    return page.get_attribute(f"[data-do={button}]", "aria-disabled") == "true"


def test_a_disabled_button_keeps_the_focus(show):
    """The keys would otherwise go to the page: at the last step they would do nothing, or scroll."""
    r = diamond()
    page = show(mg.viz.step(r))
    last = len(r.events)
    page.evaluate(f"document.querySelector('.mg-step').mg.go({last - 2})")
    page.focus("[data-do=forth]")
    for key in ("Enter", "Enter"):      # to the last step, and once more
        page.keyboard.press(key)
        assert step_of(page) == last and page.evaluate("document.activeElement.dataset.do") == "forth"
    assert disabled(page, "forth")
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == last - 1 and not disabled(page, "forth")


def test_buttons_and_keys(show):
    r = diamond()
    page = show(mg.viz.step(r))
    last = len(r.events)
    assert step_of(page) == 1 and disabled(page, "back") and not page.query_selector("details[open]")
    page.click("[data-do=forth]")
    assert step_of(page) == 2
    page.focus(".mg-step")
    for key, expected in [("ArrowRight", 3), ("ArrowLeft", 2), ("End", last), ("ArrowRight", last), ("Home", 1), ("ArrowLeft", 1)]:
        page.keyboard.press(key)
        assert step_of(page) == expected
    turns = [event.step for event in r.events if event.kind == "dequeue"]
    page.keyboard.press("ArrowDown")
    assert step_of(page) == turns[0]
    page.click("[data-do=next]")
    page.keyboard.press("ArrowUp")
    assert step_of(page) == turns[0]
    page.fill("input", "7")
    assert step_of(page) == 7 and page.get_attribute("input", "aria-valuetext").startswith("step 7: ")
    page.click("summary")
    page.click(f".mg-list li >> nth={last - 1}")
    assert step_of(page) == last


def test_going_back_undoes(show):
    """The page at a step is the same, however one got there."""
    page = show(mg.viz.step(everything()))
    state = "() => [...document.querySelectorAll('[data-c]')].map(e => e.dataset.v).join() + document.querySelector('.mg-panels').innerText"
    page.evaluate("document.querySelector('.mg-step').mg.go(60)")
    there = page.evaluate(state)
    page.keyboard.press("End")
    page.evaluate("document.querySelector('.mg-step').mg.go(150)")
    page.evaluate("document.querySelector('.mg-step').mg.go(60)")
    assert page.evaluate(state) == there


def test_play(show):
    page = show(mg.viz.step(diamond()))
    page.clock.install(time=0)
    page.clock.pause_at(1000)       # a clock of the test's own
    page.click("[data-do=play]")
    assert page.get_attribute("[data-do=play]", "aria-pressed") == "true"
    page.clock.run_for(3000)
    assert step_of(page) == 3
    page.click("[data-do=play]")
    page.clock.run_for(3000)
    assert step_of(page) == 3


def test_predict(show):
    r = overwritten()
    page = show(mg.viz.step(r))
    page.click("[data-do=predict]")
    found = []
    while not disabled(page, "forth"):
        page.click("[data-do=forth]")
        question = page.query_selector(".mg-ask")
        if question is not None:
            before = page.input_value("input")
            assert page.locator(".mg-queue span:visible").count() == 0      # it would tell the answer
            page.click("[data-do=forth]")
            assert page.input_value("input") == before          # an answer is waited for
            found.append(question.inner_text())
            page.keyboard.press("1")
            assert page.query_selector(".mg-right, .mg-wrong") is not None
    assert "Which node runs next?" in found and any("Will it raise?" in text for text in found)
    assert page.inner_text(".mg-score").endswith(f"of {len(found)} right")


def test_predict_by_the_graph(show):
    page = show(mg.viz.step(diamond()))
    page.click("[data-do=predict]")
    while page.query_selector(".mg-ask") is None or "Which node" not in page.inner_text(".mg-ask"):
        if page.query_selector(".mg-ask") is not None:
            page.keyboard.press("1")
        page.click("[data-do=forth]")
    name = page.inner_text(".mg-card button").split()[0]
    page.click(f".mg-node[data-n={name}]")
    assert page.query_selector(".mg-ask") is None and page.query_selector(".mg-right, .mg-wrong") is not None


def test_diff(show):
    d = mg.viz.diff(diamond(twice=True), diamond(keep=True, twice=True))
    page = show(d)
    first = next(i for i, pair in enumerate(d.pairs) if pair[2] != "=")
    steps = [int(text.split()[1]) for text in page.locator(".mg-count").all_inner_texts()]
    assert steps == [d.pairs[first][0], d.pairs[first][1]]
    page.click("[data-do=dnext]")
    page.click("[data-do=dbefore]")
    page.focus(".mg-diff")
    page.keyboard.press("ArrowLeft")
    steps = [int(text.split()[1]) for text in page.locator(".mg-count").all_inner_texts()]
    assert steps == [d.pairs[first - 1][0], d.pairs[first - 1][1]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [lambda: mg.viz.step(everything()), lambda: mg.viz.diff(diamond(), diamond(keep=True)),
                                  lambda: mg.viz.draw(mg.ones(3, requires_grad=True).exp().sum())])
def test_a_phone_is_wide_enough(show, make, scheme):
    page = show(make(), width=390, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    dark = page.evaluate("getComputedStyle(document.querySelector('.mg-viz')).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    page.evaluate("document.body.dataset.theme = 'light'")
    assert page.evaluate("getComputedStyle(document.querySelector('.mg-viz')).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("document.body.dataset.theme = 'dark'")
    assert page.evaluate("getComputedStyle(document.querySelector('.mg-viz')).backgroundColor") != "rgb(255, 255, 255)"


def test_without_a_script(show):
    r = diamond()
    page = show(mg.viz.step(r), java_script_enabled=False)
    assert page.locator(".mg-list li:visible").count() == len(r.events) and not page.is_visible(".mg-bar")
    assert page.locator(".mg-node[data-v=done]").count() == len(r.order)


def test_several_on_one_page(show, tmp_path):
    class Two:
        def save(self, path):
            path.write_text("".join([thing._repr_html_() for thing in (mg.viz.step(diamond()), mg.viz.step(diamond()))]), "utf-8")
    page = show(Two())
    page.click("[data-do=last] >> nth=1")
    assert [text.split()[1] == "1" for text in page.locator(".mg-count").all_inner_texts()] == [True, False]
