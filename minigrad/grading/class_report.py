"""Grade a class, and write its report.

    report/
        results/<name>.json     the results of each submission, written whole or not at all
        summary.csv             a line for each submission, a column for each check
        index.html              the distribution of scores, and which checks fail most
        feedback/<name>.html    a page for each student: what failed, and why

A submission that has been graded is not graded again, unless it or the checks have changed: the results contain a hash of both. So
the same command goes on after Ctrl-C. A feedback page shows every check that counts, but those with the visibility "hidden".
"""

import csv
import hashlib
import html
import io
import json
import statistics
import sys
import textwrap
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from urllib.parse import quote

from minigrad.grading.grade import grade, write_json, write_whole
from minigrad.grading.server import Server

__all__ = ["grade_class"]

STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em;
color: #1b1b1b; background: #fff } h2 { font-size: 1.25em; line-height: 1.3 } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .25em .6em; border-bottom: 1px solid #ccc } td { overflow-wrap: anywhere }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
td.n, td:has(.bar), h2 + table td:first-child { white-space: nowrap }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f3f3f3; padding: .8em; overflow-x: auto }
pre .table { display: block; white-space: pre; overflow-wrap: normal }
.bar { background: #2a6f97; height: 16px; display: inline-block; vertical-align: -3px }
.failed { color: #a4161a } .passed { font-weight: normal }
@media (max-width: 40em) { body { margin: 1em auto } .bar { font-size: .5em } th, td { padding: .25em .4em } }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #161616 } pre { background: #262626 } a { color: #8ecae6 }
.failed { color: #ff8fa3 } .bar { background: #61a5c2 } th, td { border-color: #444 } }"""


def page(title, body):
    """A complete page."""
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><main>\n<h1>{html.escape(title)}</h1>\n{body}\n"
            "</main></body></html>\n")


def names_of(paths):
    """{name: path}: the folder or file of each submission, with as much of its path as makes the names differ."""
    paths = list(dict.fromkeys(path.resolve() for path in paths))
    alike = Counter(path.name for path in paths)
    return {path.name if alike[path.name] == 1 else "_".join(path.parts[1:]): path for path in paths}


def digest(homework, path):
    """A hash of the checks and of a submission's files."""
    hashed = hashlib.sha256(homework.digest().encode())
    there = [path] if path.is_file() else path.rglob("*")
    files = sorted(file for file in there if file.suffix in (".py", ".ipynb") and file.is_file())
    for file in files:
        hashed.update(str(file.relative_to(path.parent)).encode("utf-8", "replace") + b"\0")
        try:
            hashed.update(file.read_bytes())
        except OSError as error:
            hashed.update(str(error).encode())
    return hashed.hexdigest()


def read_results(path):
    """The results in a file, or None."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def grade_class(homework, paths, out, jobs=2, seed=None):
    """Grade all submissions that have not been graded yet, and write the report. Returns the exit status.

    Args:
        homework (Set): the set.
        paths (list of Path): the submissions.
        out (Path): the folder of the report.
        jobs (int, optional): how many are graded at the same time.
        seed (int, optional): the seed for every submission; a new one for each by default.
    """
    students = names_of(paths)
    hashes = {name: digest(homework, path) for name, path in students.items()}
    results = {name: read_results(out / "results" / f"{name}.json") for name in students}

    def is_done(name):
        return (results[name] or {}).get("extra_data", {}).get("digest") == hashes[name]
    waiting = [name for name in students if not is_done(name)]
    interrupted = run(homework, {name: students[name] for name in waiting}, hashes, results, out, jobs, seed) if waiting else False
    done = {name: results[name] for name in students if is_done(name)}
    for name, found in done.items():
        write_whole(out / "feedback" / f"{name}.html", feedback(homework, name, found))
    write_whole(out / "summary.csv", summary_csv(homework, done))
    write_whole(out / "index.html", summary_page(homework, done, len(students)))
    print(f"graded {len(done)} of {len(students)} submissions, {len(students) - len(waiting)} of them before; "
          f"see {out / 'index.html'}")
    if interrupted:
        print("interrupted: the same command goes on", file=sys.stderr)
    return 130 if interrupted else 0


def run(homework, students, hashes, results, out, jobs, seed):
    """Grade `students`, {name: path}, into `results` and files. Returns whether Ctrl-C ended it."""
    local, servers, stop = threading.local(), [], threading.Event()

    def work(name):
        if stop.is_set():
            return name, None
        if not hasattr(local, "server"):
            local.server = Server()
            servers.append(local.server)
        found = grade(homework, students[name], local.server, seed)
        if stop.is_set():       # its server may have been ended in the middle
            return name, None
        found["extra_data"].update(student=name, digest=hashes[name])
        write_json(out / "results" / f"{name}.json", found)
        return name, found

    pool = ThreadPoolExecutor(max(jobs, 1))
    try:
        with progress(len(students)) as advance:
            for future in as_completed([pool.submit(work, name) for name in students]):
                name, found = future.result()
                results[name] = found
                advance(name)
    except KeyboardInterrupt:
        stop.set()
        return True
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for server in list(servers):
            server.close()
        pool.shutdown(wait=True)
    return False


class progress:
    """A progress bar of rich; lines where rich is not installed."""

    def __init__(self, total):
        self.total, self.done, self.bar = total, 0, None

    def __enter__(self):
        try:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        except ModuleNotFoundError:
            return self.advance
        self.bar = Progress(TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                            TextColumn("{task.fields[name]}"))
        self.bar.start()
        self.task = self.bar.add_task("", total=self.total, name="")
        return self.advance

    def advance(self, name):
        self.done += 1
        if self.bar is None:
            print(f"{self.done} of {self.total}: {name}")
        else:
            self.bar.update(self.task, advance=1, name=name)

    def __exit__(self, *exc_info):
        if self.bar is not None:
            self.bar.stop()


# ---- the report -------------------------------------------------------------------------------------------------------------

def summary_csv(homework, results):
    """A line for each submission."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    columns = [f"{check.number} (of {check.weight:g})" for check in homework.checks]
    table.writerow(["student", "score", "of", "seconds", "seed", *columns, "note"])
    for name, found in sorted(results.items()):
        note = "; ".join(found["output"].splitlines()[2:])
        shown = "'" + name if name[:1] in "=+-@" else name     # a spreadsheet would read it as a formula
        table.writerow([shown, f"{found['score']:g}", f"{homework.points:g}", found["execution_time"], found["extra_data"]["seed"],
                        *(f"{test['score']:g}" for test in found["tests"]), note])
    return out.getvalue()


def bar(number, of, width=20):
    """A bar, `width` em long for all."""
    return f'<span class="bar" style="width:{width * number / max(of, 1):.2f}em"></span>&nbsp;{number}'


def summary_page(homework, results, expected):
    """The page with the distribution of scores and the checks that fail most."""
    scores = [found["score"] for found in results.values()]
    if not scores:
        return page(f"{homework.name}: {homework.title}", "<p>Nothing has been graded yet.</p>")
    steps = 10
    bins = Counter(min(int(score * steps / homework.points), steps - 1) if homework.points else 0 for score in scores)
    most = max(bins.values())
    rows = "".join(f"<tr><td>{homework.points * i / steps:g} to {homework.points * (i + 1) / steps:g}</td>"
                   f"<td>{bar(bins[i], most)}</td></tr>" for i in range(steps))
    graded = [found for found in results.values() if found["extra_data"]["graded"]]
    wrong = [test for found in graded for test in found["tests"] if test["status"] != "passed" and test["extra_data"].get("counts", True)]
    failed = Counter(test["name"] for test in wrong)
    reasons = Counter((test["name"], textwrap.shorten(test["output"].partition("\n")[0], 120, placeholder=" ..."))
                      for test in wrong)
    checks = ""
    for name, number in failed.most_common():
        often = next(text for (check, text), _ in reasons.most_common() if check == name)
        checks += f"<tr><td>{html.escape(name)}</td><td>{bar(number, len(graded), 10)}</td><td>{html.escape(often)}</td></tr>"
    students = "".join(
        f'<tr><td><a href="feedback/{quote(name)}.html">{html.escape(name)}</a></td><td class="n">{found["score"]:g}</td>'
        f"<td>{html.escape('; '.join(found['output'].splitlines()[2:]))}</td></tr>" for name, found in sorted(results.items()))
    missing = f" {expected - len(scores)} submissions are not graded yet." if expected > len(scores) else ""
    return page(f"{homework.name}: {homework.title}", f"""<p>{len(scores)} submissions, {homework.points:g} points at most.{missing}
Mean {statistics.mean(scores):.1f}, median {statistics.median(scores):g}, from {min(scores):g} to {max(scores):g}.
<a href="summary.csv">All numbers as CSV</a>.</p>
<h2>Distribution</h2>
<table><tr><th>points</th><th>submissions</th></tr>{rows}</table>
<h2>Which check fails most</h2>
<p>Of the {len(graded)} submissions that could be loaded; the others say "Not graded" below.</p>
<table><tr><th>check</th><th>failed by</th><th>most often</th></tr>{checks}</table>
<h2>Students</h2>
<table><tr><th>student</th><th class="n">points</th><th>note</th></tr>{students}</table>""")


def message(text):
    """A message as HTML: sentences are broken at the edge of the page, the rows of a table are not."""
    lines = [f'<span class="table">{html.escape(line)}</span>' if line.startswith("    ") else html.escape(line) + "\n"
             for line in text.splitlines()]
    return "".join(lines).rstrip("\n")


def feedback(homework, name, found):
    """The page for one student."""
    counting = [test for test in found["tests"] if test["extra_data"].get("counts", True)]    # the others are a line of the notes
    shown = [test for test in counting if test["visibility"] != "hidden"]
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in found["output"].splitlines()[2:])
    body = ""
    for test in shown:
        passed = test["status"] == "passed"
        body += f'<h2 class="{test["status"]}">{html.escape(test["name"])}: {test["score"]:g} of {test["max_score"]:g}</h2>'
        if not passed:
            body += f"<pre>{message(test['output'])}</pre>"
    others = [test for test in counting if test["visibility"] == "hidden"]
    if others:
        earned, of = sum(test["score"] for test in others), sum(test["max_score"] for test in others)
        body += f"<h2>Hidden checks: {earned:g} of {of:g}</h2><p>{len(others)} checks are not shown.</p>"
    return page(f"{homework.name}, {name}", f"<p>{found['score']:g} of {homework.points:g} points, with the seed "
                f"{found['extra_data']['seed']}.</p>{notes}{body}")
