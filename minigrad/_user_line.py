"""The line of your program that runs now, for the messages of errors: ``hw.py, line 12: y = x @ w``.

It imports nothing of minigrad: ``errors.py`` is below every layer. `mg.debug` notes a line for every save and every write, in a
faster way: ``_core/graph/switches.py``.
"""

import os
import sys

__all__ = ["is_program", "user_line"]

PACKAGE = os.path.dirname(__file__) + os.sep
DEMO = os.path.join(PACKAGE, "demo") + os.sep       # counts as the user's code
PYTHON = os.path.dirname(os.__file__) + os.sep
INSTALLED = ("site-packages", "dist-packages")
LONGEST = 80        # of a line of source


def user_line():
    """The innermost line outside minigrad, Python and installed packages; if there is none, the innermost of a package.

    None if it was typed at a prompt, or was in no file.
    """
    frame = sys._getframe(1)
    installed = None
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<"):
            if not file.startswith("<frozen"):
                return None
        elif not is_minigrad(file):
            if is_installed(file):
                installed = installed or frame
            elif not file.startswith(PYTHON):
                return described(file, frame.f_lineno)
        frame = frame.f_back
    return None if installed is None else described(installed.f_code.co_filename, installed.f_lineno)


def is_minigrad(file):
    """Whether a file is one of minigrad's own."""
    return file.startswith(PACKAGE) and not file.startswith(DEMO)


def is_installed(file):
    """Whether a file belongs to an installed package."""
    return any(f"{os.sep}{folder}{os.sep}" in file for folder in INSTALLED)


def is_program(file):
    """Whether a file is the user's own: not minigrad's, not Python's, and not an installed package's."""
    return not (is_minigrad(file) or is_installed(file) or file.startswith(PYTHON))


def described(file, number):
    import linecache
    source = linecache.getline(file, number).strip()
    if len(source) > LONGEST:
        source = source[:LONGEST - 3] + "..."
    return f"{displayed(file)}, line {number}" + (f": {source}" if source else "")


def displayed(file):
    """The name of a file: relative if it is in the current folder, else without its folder. A cell of a notebook has its number."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    cell = None if shell is None else shell.compile.format_code_name(file)
    if cell is not None:
        return " ".join(cell)       # Cell In[3]
    try:
        folder = os.getcwd() + os.sep
    except OSError:                 # it has been deleted
        return os.path.basename(file)
    return file.removeprefix(folder) if file.startswith(folder) else os.path.basename(file)
