"""A homework set: a folder with the source, the checks and the mutants.

    tutorials/homework/hw3/
        hw3.py              the source, a jupytext percent script with nbgrader's cell metadata; solutions between
                            ### BEGIN SOLUTION and ### END SOLUTION
        adapters.py         the only way by which checks reach the student's code
        test_public.py      checks that students get
        test_hidden.py      checks that they do not get
        mutants/*.py        wrong solutions; each replaces a few functions of the source, and its first line says what is wrong
        set.toml            title, points, minutes, parts, limits; `choose`, if only some of the parts count

`Set` reads such a folder. The graders' copy of it, in a zip for Gradescope, has no source and no mutants.
"""

import ast
import hashlib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Check", "Set", "SetError"]

# What one check may use. set.toml may change these under [limits].
LIMITS = {
    "seconds": 10,          # of CPU time; three times as much wall time
    "memory_mb": 1024,      # beyond what minigrad itself uses
    "processes": 0,         # that the student's code may start
    "output_kb": 1024,      # of printed text
    "files_mb": 32,         # the largest file that it may write
}
HOMES = (Path("tutorials/homework"), Path(__file__).parents[2] / "tutorials/homework")


class SetError(Exception):
    """A homework set with a fault. The message says which, and where."""


@dataclass(frozen=True)
class Check:
    """One check of a set, as its decorators describe it.

    Args:
        file (str): "test_public.py" or "test_hidden.py".
        function (str): its name.
        line (int): its line.
        title (str): the first line of its docstring.
        weight (float): its points.
        number (str): such as "3.2".
        visibility (str): when students see it.
        hide_errors (str or None): what they see instead of what differed.
    """

    file: str
    function: str
    line: int
    title: str
    weight: float = 0
    number: str = ""
    visibility: str = "visible"
    hide_errors: str | None = None

    @property
    def part(self):
        """The number of its part, as text: "3" for the check "3.2"."""
        return self.number.partition(".")[0]

    @property
    def name(self):
        """The check in a list: its number and title."""
        return f"{self.number} {self.title}".strip()


@dataclass
class Set:
    """A homework set. `Set.read` makes it."""

    folder: Path
    title: str
    points: float
    minutes: int
    parts: list
    limits: dict
    about: dict
    checks: list = field(default_factory=list)

    @property
    def name(self):
        """The name of the set and of the student's file, such as "hw3"."""
        return self.about.get("name", self.folder.name)

    @property
    def source(self):
        """The path of the source."""
        return self.folder / f"{self.name}.py"

    @property
    def choose(self):
        """How many parts count, the best ones; None if all do."""
        return self.about.get("choose")

    def counted(self, earned):
        """The parts that count, of a dict from parts to points: all, or the best `choose` of them. Of equal parts, the first ones."""
        best = sorted(earned, key=lambda part: -earned[part])
        return sorted(best[:self.choose])

    @classmethod
    def read(cls, where):
        """The set in a folder, or with a name such as "hw3". Raises `SetError` if it is not complete."""
        folder = Path(where)
        if not (folder / "set.toml").is_file():
            found = [home / where for home in HOMES if (home / where / "set.toml").is_file()]
            if not found:
                raise SetError(f"{where}: there is no set.toml, so this is no homework set")
            folder = found[0]
        folder = folder.resolve()
        try:
            about = tomllib.loads((folder / "set.toml").read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SetError(f"{folder / 'set.toml'}: {error}") from None
        missing = [key for key in ("title", "points", "minutes", "parts") if key not in about]
        if missing:
            raise SetError(f"{folder / 'set.toml'}: {', '.join(missing)} is missing")
        unknown = set(about.get("limits", ())) - set(LIMITS)
        if unknown:
            raise SetError(f"{folder / 'set.toml'}: [limits] has no {', '.join(sorted(unknown))}; it has {', '.join(LIMITS)}")
        found = cls(folder, about["title"], about["points"], about["minutes"], about["parts"],
                    {**LIMITS, **about.get("limits", {})}, about)
        for file in ("test_public.py", "test_hidden.py"):
            if (folder / file).is_file():
                found.checks += read_checks(folder / file)
        found.checks.sort(key=lambda check: [int(part) if part.isdigit() else 0 for part in check.number.split(".")])
        if not found.checks:
            raise SetError(f"{folder}: there are no checks in test_public.py and test_hidden.py")
        return found

    def mutants(self):
        """The paths of the mutants."""
        return sorted((self.folder / "mutants").glob("*.py"))

    def digest(self):
        """A hash of all that decides a grade: adapters, checks and limits."""
        hashed = hashlib.sha256()
        for path in sorted(self.folder.glob("*.*")):
            if path.suffix in (".py", ".toml") and path != self.source:
                hashed.update(path.name.encode() + b"\0" + path.read_bytes())
        return hashed.hexdigest()


def read_checks(path):
    """The checks in a file, read from its syntax tree: nothing runs."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise SetError(f"{path}, line {error.lineno}: {error.msg}") from None
    found = []
    for node in tree.body:
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")):
            continue
        marks: dict = {}
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                name = decorator.func.attr if isinstance(decorator.func, ast.Attribute) else getattr(decorator.func, "id", "")
                try:
                    values = [ast.literal_eval(arg) for arg in decorator.args]
                except ValueError:
                    raise SetError(f"{path}, line {decorator.lineno}: {name}() needs constants, so that a grade can be "
                                   "computed without running the check") from None
                marks[name] = values[0] if values else None
        if not isinstance(marks.get("weight", marks.get("partial_credit")), (int, float)):
            raise SetError(f"{path}, line {node.lineno}: {node.name} has no @weight")
        title = (ast.get_docstring(node) or node.name).splitlines()[0]
        hidden = "hide_errors" in marks
        found.append(Check(path.name, node.name, node.lineno, title, marks.get("weight", marks.get("partial_credit", 0)),
                           marks.get("number", ""), marks.get("visibility", "visible"),
                           (marks["hide_errors"] or "Check failed") if hidden else None))
    return found
