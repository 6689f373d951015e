"""``python -m tools.docs.make_editions``, or ``make editions``: the editions of tutorials as files, in build/editions."""

import argparse
from pathlib import Path

from tools.docs import editions, slides, tutorials
from tools.docs.paths import ROOT


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tools.docs.make_editions", description="Write editions of tutorials. Without "
                                     "--student, --teacher or --slides: all three.")
    parser.add_argument("scripts", type=Path, nargs="*", metavar="SCRIPT", help="tutorials/NN_*.py; by default all tutorials")
    for name, text in (("student", "a notebook and a script without solutions"), ("slides", "an HTML page; each notebook is run"),
                       ("teacher", "a course folder for nbgrader, with the solutions. Keep it where students cannot read")):
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument("--out", type=Path, default=ROOT / "build/editions", metavar="DIR", help="where to write; build/editions")
    chosen = parser.parse_args(arguments)
    everything = not (chosen.student or chosen.teacher or chosen.slides)

    def write(name, text):
        place = chosen.out / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        print(place)

    for path in [script.resolve() for script in chosen.scripts] or tutorials.scripts():
        if chosen.student or everything:
            write(f"student/{path.stem}.ipynb", editions.written(editions.student(path)))
            write(f"student/{path.name}", editions.student_script(path))
        if chosen.teacher or everything:
            write(f"teacher/source/{path.stem}/{path.stem}.ipynb", editions.written(editions.teacher(path)))
        if chosen.slides or everything:
            notebook = slides.slides(path)
            write(f"slides/{path.stem}.ipynb", editions.written(notebook))
            write(f"slides/{path.stem}.html", slides.deck(slides.run(notebook, ROOT)))
    if chosen.teacher or everything:
        write("teacher/nbgrader_config.py", editions.CONFIG)


if __name__ == "__main__":
    main()
