"""One check in a process of its own: run it with pytest, and report how it went. `server.py` forks the process.

    limits -> pytest.main([the check], plugins=[Reporter]) -> one line of JSON through a pipe

Before the first check a process only loads the student's file. If that ends badly, so would every check: an endless loop at the top
of a file costs the grader its time once.

The check passes if this line says so, and nothing else has: a process that ends in any other way has failed. Nothing here trusts
what the student's code leaves behind, so what is needed afterwards is fetched before it runs.
"""

import json
import os
import resource
import sys
from pathlib import Path

import pytest

from minigrad.grading.integrity import changes, snapshot
from minigrad.grading.submission import SubmissionError, load

__all__ = ["run"]

MOST_TEXT = 6000    # characters of a reason


class Reporter:
    """A plugin of pytest that keeps the outcome of one check."""

    def __init__(self, submission):
        self.submission = submission
        self.function, self.before = None, []
        self.outcome, self.reason, self.kind = None, "", None

    def pytest_collection_modifyitems(self, items):
        if items:
            self.function = items[0].function
            self.before = snapshot([items[0].module.__name__, "adapters"])

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcome, self.reason = "failed", f"the check could not be read: {report.longrepr}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "call" and report.passed and self.outcome is None:
            self.outcome = "passed"
        elif not report.passed and self.outcome != "failed":
            self.outcome = "failed"
            if call.excinfo is None or report.skipped:
                self.reason = "the check was skipped"
            else:
                self.kind = call.excinfo.type.__name__
                self.reason = explain(call.excinfo.value, self.submission)
        return report


def explain(error, submission):
    """An exception in words: what a check says, or what the student's code raised and where."""
    text = str(getattr(error, "msg", None) or error).strip()
    kind = type(error).__name__
    if kind != "Failed":    # of pytest.fail: the check's own words
        text = f"{kind}: {text}" if text else kind
    where, step = [], error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        file = code.co_filename
        if file == submission or file.startswith(f"{submission}, code cell"):      # see `load` in submission.py
            where.append(f"    {file}, line {step.tb_lineno}, in {code.co_name}")
        step = step.tb_next
    if len(where) > 6:
        where = [*where[:3], f"    ... {len(where) - 6} more ...", *where[-3:]]
    if where:
        text += "\nin your code:\n" + "\n".join(where)
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " ..."


def set_limits(limits):
    """Limit this process. What it may use beyond these ends it, or raises MemoryError or OSError."""
    pages = 0
    if os.path.exists("/proc/self/statm"):
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[0])
    wanted = {
        resource.RLIMIT_CPU: (limits["seconds"], limits["seconds"] + 1),
        resource.RLIMIT_FSIZE: (limits["files_mb"] << 20,) * 2,
        resource.RLIMIT_CORE: (0, 0),
    }
    if pages:
        wanted[resource.RLIMIT_AS] = (pages * resource.getpagesize() + (limits["memory_mb"] << 20),) * 2
    for kind, (soft, hard) in wanted.items():
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(kind, (soft, hard))


STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.spawn", "os.system", "subprocess.Popen", "pty.spawn"}
STOPS = {"os.kill", "os.killpg", "signal.pthread_kill"}


def refuse_processes(most):
    """From now on refuse to start a process, if `most` is 0, and to stop another. An audit hook cannot be removed.

    Returns the list to which the hook adds what it has refused.
    """
    refused = []
    names = (STARTS if most == 0 else set()) | STOPS

    def hook(event, args):
        if event in names:
            refused.append(event)
            raise PermissionError(f"a submission may not start or stop processes ({event})")
    sys.addaudithook(hook)
    return refused


ALONE = ("cacheprovider", "doctest", "faulthandler", "junitxml", "logging", "pastebin", "stepwise", "terminal", "threadexception",
         "unittest", "unraisableexception")


def pytest_main(folder, file, function, reporter):
    """Run one check with pytest, with few plugins and no configuration. Returns the exit status."""
    without = [word for name in ALONE for word in ("-p", f"no:{name}")]
    return pytest.main([f"{folder}/{file}::{function}", *without, "-c", os.devnull, "--rootdir", folder, "--confcutdir", folder,
                        "--capture=no", "-W", "ignore"], plugins=[] if reporter is None else [reporter])


def run(job, pipe, before):
    """Run one check, and write its result as JSON into the file descriptor `pipe`. Does not return.

    A job without a function only loads the file. `before` is a `snapshot` of the functions that the student's file may not change.
    """
    leave, write, dumps = os._exit, os.write, json.dumps
    set_limits(job["limits"])
    refused = refuse_processes(job["limits"]["processes"])
    os.environ.update(MINIGRAD_SUBMISSION=job["submission"], MINIGRAD_SEED=str(job["seed"]), MINIGRAD_GRADING="1",
                      HOME=os.getcwd(), TMPDIR=os.getcwd())
    sys.path.insert(0, job["set"])
    sys.dont_write_bytecode = True
    reporter = Reporter(os.path.basename(job["submission"]))
    status, more = None, {}
    try:
        if job["function"] is None:
            module = load(Path(job["submission"]), job["name"])
            more = {"notes": vars(module)["__notes__"], "problems": vars(module)["__problems__"]}
            reporter.outcome = "passed"
        else:
            status = pytest_main(job["set"], job["file"], job["function"], reporter)
    except SubmissionError as error:
        reporter.outcome, reporter.reason, reporter.kind = "failed", str(error), "Submission"
    except BaseException as error:
        reporter.outcome, reporter.reason = "failed", explain(error, reporter.submission)
    changed = changes(before + reporter.before)
    result: dict = {"outcome": reporter.outcome, "reason": reporter.reason, "kind": reporter.kind}
    if refused:
        result = {"outcome": "failed", "kind": "Refused",
                  "reason": f"a submission may not start or stop processes ({', '.join(sorted(set(refused)))})"}
    elif changed:
        result = {"outcome": "failed", "kind": "Changed",
                  "reason": f"your file replaced {', '.join(changed[:5])}: a submission may not change other modules"}
    elif reporter.outcome is None:
        result = {"outcome": "failed", "kind": "Stopped", "reason": f"the check was stopped before it ended (pytest: {status})"}
    function = reporter.function
    board = getattr(function, "__leaderboard__", None)
    values = getattr(function, "__values__", {})
    result["score"] = values.get("score")
    result["leaderboard"] = None if board is None else [*board, values.get("leaderboard")]
    sys.stdout.flush()
    sys.stderr.flush()
    write(pipe, dumps({**more, **result, "key": job["key"]}, default=float).encode())
    leave(0)
