"""Grade one submission: run every check on it, and put the results into Gradescope's form.

    with Server() as server:
        results = grade(Set.read("hw3"), "submission/", server)
    results["score"]            write_json(path, for_gradescope(results)) and junit(results) put them into files

The keys are those of Gradescope's "Autograder Specifications"; ``results.schema.json`` describes them. Whatever a submission is or
does, there is a result with a score and a reason for each check.
"""

import json
import math
import os
import secrets
import time
from pathlib import Path

from minigrad.grading.server import failure
from minigrad.grading.submission import SubmissionError, find_file

__all__ = ["for_gradescope", "grade", "junit", "schema", "write_json"]


def schema():
    """The JSON schema of the results."""
    return json.loads(Path(__file__).with_name("results.schema.json").read_text(encoding="utf-8"))


def grade(homework, submission, server, seed=None):
    """Grade one submission.

    Args:
        homework (Set): the set.
        submission (path): a folder, or a file.
        server (Server): what runs the checks.
        seed (int, optional): the seed of what the checks draw; a new one by default. The results contain it.

    Returns:
        dict: the results, in Gradescope's form.
    """
    start = time.monotonic()
    seed = secrets.randbelow(1_000_000) if seed is None else seed
    job = {"set": str(homework.folder), "name": homework.name, "seed": seed, "limits": homework.limits, "file": None,
           "function": None, "imports": homework.about.get("imports", []), "environment": homework.about.get("environment", {})}
    wrong, messages = None, []
    try:
        path, messages = find_file(Path(submission), homework.name)
        job["submission"] = str(path.resolve())
        loaded = server.check(job)
        if loaded["outcome"] == "passed":
            messages += loaded["notes"] + [f"a cell was skipped: {problem}" for problem in loaded["problems"][:5]]
        else:
            wrong = loaded["reason"]
    except SubmissionError as error:
        wrong = str(error)
    except OSError as error:
        wrong = f"the file cannot be read ({type(error).__name__}: {error})"
    tests, board = [], []
    for check in homework.checks:
        if wrong is None:
            found = server.check({**job, "file": check.file, "function": check.function})
        else:
            found = failure("Submission", wrong)
        tests.append(entry(check, found))
        column, order, value = found["leaderboard"] or (None, None, None)
        if isinstance(value, str) or (isinstance(value, (int, float)) and math.isfinite(value)):
            board.append({"name": column, "value": value, "order": order})
    earned = {check.part: 0 for check in homework.checks}
    for check, test in zip(homework.checks, tests):
        earned[check.part] += test["score"]
    counted = homework.counted(earned)
    for check, test in zip(homework.checks, tests):
        test["extra_data"]["counts"] = check.part in counted
    score = round(sum(earned[part] for part in counted), 6)
    counting = [test for test in tests if test["extra_data"]["counts"]]
    passed = sum(test["status"] == "passed" for test in counting)
    lines = [f"{homework.name}: {homework.title}",
             f"{passed} of {len(counting)} checks passed: {score:g} of {homework.points:g} points"]
    if len(counted) < len(earned):
        lines.append(choice(homework, earned, counted))
    if wrong is not None:
        lines.append(f"Not graded: {wrong}.")
    lines += [f"Note: {message}." for message in messages]
    results = {
        "score": score, "execution_time": round(time.monotonic() - start, 2), "output": "\n".join(lines), "output_format": "text",
        "test_output_format": "text", "visibility": "visible", "stdout_visibility": "hidden", "tests": tests,
        "extra_data": {"set": homework.name, "points": homework.points, "seed": seed, "graded": wrong is None,
                       "checks": homework.digest(), "parts": earned},
    }
    if board:
        results["leaderboard"] = board
    return results


def choice(homework, earned, counted):
    """A line that says which parts count."""
    def words(part):
        return f"part {part} ({homework.parts[int(part) - 1]['title']}), {earned[part]:g} points"
    others = [part for part in earned if part not in counted]
    best = "the best of" if homework.choose == 1 else f"the best {homework.choose} of"
    return (f"Only {best} {len(earned)} parts {'counts' if homework.choose == 1 else 'count'}: "
            f"{'; '.join(map(words, counted))}. Not counted: {'; '.join(map(words, others))}.")


def entry(check, found):
    """The result of one check, in Gradescope's form."""
    passed = found["outcome"] == "passed"
    score = check.weight if passed else 0
    if isinstance(found["score"], (int, float)) and not isinstance(found["score"], bool) and passed:
        score = min(max(found["score"], 0), check.weight) if found["score"] == found["score"] else 0
    reason = found["reason"]
    if not passed and check.hide_errors is not None and found["kind"] in ("Failed", "AssertionError"):
        reason = check.hide_errors
    text = "passed" if passed else reason or "failed"
    if found["output"].strip() and check.hide_errors is None:
        printed = found["output"].rstrip()
        text += "\n\nprinted:\n" + (printed if len(printed) <= 2000 else printed[:2000] + "\n...")
    return {"name": check.name, "number": check.number, "score": score, "max_score": check.weight,
            "status": "passed" if passed else "failed", "output": text, "output_format": "text", "visibility": check.visibility,
            "tags": [], "extra_data": {"check": f"{check.file}::{check.function}", "seconds": found["seconds"],
                                       "kind": None if passed else found["kind"]}}


def for_gradescope(results):
    """The results with a text that says nothing of checks that students see later: Gradescope shows it after each submission."""
    tests = [test for test in results["tests"] if test["extra_data"]["counts"]]
    seen = [test for test in tests if test["visibility"] == "visible"]
    if len(seen) == len(tests):
        return results
    title, _, *lines = results["output"].splitlines()
    passed, score = sum(test["status"] == "passed" for test in seen), sum(test["score"] for test in seen)
    shown = (f"{passed} of {len(seen)} checks passed: {score:g} of {sum(test['max_score'] for test in seen):g} points. "
             f"{len(tests) - len(seen)} more checks are not shown here.")
    return {**results, "output": "\n".join([title, shown, *(line for line in lines if line.startswith(("Not graded:", "Note:")))])}


def write_whole(path, text):
    """Write a file completely or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8", errors="replace")
    os.replace(part, path)


def write_json(path, results):
    """Write results as JSON, completely or not at all."""
    write_whole(path, json.dumps(results, indent=1) + "\n")


def junit(results):
    """The results as JUnit XML."""
    from xml.etree import ElementTree as xml
    tests = results["tests"]
    wrong = [test for test in tests if test["status"] != "passed"]
    failed = [test for test in wrong if test["extra_data"]["counts"]]
    root = xml.Element("testsuite", name=results["extra_data"]["set"], tests=str(len(tests)), errors="0",
                       skipped=str(len(wrong) - len(failed)), failures=str(len(failed)), time=f"{results['execution_time']:.2f}")
    for test in tests:
        case = xml.SubElement(root, "testcase", classname=results["extra_data"]["set"], name=test["name"],
                              time=f"{test['extra_data']['seconds']:.3f}")
        if test["status"] != "passed":
            text = "".join(c for c in test["output"] if c >= " " or c in "\n\t")
            kind = "failure" if test["extra_data"]["counts"] else "skipped"
            xml.SubElement(case, kind, message=text.partition("\n")[0]).text = text
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
