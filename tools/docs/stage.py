"""Gather the pages of the site in build/docs/source. A page that has not changed keeps its time, and Sphinx leaves it alone.

Read next: code_map.py, contracts.py, coverage.py, differences.py, errors.py, glossary.py, notes.py, reference.py, sheet.py,
tutorials.py. Each generates one kind of page.
"""

import concurrent.futures
import hashlib
import re
import subprocess
import sys

from minigrad import viz
from tools.docs import book as course
from tools.docs import (
    code_map,
    contracts,
    coverage,
    differences,
    editions,
    errors,
    glossary,
    inventories,
    math_font,
    measurements,
    notes,
    pictures,
    reference,
    repository,
    sheet,
    tutorials,
)
from tools.docs.paths import DOCS, READMES, ROOT, SOURCE

__all__ = ["Stage", "stage"]

class Stage:
    """The folder of pages while it is filled. `written` has the paths of this build. In Markdown, "a clone" becomes a link."""

    def __init__(self, folder=SOURCE):
        self.folder = folder
        self.written = set()

    def write(self, name, text):
        """Write a page. A file that already has this text keeps its time."""
        path = self.folder / name
        assert path not in self.written, f"two pages called {name}"
        self.written.add(path)
        data = text if isinstance(text, bytes) else (repository.linked(text) if name.endswith(".md") else text).encode()
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def sweep(self):
        """Delete the pages that only an earlier build wrote."""
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in self.written:
                path.unlink()


def stage(folder=SOURCE, book=False):
    """Fill `folder` with all pages. The table of ops takes as long as all others, and runs beside them.

    With `book`, the course is going to be written as a book too: pages have links to it.
    """
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        table = beside.submit(op_table)
        pages = Stage(folder)
        for path in sorted(DOCS.rglob("*.md")):
            if path.parent.name != "contracts" and path != DOCS / "map.md":
                pages.write(path.relative_to(DOCS).as_posix(), path.read_text("utf-8"))
        for name, place in READMES.items():
            pages.write(place, readme((ROOT / name).read_text("utf-8")))
        pages.write("_made/benchmarks.md", benchmarks())
        pages.write("_made/speed.md", speed())
        pages.write("_made/growth.md", measurements.growth())
        pages.write("_made/rivals.md", measurements.rivals())
        pages.write("_made/benchmarks_gpu.md", (ROOT / "benchmarks/results/gpu.md").read_text("utf-8"))
        pages.write("_made/differences.md", differences.table())
        files = course.listed(book)
        pages.write("_made/book.md", course.note(files, ""))
        pages.write("tutorials/_made/book.md", course.note(files, "../"))
        pages.write("_made/coverage.md", coverage.table())
        pictures.write()
        for part in (code_map, contracts, errors, glossary, reference, notes, sheet, tutorials, editions):
            part.write(pages)
        pages.write("reference/ops.md", table.result())
    static(folder.parent / "static")
    pages.sweep()
    inventories.write(folder.parent / "inventories")


def readme(text):
    """A README as a page: links to other sites are kept, links into the sources become plain text."""
    def link(match):
        name, target = match.groups()
        if target.startswith("http"):
            return match[0]
        return name
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, text)


def benchmarks():
    """The page about speed: benchmarks/README.md, and the results that are saved beside it."""
    text = (ROOT / "benchmarks/README.md").read_text("utf-8").partition("\n")[2]
    table, everyday = [(ROOT / f"benchmarks/results/{name}.md").read_text("utf-8") for name in ("cpu", "everyday")]
    return f"{readme(text)}\n## Results\n\n{table}\n## Results: everyday ops and programs\n\n{everyday}"


def speed():
    """A picture of the saved results: a chain of small operations, by the size of its tensors."""
    table = (ROOT / "benchmarks/results/cpu.md").read_text("utf-8")
    found = re.findall(r"^\| chain of 200 ops, \((\d*),?\), forward \+ backward \|.*?\|.*?\| ([\d.]+)", table, re.MULTILINE)
    ratios = {f"{int(size or 1):,} number{'s' if size else ''}": float(ratio) for size, ratio in found}
    assert len(ratios) > 2, "benchmarks/results/cpu.md has no chains of operations"
    picture = viz.bars({**ratios, "PyTorch": 1.0}, "How many times as fast as PyTorch: 200 operations, by the size of the tensors")
    return f"```{{raw}} html\n{picture._repr_html_()}\n```\n"


def op_table():
    """The page of all ops. Its table needs a run of all test cases, so it is cached until a source changes."""
    cache = SOURCE.parent / "ops.md"
    sources = [path for folder in ("minigrad", "tests/ops", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
    stamp = hashlib.sha256(b"".join([path.read_bytes() for path in sources])).hexdigest()
    if not cache.exists() or not cache.read_text("utf-8").startswith(stamp):
        table = subprocess.run([sys.executable, "-m", "tools.op_table", "--markdown"], cwd=ROOT, capture_output=True, text=True,
                               check=True).stdout
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(f"{stamp}\n{table}", "utf-8")
    table = cache.read_text("utf-8").partition("\n")[2]
    return f"{TABLE}\n{table}"


TABLE = """# Table of all ops

This table is generated from the rules and from a run of their test cases. *vjp* names the inputs that have a derivative. *double
backward* is `yes` where the vjp depends on the operands, so that its derivative is checked too; it is `linear` where the vjp does
not depend on them. (C) marks a kernel with a loop in C. *CUDA* says whether a GPU has the kernels that the op needs, or names the
missing ones: without them the op raises `NotImplementedError`. `make ops` prints the same table.
"""


def static(folder):
    """Write the font of the formulas and their style, which each page loads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "formulas.woff").write_bytes(math_font.font())
    (folder / "formulas.css").write_text(math_font.style("formulas.woff"), "utf-8")
