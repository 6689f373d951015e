"""The events of a record, and the words that describe them.

Only this file describes events in words. So the table of a record and the pages of ``viz`` always say the same.

Read next: ``record.py``, which shows the events; ``_core/observe/recorder.py``, which records them.
"""

import textwrap
from typing import Any, NamedTuple

__all__ = ["Event"]


SHOWN = 8       # how many nodes of a list are shown, at most
WIDE = 80       # how many letters of an error are shown, at most


class Event(NamedTuple):
    """One event of a record. See `debug.record`.

    step        the number of the event, from 1
    kind        the kind of the event: "dequeue", "unpack", ...
    node        the name of the node, such as n2; None for an event without a node
    op          the op of the node, such as MulBackward0; empty for an event without a node
    task        the number of the backward, from 1; None outside a backward
    depth       the number of backwards that this backward is nested in
    thread      the number of the thread, from 1
    data        the other values; which ones, depends on the kind: see the schema
    """

    step: int
    kind: str
    node: str | None
    op: str
    task: int | None
    depth: int
    thread: int
    data: dict[str, Any]

    @property
    def what(self):
        """What happened, in words."""
        return WORDS[self.kind](self.data)[0]

    @property
    def why(self):
        """Why or how it happened, in words."""
        return WORDS[self.kind](self.data)[1]


def kind_of(value):
    """Return the dtype and shape of a tensor as text."""
    return f"{value['dtype']} {value['shape']}" if "dtype" in value else value["type"]


def summarize(value):
    """Return a tensor as a short text."""
    if value is None:
        return "nothing"
    if "numbers" in value:
        numbers = format_numbers(value["numbers"])
        empty = f" {value['shape']}" if 0 in value["shape"] else ""
        return numbers + empty + ("" if value["dtype"] == "float32" else f" {value['dtype']}")
    rest = ", ".join([f"{key} {format_numbers(value[key])}" for key in ("min", "max", "mean", "largest") if key in value])
    return kind_of(value) + (f", {rest}" if rest else "")


def format_numbers(numbers):
    """Return nested lists of numbers as text, each number with four digits."""
    if isinstance(numbers, list):
        return f"[{', '.join(map(format_numbers, numbers))}]"
    return f"{numbers:.4g}" if isinstance(numbers, float) else str(numbers)


def summarize_all(values):
    """Return several tensors as a short text."""
    return ", ".join([summarize(value) for value in values]) or "nothing"


def shorten(names):
    """Return names as text. A long list ends after its first names."""
    return ", ".join(names[:SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > SHOWN else "")


def count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def describe_begin(data):
    kept = "saved tensors are retained" if data["keep_graph"] else "each node frees its saved tensors after it has run"
    recorded = "; create_graph: the backward is recorded" if data["create_graph"] else ""
    selective = "; only nodes on a path to the inputs run" if data["selective"] else ""
    return f"a backward over {count(len(data['nodes']), 'node')}", kept + recorded + selective


def describe_count(data):
    nodes = data["nodes"]
    left = len([node for node in nodes if not node["needed"]])
    return (shorten([f"{node['node']}: {node['waits']}" for node in nodes]),
            "a node waits for one gradient per edge to it" + (f"; {count(left, 'node')} not needed" if left else ""))


def describe_receive(data):
    if data["from"] is None:
        return summarize(data["gradient"]), "the backward begins here" + (f", input {data['input']}" if data["input"] else "")
    what = summarize(data["gradient"])
    if data["how"] in ("in place", "out of place"):
        what = f"{summarize(data['before'])} + {what} = {summarize(data['after'])}"
    where = f", input {data['input']}" if data["input"] else ""
    how = {"undefined": "", "first": ""}.get(data["how"], f", added {data['how']}")
    converted = f", converted from {kind_of(data['fitted'])}" if data["fitted"] else ""
    waits = f"; waits for {data['waits']} more" if data["waits"] else ""
    return what, f"from {data['from']}{where}{converted}{how}{waits}"


def describe_dequeue(data):
    since = f"ready since step {data['since']}" if data["since"] else "ready"
    others = shorten(data["others"])
    rule = {"only": "the only ready node", "latest": f"made later than {others}",
            "accumulate": f"an AccumulateGrad runs first, before {others}",
            "swapped": f"your ready queue chose it{f', before {others}' if others else ''}"}
    result = "" if data["runs"] else "; it does not run: its gradient is a result"
    gradient = data["gradient"]
    return summarize_all(gradient) if isinstance(gradient, list) else summarize(gradient), f"{since}; {rule[data['rule']]}{result}"


def describe_hook(data):
    before = summarize_all(data["before"])
    if "after" not in data:
        return f"{data['function']}: {before}", f"{data['hook']}; it did not return"
    changed = "replaced" if data["replaced"] else "unchanged" if data["after"] == data["before"] else \
        ".grad dropped" if data["after"] == [None] else "changed in place"
    return f"{data['function']}: {before}" + ("" if changed == "unchanged" else f" -> {summarize_all(data['after'])}"), \
        f"{data['hook']}: {changed}"


def describe_unpack(data):
    if "hook" in data:
        return summarize(data["value"]) if data.get("value") else "", f"by the unpack hook {data['hook']}"
    version = "unchanged" if data["saved"] == data["now"] else "modified since then"
    return f"{data['name']} = {summarize(data['value'])}", f"saved at version {data['saved']}, now {data['now']}: {version}"


HOW = {"stolen": "stolen without a copy: nothing else refers to it",
       "copied": "a copy: something else refers to the gradient, or the leaf has another memory layout",
       "in place": "added in place to the old .grad", "cloned": "a clone, with history",
       "out of place": "a new sum, with history"}


# kind -> data -> (what, why)
WORDS = {
    "made": lambda d: ("a new node", f"while {d['by']} runs" if d["by"] else "the forward pass"),
    "write": lambda d: (f"{d['op']}: version {d['version']}", "a write in place"),
    "pack": lambda d: (f"{summarize(d['value'])} -> {d['kept']}", f"by the pack hook {d['hook']}"),
    "begin": describe_begin,
    "count": describe_count,
    "receive": describe_receive,
    "enqueue": lambda d: ("ready", f"its last gradient came from {d['last']}" if d["last"] else "it waits for no gradient"),
    "dequeue": describe_dequeue,
    "hook": describe_hook,
    "retain": lambda d: (f".grad = {summarize(d['grad'])}", "retain_grad()"),
    "unpack": describe_unpack,
    "compute": lambda d: (f"{summarize_all(d['gradients'])} -> {summarize_all(d['results'])}", ""),
    "release": lambda d: (count(d["tensors"], "saved tensor"), "without retain_graph"),
    "accumulate": lambda d: (f".grad = {summarize(d['grad'])}", HOW[d["how"]]),
    "result": lambda d: (summarize(d["gradient"]) if not isinstance(d["gradient"], list) else summarize_all(d["gradient"]),
                         "the result for " + ", ".join([f"input {position}" for position in d["positions"]])),
    "error": lambda d: (textwrap.shorten(f"{d['type']}: {d['message']}", WIDE, placeholder=" ..."), d["code"] or ""),
    "end": lambda d: (count(d["nodes"], "node") + (" have run" if d["nodes"] != 1 else " has run"),
                      "no node is ready" + (f"; {count(d['callbacks'], 'callback')} to call" if d["callbacks"] else "")),
}
