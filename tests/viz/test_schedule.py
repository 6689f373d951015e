"""`mg.viz.schedule`: a box for each action, none over another, and idle time as `simulate` counts it."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad.distributed.pipelining import PipelineStage, Schedule1F1B, local_groups, simulate, step_together
from minigrad.distributed.pipelining.schedules import SCHEDULES
from tests.viz.test_step import Reader

BOX = re.compile(r'<g class="mg-action" data-kind="(\w)"><title>(\w+): ([^ ]+) to ([^<]+)</title><rect x="([^"]+)" y="([^"]+)" width="([^"]+)"')


def boxes(picture):
    """y -> boxes as (kind, action, start, end, left, right)."""
    rows = {}
    for kind, action, start, end, x, y, width in BOX.findall(picture.svg()):
        rows.setdefault(float(y), []).append((kind, action, float(start), float(end), float(x), float(x) + float(width)))
    return rows


def words(picture):
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.svg())


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(list(SCHEDULES)), st.integers(1, 4), st.integers(0, 2), st.lists(st.integers(0, 5), min_size=4, max_size=4))
def test_boxes(name, ranks, more, times):
    local, (f, i, w, message) = (2 if name == "ZBVZeroBubble" else 1), times
    found = simulate(name, ranks, ranks * (1 + more), F=f, I=i, W=w + 1, message=message)
    picture = mg.viz.schedule(found)
    rows = list(boxes(picture).values())
    assert len(rows) == ranks
    for row, timed in zip(rows, found.timeline.values()):
        assert [box[1] for box in row] == [str(each.action) for each in timed] and all(box[0] in box[1] for box in row)
        assert [(box[2], box[3]) for box in row] == [(each.start, each.end) for each in timed]
        assert all(a[5] <= b[4] + 1e-6 for a, b in pairwise(row))
    assert len({round(box[5] - box[4], 0) for row in rows for box in row if box[0] == "F" and f}) <= 2 and local
    (half,) = picture.halves
    assert half.bubbles == found.bubbles and half.bubble == found.bubble
    shown = words(picture)
    assert [f"{100 * bubble:.1f} % idle" for bubble in found.bubbles] == [word for word in shown if word.endswith("idle") and ":" not in word]
    Reader(picture._repr_html_())


def test_idle_time_is_drawn():
    """GPipe on two ranks: 9 long; rank 0 waits from 2 to 5, rank 1 from 0 to 1 and from 7 to 9."""
    svg = mg.viz.schedule(simulate("GPipe", 2, 2)).svg()
    lines = [(float(a), float(b)) for a, b in re.findall(r'class="mg-idle" d="M([\d.]+) [\d.]+H([\d.]+)"', svg)]
    unit = (lines[0][1] - lines[0][0]) / 3
    assert [round((b - a) / unit) for a, b in lines] == [3, 1, 2]


def test_letters():
    """The stage is there if a rank has several; a legend has the kinds that occur."""
    shown = words(mg.viz.schedule(simulate("1F1B", 2, 2), title="two ranks"))
    assert shown[:3] == ["two ranks", "planned: 9, 33.3 % idle", "rank 0"] and "F0" in shown and "B1" in shown
    assert "whole backward" in shown and "backward of the weights" not in shown
    shown = words(mg.viz.schedule(simulate("ZBVZeroBubble", 2, 4)))
    assert {"0F0", "3I1", "1W2", "backward of the inputs", "backward of the weights"} <= set(shown) and "whole backward" not in shown


def test_narrow_boxes_have_a_title():
    picture = mg.viz.schedule({0: [("0F0", 0, 1000), ("0F1", 1000, 1001), ("0B0", 1001, 3000)]})
    assert [box[1] for row in boxes(picture).values() for box in row] == ["0F0", "0F1", "0B0"] and "F1" not in words(picture)


def test_planned_beside_measured():
    layers = [mg.nn.Linear(3, 3), mg.nn.Linear(3, 1)]
    schedules = [Schedule1F1B(PipelineStage(layer, rank, 2, group=group), 4, loss_fn=mg.nn.MSELoss())
                 for rank, (layer, group) in enumerate(zip(layers, local_groups(2)))]
    for schedule in schedules:
        schedule.record = True
    step_together(schedules, mg.ones(8, 3), target=mg.zeros(8, 1))
    measured = [schedule.timeline for schedule in schedules]
    found = simulate("1F1B", 2, 4)
    picture = mg.viz.schedule(found, measured)
    planned, real = picture.halves
    assert [half.name for half in picture.halves] == ["planned", "measured"] and real.start == measured[0][0].start
    assert [[cell.text for cell in row] for row in planned.rows] == [[cell.text for cell in row] for row in real.rows]
    assert 0.5 <= real.bubble < 1        # two ranks that take turns
    assert len(boxes(picture)) == 4 and repr(picture).count("measured") == 2
    assert mg.viz.schedule(measured=dict(enumerate(measured))).halves[0] == real
    assert repr(mg.viz.schedule(found.timeline)) == repr(mg.viz.schedule(found))


def test_escaped():
    text = '<script>"&'
    html = mg.viz.schedule(simulate("GPipe", 1, 1), title=text)._repr_html_()
    assert text not in html and "&lt;script&gt;&quot;&amp;" in html
    Reader(html)


@pytest.mark.parametrize("form", ["html", "svg"])
def test_files(tmp_path, form):
    path = tmp_path / f"schedule.{form}"
    mg.viz.schedule(simulate("GPipe", 2, 2), title="two").save(path)
    text = path.read_text("utf-8")
    assert "0B1: 7 to 9" in text and ".mg-action" in text and text.startswith("<!doctype html>" if form == "html" else "<svg xmlns=")


@pytest.mark.parametrize("error, key, call", [
    (ValueError, "neither a planned nor a measured", lambda: mg.viz.schedule()),
    (ValueError, "no actions as measured", lambda: mg.viz.schedule(measured=[[], []])),
    (ValueError, "no actions as planned", lambda: mg.viz.schedule({})),
    (TypeError, "but got int", lambda: mg.viz.schedule(3)),
    (TypeError, "a list of (action, start, end), but got list", lambda: mg.viz.schedule([["0F0"]])),
    (TypeError, "(action, start, end)", lambda: mg.viz.schedule([[("F", 0, 1)]])),
    (TypeError, "(action, start, end)", lambda: mg.viz.schedule([[("0F0", 1, 0)]])),
    (ValueError, "draws at most 20000 actions, but got 20002", lambda: mg.viz.schedule(simulate("GPipe", 1, 10001))),
    (ValueError, "html or svg, not as 'png'", lambda: mg.viz.schedule(simulate("GPipe", 1, 1)).save("schedule.png")),
])
def test_bad_input(error, key, call):
    with pytest.raises(error) as info:
        call()
    assert key in str(info.value)
