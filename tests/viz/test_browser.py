"""The fragment in a browser: buttons, keys, slider, predict, two records; nothing is fetched, nothing fails, a phone is wide enough."""

import os
import shutil

import pytest

import minigrad as mg
from minigrad.viz._step_builder import build_steps
from minigrad.viz._timeline import Timeline
from tests.viz.programs import RECORDS, diamond, everything, overwritten, writes_to_a_view

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


LOOKS = """() => [...document.querySelectorAll(".mg-node rect")].map(e => {
    const s = getComputedStyle(e);
    return [e.parentNode.dataset.v, s.fill, s.stroke, s.strokeWidth, s.filter].join(" ");
})"""


def test_predict(show):
    """It asks immediately, says whether the answer is right, and why; a button leads to the next question, until the last one."""
    r = overwritten()
    page = show(mg.viz.step(r))
    page.click("[data-do=predict]")
    found = []
    while True:
        question = page.inner_text(".mg-ask")
        before = page.input_value("input")
        assert page.locator(".mg-queue span:visible").count() == 0      # it would tell the answer
        looks = {state: {look for look in page.evaluate(LOOKS) if look.startswith(f"{state} ")} for state in ("ready", "wait")}
        assert {look.partition(" ")[2] for look in looks["ready"]} <= {look.partition(" ")[2] for look in looks["wait"]}
        assert page.locator(".mg-node:is([data-v=ready],[data-v=wait]) [data-t$='.t']:visible").count() == 0
        page.click("[data-do=forth]")
        assert page.input_value("input") == before          # an answer is waited for
        found.append(question)
        page.keyboard.press("1")
        said = page.inner_text(".mg-right, .mg-wrong")
        assert said[0] in "✓✗" and ": " in said and page.query_selector(".mg-ask") is None
        if "last question" in said:
            break
        page.click(".mg-card button")
    assert "Which node runs next?" in found and any("Will it raise?" in text for text in found)
    assert len(found) == len([step for step in build_steps(Timeline(r)) if step.quiz])
    assert page.inner_text(".mg-score").endswith(f"of {len(found)} right")
    page.click("[data-do=predict]")
    assert page.locator(".mg-score").inner_text() == "" and page.query_selector(".mg-viz[data-predict]") is None


def test_predict_without_a_question(show):
    with mg.debug.record() as r:
        mg.ones(1, requires_grad=True).exp()
    page = show(mg.viz.step(r))
    page.click("[data-do=predict]")
    assert page.inner_text(".mg-ask") == "This record has no question."
    page.click("[data-do=forth]")
    assert step_of(page) == 2


def test_predict_by_the_graph(show):
    page = show(mg.viz.step(diamond()))
    page.click("[data-do=predict]")
    while "Which node" not in page.inner_text(".mg-ask"):
        page.keyboard.press("1")
        page.click(".mg-card button")
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


@pytest.mark.parametrize("width", [1280, 736, 390])
def test_a_graph_fits(show, width):
    """The whole graph is in its panel, and its letters have more than eight pixels."""
    page = show(mg.viz.step(writes_to_a_view()), width=width)
    inner, outer = [page.locator(what).bounding_box() for what in (".mg-graph", ".mg-panel-graph .mg-scroll")]
    assert inner["width"] <= outer["width"]
    assert inner["width"] >= .72 * float(page.get_attribute(".mg-graph", "width"))


def test_a_wide_graph_has_the_whole_width(show):
    with mg.debug.record() as r:
        x = mg.ones(1, requires_grad=True)
        sum([(x + i) * 2 for i in range(4)]).backward()
    page = show(mg.viz.step(r), width=800)
    inner, outer, step = [page.locator(what).bounding_box()["width"] for what in (".mg-graph", ".mg-panel-graph .mg-scroll", ".mg-step")]
    assert 440 < inner <= outer and outer > step - 40


def test_the_bar_stays(show):
    """With its keys, while the page scrolls."""
    page = show(mg.viz.step(everything()), width=800)
    page.set_viewport_size({"width": 800, "height": 400})
    assert page.locator(".mg-keys").inner_text().split()[:3] == ["←", "→", "step"]
    page.evaluate("scrollTo(0, 500)")
    assert page.locator(".mg-step").bounding_box()["y"] < -300 and page.locator(".mg-bar").bounding_box()["y"] == 0


def test_a_phone_begins_with_the_graph(show):
    """A screen and a half at most; the tables are one touch away."""
    page = show(mg.viz.step(diamond()), width=390)
    assert page.is_visible(".mg-graph") and not page.is_visible("table") and page.locator(".mg-step").bounding_box()["height"] < 1100
    page.click("[data-do=fold]")
    assert page.is_visible("table") and page.get_attribute("[data-do=fold]", "aria-expanded") == "true"
    page.focus(".mg-step")
    page.keyboard.press("t")
    assert not page.is_visible("table")


@pytest.mark.parametrize("width, graphs", [(390, 1), (1280, 2)])
def test_a_diff_has_a_graph(show, width, graphs):
    """On a phone one: the right one, except at a step that only the left record has."""
    d = mg.viz.diff(diamond(), diamond(keep=True))
    page = show(d, width=width)
    shown = [page.is_visible(f".mg-graph >> nth={i}") for i in (0, 1)]
    assert sum(shown) == graphs
    at = next(i for i, pair in enumerate(d.pairs) if pair[2] != "=")
    assert graphs == 2 or shown == [d.pairs[at][1] is None, d.pairs[at][1] is not None]
    assert page.locator("table:visible").count() == 0
    page.click("[data-do=dfold]")
    assert page.locator(".mg-panel table:visible").count() >= 4


@pytest.mark.parametrize("width", [1280, 740, 390])
def test_the_line_of_the_program_moves(show, width):
    """Beside the graph, below it on a phone; one line is current, in sight, and told to a screen reader."""
    r = diamond()
    page = show(mg.viz.step(r), width=width)
    graph, text = [page.locator(f".mg-panel-{name}").bounding_box() for name in ("graph", "source")]
    assert text["y"] >= graph["y"] + graph["height"] if width == 390 else text["x"] >= graph["x"] + graph["width"]
    current, seen = page.locator(".mg-panel-source [aria-current=true]"), []
    page.focus(".mg-step")
    for _ in r.events:
        assert current.count() == 1
        line, box = current.bounding_box(), page.locator(".mg-panel-source .mg-scroll").bounding_box()
        assert box["y"] <= line["y"] and line["y"] + line["height"] <= box["y"] + box["height"]
        seen.append((current.inner_text().strip(), page.locator(".mg-panel-source [data-v~=from]").all_inner_texts()))
        page.keyboard.press("ArrowRight")
    texts = list(dict.fromkeys([line for line, _ in seen]))
    assert texts == ["y = (x * w).exp()", "z = (y * w).sum()", "z.backward(retain_graph=keep)"]
    made = [line.strip() for text, lines in seen if text == texts[2] for line in lines]
    assert list(dict.fromkeys(made)) == [texts[1], texts[0]]


def test_an_address_names_a_step(show):
    page = show(mg.viz.step(diamond(), first=3))
    page.evaluate("location.hash = document.querySelector('.mg-step').id + '-step-7'")
    page.wait_for_function("document.querySelector('.mg-count').textContent.startsWith('Step 7 ')")
    page.click("[data-do=forth]")
    assert page.get_attribute(".mg-count", "href").endswith("-step-8")
    page.click(".mg-count")
    page.reload()
    assert step_of(page) == 8


def test_a_step_is_saved_as_svg(show, browser, tmp_path):
    """A picture that looks the same without the page."""
    page = show(mg.viz.step(diamond()))
    page.focus(".mg-step")
    page.keyboard.press("End")
    with page.expect_download() as download:
        page.click("[data-do=svg]")
    assert download.value.suggested_filename == f"step-{len(diamond().events)}.svg"
    download.value.save_as(tmp_path / "step.svg")
    fill = page.evaluate("getComputedStyle(document.querySelector('.mg-node[data-v=done] rect')).fill")
    alone = browser.new_page()
    alone.goto((tmp_path / "step.svg").as_uri())
    assert alone.evaluate("getComputedStyle(document.querySelector('[data-v=done] rect')).fill") == fill
    alone.close()


STATES_AT = """seconds => {
    for (const a of document.getAnimations()) { a.pause(); a.currentTime = 1000 * seconds; }
    return [...document.querySelectorAll(".mg-node rect")].map(e => getComputedStyle(e).fill + getComputedStyle(e).strokeWidth);
}"""
TEXTS_AT = """() => [...document.querySelectorAll("text")].filter(e => {
    const s = getComputedStyle(e);
    return e.textContent && s.visibility === "visible" && s.display !== "none";
}).map(e => e.textContent)"""


def test_all_steps_are_saved_as_an_animated_svg(show, browser, tmp_path):
    """By the button and by Python: both have the same texts and colours at each step, and the page is where it was."""
    r = diamond()
    step = mg.viz.step(r)
    page = show(step)
    page.click("[data-do=predict]")
    before = page.input_value("input")
    with page.expect_download() as download:
        page.click("[data-do=animate]")
    download.value.save_as(tmp_path / "page.svg")
    assert page.input_value("input") == before and page.get_attribute(".mg-step", "data-predict") is not None
    step.save(tmp_path / "python.svg", animate=1.2)
    found = []
    for name in ("page.svg", "python.svg"):
        alone = browser.new_page()
        alone.goto((tmp_path / name).as_uri())
        found.append([(alone.evaluate(STATES_AT, 1.2 * k + 0.6), sorted(alone.evaluate(TEXTS_AT))) for k in range(len(r.events))])
        assert alone.evaluate("document.getAnimations()[0].effect.getTiming().duration") == 1200 * len(r.events)
        alone.emulate_media(reduced_motion="reduce")
        assert alone.evaluate("document.getAnimations().length") == 0 and any("42 end" in text for text in alone.evaluate(TEXTS_AT))
        alone.close()
    for (colours, texts), (others, other_texts) in zip(*found):
        assert colours == others and texts == other_texts


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*RECORDS, "diff"])
def test_axe_finds_no_fault(show, name, scheme):
    """At the beginning, in the middle, at the end, and while a question is open."""
    from axe_playwright_python.sync_playwright import Axe
    page = show(mg.viz.step(RECORDS[name]()) if name in RECORDS else mg.viz.diff(diamond(), diamond(keep=True)), color_scheme=scheme,
                reduced_motion="reduce")
    page.evaluate("for (const list of document.querySelectorAll('details')) list.open = true")
    for place in (0, 0.5, 1, "predict", "answer"):
        if place == "predict":
            page.evaluate("for (const b of document.querySelectorAll('[data-do=predict]')) b.click()")
        elif place == "answer":
            page.evaluate("for (const b of document.querySelectorAll('.mg-card button')) b.click()")
        else:
            page.evaluate("p => { for (const e of document.querySelectorAll('.mg-step')) e.mg.go(Math.round(e.mg.last * p)) }", place)
        found = Axe().run(page).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"][:200], v["nodes"][0].get("failureSummary", "")[:300]) for v in found] == []


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
