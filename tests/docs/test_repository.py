"""The address of the repository: one variable, links in the texts, the file behind each page's pencil. And a complete search index."""

import os
import subprocess
import sys

import pytest

from tests.docs.conftest import ROOT
from tools.docs import repository, search_index

FORK = "https://github.com/you/minigrad"


@pytest.fixture
def fork(monkeypatch):
    monkeypatch.setenv("MINIGRAD_REPOSITORY", FORK)


@pytest.mark.parametrize("given, expected", [
    (FORK, (FORK, "main")), (f"{FORK}.git", (FORK, "main")), (f"{FORK}/", (FORK, "main")), (f"{FORK}/tree/course", (FORK, "course")),
    ("https://gitlab.com/a/b/c/-/tree/dev", ("https://gitlab.com/a/b/c", "dev")), ("", ("", ""))])
def test_address(monkeypatch, given, expected):
    monkeypatch.setenv("MINIGRAD_REPOSITORY", given)
    assert repository.address() == expected


@pytest.mark.parametrize("given", ["github.com/you/minigrad", "http://github.com/you/minigrad", "https://github.com", "git@github.com:a/b"])
def test_no_address(monkeypatch, given):
    monkeypatch.setenv("MINIGRAD_REPOSITORY", given)
    with pytest.raises(SystemExit, match="expected an address"):
        repository.address()


def test_the_default_is_in_pyproject(monkeypatch, tmp_path):
    monkeypatch.delenv("MINIGRAD_REPOSITORY", raising=False)
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "m"\n[project.urls]\nRepository = "{FORK}"\n', "utf-8")
    assert repository.address() == (FORK, "main")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "m"\n', "utf-8")
    assert repository.address() == ("", "") and repository.edit("docs/start.md") == ""


@pytest.mark.parametrize("given, expected", [
    (FORK, f"{FORK}/edit/main/docs/start.md"), ("https://gitlab.com/a/b", "https://gitlab.com/a/b/-/edit/main/docs/start.md"),
    ("https://codeberg.org/a/b", "https://codeberg.org/a/b/_edit/main/docs/start.md")])
def test_edit(monkeypatch, given, expected):
    monkeypatch.setenv("MINIGRAD_REPOSITORY", given)
    assert repository.edit("docs/start.md") == expected


@pytest.mark.parametrize("page, path", [
    ("start", "docs/start.md"), ("tutorials/index", "docs/tutorials/index.md"), ("tutorials/12_hooks", "tutorials/12_hooks.py"),
    ("projects/digits_cnn", "tutorials/projects/digits_cnn.py"), ("errors/MG-E101", "minigrad/errors.md"), ("changelog", "CHANGELOG.md"),
    ("notes/graph", "minigrad/_core/README.md"), ("reference/tensor", ""), ("search", ""), ("genindex", "")])
def test_source(page, path):
    assert repository.source(page) == path and (not path or (ROOT / path).is_file())


@pytest.mark.parametrize("text, expected", [
    ("From a clone, with Python", f"From [a clone]({FORK}), with Python"), ("In a clone, `make lab`", f"In [a clone]({FORK}), `make lab`"),
    ("needs a clone of the repository.", f"needs [a clone of the repository]({FORK})."),
    ("in a clone of minigrad, in a clone", f"in [a clone of minigrad]({FORK}), in a clone"),
    ("change a clone; in a clone of x", None), ("`from a clone`", None), ("```\nfrom a clone\n```\n", None), ("## From a clone\n", None),
    ("[from a clone](x.md)", None), ("```bash\nmake\n```\nin a clone", f"```bash\nmake\n```\nin [a clone]({FORK})")])
def test_linked(fork, text, expected):
    assert repository.linked(text) == (expected or text)


def test_no_address_no_links(monkeypatch):
    monkeypatch.setenv("MINIGRAD_REPOSITORY", "")
    assert repository.linked("From a clone") == "From a clone"


def test_pages_that_name_a_clone_say_where_it_is(fork):
    for name in ("start.md", "tutorials/index.md", "teach/grading.md"):
        assert f"]({FORK})" in repository.linked((ROOT / "docs" / name).read_text("utf-8")), name


def test_a_second_build_keeps_the_index_entries(tmp_path):
    """Sphinx reads the old index for the pages that have not changed, but not their index entries."""
    pytest.importorskip("sphinx", reason="the site needs the extra `docs`")
    source, html = tmp_path / "source", tmp_path / "html"
    source.mkdir()
    (source / "conf.py").write_text("extensions = ['tools.docs.search_index']\n", "utf-8")
    (source / "index.rst").write_text("Index\n=====\n\n.. toctree::\n\n   one\n   two\n", "utf-8")
    for name in ("one", "two"):
        (source / f"{name}.rst").write_text(f"{name}\n====\n\n.. index:: subject {name}\n\nText.\n", "utf-8")

    def built():
        subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", source, html], check=True,
                       env=os.environ | {"PYTHONPATH": str(ROOT)})
        return search_index.entries_of((html / "searchindex.js").read_text("utf-8"))
    first = built()
    assert {name: [entry for entry, *_ in entries] for name, entries in first.items() if name != "index"} == {
        "one": ["subject one"], "two": ["subject two"]}
    (source / "two.rst").write_text((source / "two.rst").read_text("utf-8").replace("subject two", "subject new"), "utf-8")
    second = built()
    assert second.pop("one") == first.pop("one")
    assert [entry for entry, *_ in second["two"]] == ["subject new"]
    (source / "two.rst").unlink()
    (source / "index.rst").write_text("Index\n=====\n\n.. toctree::\n\n   one\n", "utf-8")
    assert set(built()) - {"index"} == {"one"}
