"""``python -m minigrad.grading``: the parts, build homework sets, grade one submission or a class, score a part of your own."""

import argparse
import importlib
import sys
import time
from pathlib import Path

__all__ = ["main"]


def parts(options):
    """Print the parts that can be swapped."""
    from minigrad.grading import PARTS
    if options.name is not None and options.name not in PARTS:
        print(f"there is no part {options.name!r}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    if options.name is None:
        for part in PARTS.values():
            print(f"{part.name:<20}{part.signature}" + (f"    of= {part.of}" if part.of else ""))
        print("\n`python -m minigrad.grading parts NAME` says what a part gets and returns.")
        return 0
    part = PARTS[options.name]
    for what in ("signature", "of", "given", "returns", "checked", "ours"):
        if getattr(part, what):
            print(f"{what:<12}{getattr(part, what)}")
    return 0


def build(options):
    """Build one set or several. A set that is refused does not keep the others from being built."""
    from minigrad.grading.build import build, table
    from minigrad.grading.sets import SetError
    built, refused = {}, {}
    for where in options.sets:
        name = Path(where).name
        out = options.out or Path("dist") / name
        if options.out is not None and len(options.sets) > 1:
            out = options.out / name
        start = time.monotonic()
        try:
            trials = build(where, out, options.wheelhouse, options.jobs)
        except SetError as error:
            refused[name] = error
            print(f"not built: {error}", file=sys.stderr)
            continue
        except ModuleNotFoundError as error:
            if error.name not in ("nbgrader", "jupytext", "nbformat"):
                raise
            print(f'not built: {error.name} is not installed; pip install "minigrad-autograd[grading]"', file=sys.stderr)
            return 1
        built[name] = trials, time.monotonic() - start
        for trial in trials:
            failed = trial.failed
            text = "fails " + " ".join(failed) if failed else "passes all checks"
            print(f"{trial.name:<32}{trial.results['score']:5g} points   {trial.results['execution_time']:6.1f} s   {text}")
        print(f"built {out}", flush=True)
    if len(options.sets) > 1:
        print(f"\n{table(built)}")
        if refused:
            print(f"\nnot built: {', '.join(refused)}", file=sys.stderr)
    return 1 if refused else 0


def grade(options):
    """Grade one submission, or a class."""
    from minigrad.grading.grade import for_gradescope, grade, junit, write_json, write_whole
    from minigrad.grading.server import Server, ServerError
    from minigrad.grading.sets import Set, SetError
    try:
        homework = Set.read(options.set)
    except SetError as error:
        print(error, file=sys.stderr)
        return 2
    if options.out is not None or len(options.submissions) > 1:
        from minigrad.grading.class_report import grade_class
        try:
            return grade_class(homework, options.submissions, options.out or Path("report"), options.jobs, options.seed)
        except ServerError as error:
            print(error, file=sys.stderr)
            return 2
    try:
        with Server() as server:
            server.start()
            results = grade(homework, options.submissions[0], server, options.seed)
    except ServerError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json is not None:
        write_json(options.json, for_gradescope(results))
    if options.junit is not None:
        write_whole(options.junit, junit(results))
    print(results["output"])
    for test in results["tests"]:
        counts = test["extra_data"]["counts"]
        print(f"{test['status'] if counts else 'unused':<8}{test['score']:5g} of {test['max_score']:<5g}{test['name']}")
        if test["status"] != "passed" and counts:
            print("".join(f"        {line}\n" for line in test["output"].splitlines()), end="")
    return 0


def main(argv=None):
    """Run a command. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m minigrad.grading", description="Homework on the real engine.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    command = commands.add_parser("parts", help="the parts of minigrad that homework may replace")
    command.add_argument("name", nargs="?", help="all about one part")
    command.set_defaults(run=parts)
    command = commands.add_parser("build", help="make what students get, and the zips for Gradescope and a course page")
    command.add_argument("sets", nargs="+", metavar="set", help="the folder of a homework set, or a name such as hw3")
    command.add_argument("--out", type=Path, help="the folder to write (default: dist/NAME); several sets get folders in it")
    command.add_argument("--wheelhouse", type=Path, help="a folder of wheels to put into the zip for Gradescope")
    command.add_argument("--jobs", type=int, default=2, help="how many submissions are graded at the same time")
    command.set_defaults(run=build)
    command = commands.add_parser("grade", help="grade one submission, or a class",
                                  description="The exit status is 0 whatever a submission does.")
    command.add_argument("set", help="the folder of a homework set, or a name such as hw3")
    command.add_argument("submissions", nargs="+", type=Path, help="folders or files; more than one is a class")
    command.add_argument("--json", type=Path, help="write the results of one submission, in Gradescope's form")
    command.add_argument("--junit", type=Path, help="write the results of one submission as JUnit XML")
    command.add_argument("--out", type=Path, help="the folder for the report of a class (default: report)")
    command.add_argument("--jobs", type=int, default=2, help="how many submissions of a class are graded at the same time")
    command.add_argument("--seed", type=int, help="the seed of what checks draw; the results contain it")
    command.set_defaults(run=grade)
    if Path(__file__).with_name("score.py").is_file():
        score = importlib.import_module("minigrad.grading.score")
        command = commands.add_parser("score", help="some forty behaviours of the engine, with a part of your own")
        score.add_arguments(command)
        command.set_defaults(run=score.main)
    options = parser.parse_args(argv)
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
