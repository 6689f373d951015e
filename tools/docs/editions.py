"""The editions of a tutorial for students and for teachers, from the one source. make_editions.py is the command.

    the page            tutorials.py: the source as it is, run, with its hints folded
    the student's       a notebook and a script: stubs and checks, no solutions, no outputs; the page offers both
    the teacher's       a notebook with solutions, points and nbgrader's metadata: its `generate_assignment` makes what students get
    slides              slides.py

The cells of an exercise, in this order, are

    [markdown]          what to do
    the stub            the last name that it binds is that of the answer
    the check           a function under `mg.testing.exercise`
    "help"              hints, and sentences about typical wrong answers; not every exercise has them
    "solution"          one or more; the last line of the first calls the check with the solution

where a word in quotes is a tag. Only the command writes the teacher's edition: no page offers it.
"""

import ast
import copy
import re
from dataclasses import dataclass

from minigrad.grading.build import read_notebook
from tools.docs import picture, repository, tutorials
from tools.docs.plain import plain

__all__ = ["CONFIG", "Exercise", "exercises", "folder", "student", "student_script", "teacher", "write", "written"]

PICTURE = re.compile(r"!\[(?P<words>(?:[^\[\]]|\[[^\]]*\])*)\]\((?:pictures/|attachment:)(?P<name>[\w-]+\.svg)\)")
FOLDED = re.compile(r"\s+The\s+solutions\s+are\s+folded\s+below(\s+it)?\.")
POINTS = (1, 2, 3)          # the exercises of a tutorial rise: a prediction, a few lines, one that takes thought
OPTIONS = """# python {name} --check       says which exercises are right
# python {name} --hint 1      gives a hint to exercise 1, if it has one
import minigrad as mg

if __name__ == "__main__":
    mg.testing.check_script(__file__)"""
END = "# The checks. With --hint you read the hints one at a time; here you would read all of them."
# Without this, nbgrader adds a line that raises after each stub, which raises itself.
CONFIG = """c = get_config()
c.ClearSolutions.code_stub = {"python": "# your code goes above"}
"""


@dataclass
class Exercise:
    """Where an exercise is in the cells of a notebook. `help` may be empty."""

    number: int
    check: str              # the name of the check
    answer: str             # the name of the answer
    stub: int
    place: int              # of the check
    help: list[int]
    solutions: list[int]


def tags(cell):
    return cell.metadata.get("tags", ())


def exercises(notebook):
    """The exercises of a notebook, in order.

    Raises:
        ValueError: an exercise has no stub, no answer or no solution.
    """
    found = []
    for i, cell in enumerate(notebook.cells):
        for node in ast.parse(cell.source).body if "@mg.testing.exercise(" in cell.source else ():
            if not isinstance(node, ast.FunctionDef):
                continue
            number = node.decorator_list[0].args[0].value       # pyright: ignore[reportAttributeAccessIssue]
            end = i + 1
            while end < len(notebook.cells) and {"help", "solution"} & set(tags(notebook.cells[end])):
                end += 1
            helps = [j for j in range(i + 1, end) if "help" in tags(notebook.cells[j])]
            solutions = [j for j in range(i + 1, end) if j not in helps]
            stub = notebook.cells[i - 1]
            if stub.cell_type != "code" or not solutions:
                raise ValueError(f"exercise {number} has no {'stub before its check' if solutions else 'solution after its check'}")
            found.append(Exercise(number, node.name, bound(stub.source), i - 1, i, helps, solutions))
    return found


def bound(source):
    """The last name that these lines bind."""
    node = ast.parse(source).body[-1]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    raise ValueError(f"the last statement of a stub binds the name of the answer, and this one does not: {ast.unparse(node)}")


def folder(path):
    """The folder of the site in which the page of a script is."""
    return path.parent.name


def new(source, name, **metadata):
    import nbformat
    return nbformat.v4.new_code_cell(source, id=name, metadata=metadata)


def for_readers(cell, path):
    """A copy of a cell for readers elsewhere: links that work there, pictures in it, no tags; what the page folds is folded."""
    hidden = {"help", "hide-cell"} & set(tags(cell))
    if cell.cell_type == "markdown":
        cell = with_pictures(plain(FOLDED.sub("", cell.source), folder(path), repository.site()), cell.id)
    else:
        cell = copy.deepcopy(cell)
        cell.metadata.clear()
    if hidden:
        cell.metadata["jupyter"] = {"source_hidden": True}
    return cell


def with_pictures(source, name):
    """A text cell that holds the pictures which it shows. Without the extra `docs`, which draws them, it has their words."""
    import nbformat
    there = {found["name"]: picture.FOLDER / found["name"] for found in PICTURE.finditer(source)}
    there = {name: {"image/svg+xml": path.read_text("utf-8")} for name, path in there.items() if path.exists()}

    def shown(found):
        return f"![{found['words']}](attachment:{found['name']})" if found["name"] in there else found["words"]
    source = PICTURE.sub(shown, source)
    return nbformat.v4.new_markdown_cell(source, id=name, **({"attachments": there} if there else {}))


def cleared(notebook):
    """The notebook without what jupytext notes in it. A cell that was there has its id."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return notebook


# ---- the student's ---------------------------------------------------------------------------------------------------------

def student(path):
    """The notebook for students: without solutions, each check called with the stub."""
    notebook = read_notebook(path)
    found = {exercise.place: exercise for exercise in exercises(notebook)}
    cells, after = [], {}
    for i, cell in enumerate(notebook.cells):
        if "solution" not in tags(cell):
            cells.append(for_readers(cell, path))
        if i in found:
            after[max([i, *found[i].help])] = found[i]
        if i in after:
            exercise = after[i]
            hint = f"      # {exercise.check}.hint() gives a hint" if exercise.help else ""
            cells.append(new(f"{exercise.check}({exercise.answer}){hint}", f"try-{exercise.number}"))
    notebook.cells = cells
    return cleared(notebook)


def student_script(path):
    """The same as a script, with the options --check and --hint. Hints are at its end, where nobody reads them by mistake."""
    import jupytext
    notebook = student(path)
    first, *others = notebook.cells
    last = [cell for cell in others if ("jupyter" in cell.metadata and ".hints = [" in cell.source) or cell.id.startswith("try-")]
    others = [cell for cell in others if cell not in last]
    cells = [first, new(OPTIONS.format(name=path.name), "options"), *others, new(END, "end"), *last]
    for cell in cells:
        cell.metadata.clear()
        if cell.pop("attachments", None):
            cell.source = PICTURE.sub(r"\g<words>", cell.source)
    notebook.cells = cells
    return jupytext.writes(notebook, fmt="py:percent")


# ---- the teacher's ---------------------------------------------------------------------------------------------------------

def marked(source, name, points=None, solution=False):
    """A cell with nbgrader's metadata. See `graded`."""
    return new(source, name, **graded(name, points, solution))


def graded(name, points=None, solution=False):
    """The metadata of a cell for nbgrader: an answer, a cell with points, or one that students cannot change."""
    about = {"grade": points is not None, "grade_id": name, "locked": not solution, "schema_version": 3, "solution": solution,
             "task": False}
    return {"nbgrader": about if points is None else {**about, "points": points}}


def teacher(path):
    """The notebook for teachers. nbgrader's `generate_assignment` makes what students get of it."""
    notebook = read_notebook(path)
    cells = notebook.cells
    found = exercises(notebook)
    replaced = {}
    for exercise in found:
        n, stub = exercise.number, cells[exercise.stub].source
        given, begun = split(stub)
        region = f"### BEGIN SOLUTION\n{solution(cells, exercise)}\n### END SOLUTION"
        replaced[exercise.stub] = [marked(given, f"given-{n}")] if given else []
        replaced[exercise.stub].append(marked(f"{begun}\n\n\n{region}", f"answer-{n}", solution=True))
        check = for_readers(cells[exercise.place], path)
        check.metadata.update(graded(f"check-{n}"))
        replaced[exercise.place] = [check]
        for i in exercise.help:
            cell = for_readers(cells[i], path)
            cell.metadata.update(graded(f"help-{n}"))
            replaced[i] = [cell]
        points = marked(f"{exercise.check}.grade({exercise.answer})", f"points-{n}", POINTS[(n - 1) % len(POINTS)])
        replaced[max([exercise.place, *exercise.help])].append(points)
        replaced.update({i: [] for i in exercise.solutions})
    notebook.cells = [one for i, cell in enumerate(cells) for one in replaced.get(i, [for_readers(cell, path)])]
    return cleared(notebook)


def split(stub):
    """The lines of a stub before the statement that binds the answer, and the others."""
    node = ast.parse(stub).body[-1]
    first = min([node.lineno, *[mark.lineno for mark in getattr(node, "decorator_list", ())]]) - 1
    lines = stub.split("\n")
    return "\n".join(lines[:first]).strip(), "\n".join(lines[first:])


def solution(cells, exercise):
    """The lines of all solution cells, which give the answer its name instead of calling the check. Prose becomes comments."""
    parts = []
    for i in exercise.solutions:
        source = cells[i].source
        if cells[i].cell_type == "markdown":
            source = "\n".join([f"# {line}".rstrip() for line in source.split("\n")])
        elif i == exercise.solutions[0]:
            call = ast.parse(source).body[-1]
            value = call.value if isinstance(call, ast.Expr) else None
            if not isinstance(value, ast.Call) or ast.unparse(value.func) != exercise.check:
                raise ValueError(f"exercise {exercise.number}: the last line of the solution calls {exercise.check}")
            lines = source.split("\n")
            before, there = "\n".join(lines[:call.lineno - 1]), "\n".join(lines[call.lineno - 1:])
            argument = there.removeprefix(exercise.check)      # in brackets, with the comments inside of a list
            if isinstance(value.args[0], ast.Name):
                argument = value.args[0].id
            source = f"{before}\n{exercise.answer} = {argument}".lstrip("\n")
        parts.append(source)
    return "\n\n\n".join(parts)


# ---- as files --------------------------------------------------------------------------------------------------------------

def written(notebook):
    """The text of a notebook's file."""
    import nbformat
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def write(pages):
    """What the site offers for download beside each page: the student's editions."""
    for path in [*tutorials.scripts(), *tutorials.projects()]:
        pages.write(f"{folder(path)}/student/{path.stem}.ipynb", written(student(path)))
        pages.write(f"{folder(path)}/student/{path.name}", student_script(path))
