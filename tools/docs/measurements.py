"""Pictures and tables of two measurements, for the page about performance: how cost grows with the graph, and other libraries.

    benchmarks/results/growth.json   ->  growth()   four panels for time, freeing and memory; a table of all figures
    benchmarks/results/rivals.json   ->  rivals()   a panel for each program; tables of times and of first calls

The pictures are `Picture`s: their colours follow the page, and a screen reader reads their description. All scales are logarithmic.
"""

import json
import math

from benchmarks.records import RESULTS, describe
from tools.docs.picture import BODY, Picture, label

__all__ = ["growth", "growth_pictures", "level", "rivals", "rivals_picture"]

WIDE = 580
LEVEL = 1.2         # times the least: so much may time per node rise and be called level
LINES = [("minigrad", "blue", False, "minigrad"), ("minigrad, no collector", "blue", True, "no collector"),
         ("torch", "amber", False, "PyTorch"), ("torch, no collector", "amber", True, "no collector")]


def read(name):
    """A record of benchmarks/results."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def grid(heads, rows, right=1):
    """A table in Markdown; the columns from number `right` on are aligned to the right."""
    line = ["---"] * right + ["--:"] * (len(heads) - right)
    return "\n".join([f"| {' | '.join(row)} |" for row in (heads, line, *rows)])


def raw(picture):
    """A picture as a part of a page."""
    picture.check()
    return f'```{{raw}} html\n<figure class="picture" tabindex="0">\n{picture.svg()}</figure>\n```\n'


# ---- cost as work grows -----------------------------------------------------------------------------------

def series(record, value):
    """program -> variant -> list of (nodes, number): what `value` finds in a point, as a dict of variants."""
    found = {}
    for point in record["points"]:
        for variant, number in value(point).items():
            if number:
                found.setdefault(point["program"], {}).setdefault(variant, []).append((point["nodes"], number))
    return found


def running(point):
    return {variant: figures["run"][0] for variant, figures in point["nanoseconds"].items()}


def freeing(point):
    return {variant: figures["free"][0] for variant, figures in point["nanoseconds"].items()}


def memory(point):
    return point["bytes"]


def growth_pictures(record):
    """The pictures: time of forward and backward, of freeing, and memory, per node. One without figures is left out."""
    kinds = [("growth-time", "Time per node: forward and backward", "nanoseconds", running),
             ("growth-free", "Time per node: freeing the graph", "nanoseconds", freeing),
             ("growth-memory", "Memory per node", "bytes", memory)]
    return [panels(name, title, unit, found) for name, title, unit, value in kinds if (found := series(record, value))]


def ticks(low, high):
    """Numbers 1, 2, 5, 10, 20 ... around an interval: at least two, and the outer ones enclose it."""
    steps = [factor * 10.0 ** power for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
             for factor in (1, 2, 5)]
    first = max([i for i, step in enumerate(steps) if step <= low * 1.001])
    last = min([i for i, step in enumerate(steps) if step >= high * 0.999])
    return steps[first:max(last, first + 1) + 1]


def panels(name, title, unit, found):
    """A panel for each program: lines over the number of nodes."""
    high, wide, left, top = 128.0, 214.0, 56.0, 78.0
    rows = (len(found) + 1) // 2
    d = Picture(name, WIDE, top + rows * (high + 62) + 4, title, description(title, unit, found))
    label(d, 14, 22, f"{title}, in {unit}", BODY, "bold", "ink", "start")
    shown = {variant for lines in found.values() for variant in lines}
    x = 14.0
    for variant, colour, dashed, text in LINES:
        if variant in shown:
            d.line([(x, 40), (x + 26, 40)], colour, 1.8, dashed=dashed)
            x = label(d, x + 32, 44, text, ink=colour, anchor="start") + 16
    if "bytes" not in unit:
        d.rect(x, 34, 18, 12, "pale-blue")
        label(d, x + 24, 44, f"up to {LEVEL - 1:.0%} more than least", anchor="start")
    values = [number for lines in found.values() for line in lines.values() for _, number in line]
    sizes = [nodes for lines in found.values() for line in lines.values() for nodes, _ in line]
    scale = ticks(min(values), max(values))
    marks = scale if len(scale) <= 8 else [step for step in scale if f"{step:e}"[0] == "1"]
    across = max(math.log10(max(sizes) / min(sizes)), 0.1)

    for i, (program, lines) in enumerate(found.items()):
        x0, y0 = left + i % 2 * (wide + 62), top + i // 2 * (high + 62)

        def place(nodes, number, x0=x0, y0=y0):
            return (x0 + wide * math.log10(nodes / min(sizes)) / across,
                    y0 + high * (1 - math.log10(number / scale[0]) / math.log10(scale[-1] / scale[0])))
        label(d, x0, y0 - 10, program, BODY, "mono", "ink", "start")
        if "bytes" not in unit:
            least = min([number for _, number in lines["minigrad"]])
            (_, lower), (_, upper) = place(min(sizes), least), place(min(sizes), least * LEVEL)
            d.rect(x0, upper, wide, lower - upper, "pale-blue")
        for number in marks:
            _, y = place(min(sizes), number)
            d.line([(x0, y), (x0 + wide, y)], "rule", 0.6)
            label(d, x0 - 6, y + 4, f"{number:,.0f}" if number >= 1 else f"{number:g}", anchor="end")
        for power in range(math.ceil(math.log10(min(sizes))), math.floor(math.log10(max(sizes)) + 1e-9) + 1):
            x, _ = place(10 ** power, scale[0])
            d.line([(x, y0 + high), (x, y0 + high + 4)], "soft", 0.8)
            if power % 2 == 0:
                label(d, x, y0 + high + 16, f"{10 ** power:,}")
        label(d, x0 + wide / 2, y0 + high + 31, "nodes")
        for variant, colour, dashed, _ in LINES:
            spots = [place(*spot) for spot in lines.get(variant, [])]
            if len(spots) > 1:
                d.line(spots, colour, 1.6, dashed=dashed)
            for x, y in [] if dashed else spots:
                d.circle(x, y, 2.2, colour if colour == "blue" else "paper", colour, 1.2)
    return d


def description(title, unit, found):
    """What a picture shows, in words."""
    text = [f"{title}, over the number of nodes, in {len(found)} panels with logarithmic scales. The table below has all figures."]
    for program, lines in found.items():
        ranges = [f"{variant.replace('torch', 'PyTorch')} {min(line)[1]:,.0f} {unit} at {min(line)[0]:,} nodes and "
                  f"{max(line)[1]:,.0f} at {max(line)[0]:,}" for variant, line in lines.items() if "," not in variant]
        text.append(f"{program.capitalize()}: {'; '.join(ranges)}.")
    return " ".join(text)


def level(line):
    """Of the (nodes, number) of a line: the least, the most, both with their nodes, and how many times the least the most is."""
    least, most = [sorted(line, key=lambda spot: spot[1])[i] for i in (0, -1)]
    return least, most, most[1] / least[1]


def growth():
    """The section "Cost as work grows": pictures, how level the lines are, and all figures."""
    record = read("growth")
    found = series(record, running)
    rows, verdicts = [], {True: [], False: []}
    for program, lines in found.items():
        least, most, factor = level(lines["minigrad"])
        verdicts[factor <= LEVEL].append(program)
        others = [f"{level(lines[variant])[2]:.2f}" if variant in lines else "" for variant, *_ in LINES[1:]]
        ends = [f"{number:,.0f} ns, {nodes:,} nodes" for nodes, number in (least, most)]
        rows.append([program, *ends, f"{factor:.2f}", *others])
    sentence = f"Is minigrad's time per node, forward and backward, level within 20%? Yes: {', '.join(verdicts[True]) or 'none'}."
    sentence += f" No: {', '.join(verdicts[False]) or 'none'}."
    heads = ["graph", "least", "most", "most / least", "without the collector", "PyTorch, most / least", "without the collector"]
    parts = [describe(record), *[raw(picture) for picture in growth_pictures(record)], sentence, grid(heads, rows),
             f":::{{dropdown}} All figures\n{figures(record)}\n:::"]
    if record["left_out"]:
        parts.append("Left out: " + "; ".join(record["left_out"]) + ".")
    return "\n\n".join(parts) + "\n"


def figures(record):
    """The table of all points: nanoseconds per node forward and backward, and freeing, and bytes."""
    shown = [line for line in LINES if any(line[0] in point["nanoseconds"] for point in record["points"])]
    libraries = [(variant, text) for variant, _, dashed, text in shown if not dashed]
    heads = ["graph", "nodes", *[f"{variant.replace('torch', 'PyTorch')}: run + free, ns" for variant, *_ in shown],
             *[f"{text}, bytes" for _, text in libraries]]
    rows = []
    for point in record["points"]:
        times = [point["nanoseconds"].get(variant) for variant, *_ in shown]
        sizes = [point["bytes"].get(variant) for variant, _ in libraries]
        rows.append([point["program"], f"{point['nodes']:,}",
                     *[f"{figure['run'][0]:,.0f} + {figure['free'][0]:,.0f}" if figure else "–" for figure in times],
                     *[f"{size:,.0f}" if size else "–" for size in sizes]])
    return grid(heads, rows)


# ---- other libraries --------------------------------------------------------------------------------------

def names(record):
    """The libraries that were measured, in the order of the measurement."""
    return list(dict.fromkeys([name for program in record["programs"] for name in program["microseconds"]]))


def microseconds(number):
    return f"{number:,.0f} µs" if number >= 100 else f"{number:.3g} µs"


def times(factor):
    """A factor as text, with two digits and no exponent."""
    return f"{factor:.2g}" if factor < 1 else f"{factor:.1f}" if factor < 10 else f"{factor:,.0f}"


def rivals_picture(record):
    """A panel for each program: how many times minigrad's time each library takes."""
    step, wide, left, top = 17.0, 150.0, 104.0, 66.0
    order = names(record)
    high = step * len(order)
    count = len(record["programs"])
    factors = [median / program["microseconds"]["minigrad"][0] for program in record["programs"]
               for median, _, _ in program["microseconds"].values()]
    low, most = math.floor(math.log10(min(factors))), max(1, math.ceil(math.log10(max(factors))))
    d = Picture("rivals", 600, top + (count + 1) // 2 * (high + 62) + 2, "Time of each library, as a multiple of minigrad's",
                rivals_description(record))
    title = "Times as long as minigrad takes: bars to the left are faster, bars to the right slower"
    label(d, 14, 22, title, BODY, "bold", "ink", "start")
    for i, program in enumerate(record["programs"]):
        x0, y0 = left + i % 2 * 300, top + i // 2 * (high + 62)

        def place(factor, x0=x0):
            return x0 + wide * (math.log10(factor) - low) / (most - low)
        label(d, x0 - 94, y0 - 12, program["program"], BODY, "bold", "ink", "start")
        for power in range(low, most + 1):
            d.line([(place(10.0 ** power), y0 - 4), (place(10.0 ** power), y0 + high)], "rule", 0.6)
            label(d, place(10.0 ** power), y0 + high + 14, f"{10.0 ** power:g}")
        d.line([(place(1.0), y0 - 4), (place(1.0), y0 + high)], "soft", 1.2)
        for j, name in enumerate(order):
            y = y0 + j * step
            label(d, x0 - 8, y + 11, name, ink="ink", anchor="end")
            if name not in program["microseconds"]:
                label(d, place(10.0 ** most) + 6, y + 11, "–", anchor="start")
                continue
            factor = program["microseconds"][name][0] / program["microseconds"]["minigrad"][0]
            colour = "blue" if name == "minigrad" else "amber" if factor < 1 else "violet"
            begin, end = sorted([place(1.0), place(factor)])
            d.rect(begin, y + 2, max(end - begin, 1.5), step - 6, f"pale-{colour}", colour, 1)
            label(d, place(10.0 ** most) + 6, y + 11, times(factor), ink=colour, anchor="start")
    return d


def rivals_description(record):
    text = [f"Bars in {len(record['programs'])} panels, with logarithmic scales. The table below has all figures."]
    for program in record["programs"]:
        factors = [f"{name} {times(median / program['microseconds']['minigrad'][0])}"
                   for name, (median, _, _) in program["microseconds"].items() if name != "minigrad"]
        text.append(f"{program['program'].capitalize()}, times as long as minigrad: {', '.join(factors)}.")
    return " ".join(text)


def faster(record, name):
    """The programs in which a library takes less time than minigrad."""
    return [program["program"] for program in record["programs"]
            if program["microseconds"].get(name, [math.inf])[0] < program["microseconds"]["minigrad"][0]]


def rivals():
    """The section about other libraries: a picture, the times, the first calls, and what is left out and why."""
    record = read("rivals")
    order = names(record)
    rows, first = [], []
    for program in record["programs"]:
        ours = program["microseconds"]["minigrad"][0]
        cells = []
        for name in order:
            median = program["microseconds"].get(name, [None])[0]
            text = "–" if median is None else microseconds(median) + ("" if name == "minigrad" else f" ({times(median / ours)} ×)")
            cells.append(f"**{text}**" if median is not None and median < ours else text)
        rows.append([program["program"], *cells])
        first.append([program["program"], *[f"{1e3 * program['first'][name]:,.1f} ms" if name in program["first"] else "–"
                                            for name in order]])
    lines = [f"* {name} is faster in: {'; '.join(found)}." for name in order if (found := faster(record, name))]
    reasons = [f"* {name}: {reason}." for name, reason in record["left_out"].items()]
    for program in record["programs"]:
        reasons += [f"* {name}, {program['program']}: {reason}." for name, reason in program["left_out"].items()]
    parts = [describe(record), raw(rivals_picture(record)),
             "Time of a run, and how many times minigrad's it is; **bold** is faster than minigrad.",
             grid(["program", *order], rows), *(["\n".join(lines)] if lines else []),
             "The first call, in which some libraries compile:", grid(["program", *order], first)]
    if reasons:
        parts.append("Left out:\n\n" + "\n".join(reasons))
    return "\n\n".join(parts) + "\n"



