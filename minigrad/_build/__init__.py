"""How minigrad runs: compiled or interpreted, with which libraries, on how many threads. Imports nothing of the rest.

The first import of minigrad comes here, and this file refuses a folder that another project uses too. See Note [The name on PyPI]
The distribution is called ``minigrad-autograd``, because ``minigrad`` on PyPI is another project, whose package is called
``minigrad`` too. pip puts the files of both into one folder, without a word: the second ``__init__.py`` overwrites the first, and
an uninstall of either removes it for both. What is left imports, and fails later, with an error that names neither.
The other project has the files ``nn.py`` and ``engine.*.so``; ours has neither, so one look at the folder (15 us) finds the
mixture. It happens in two places:
    minigrad/__init__.py            ours imports minigrad._build first, so it finds the files of the other project
    minigrad/engine/__init__.py     the other project's imports minigrad.engine, and finds this package before its own module
``importlib.metadata`` would find it too, but takes 15 ms, so only the doctor asks it.
"""

import os

DISTRIBUTION = "minigrad-autograd"      # what pip installs; `minigrad` is what Python imports


def refuse_other_project(folder):
    """Check that the folder of the package is minigrad's alone.

    Args:
        folder (str): the folder that contains minigrad's ``__init__.py``.

    Raises:
        ImportError: the folder has files of the other project called ``minigrad``, or lacks ``__init__.py``.
    """
    names = os.listdir(folder)
    foreign = sorted(name for name in names if name == "nn.py" or name.startswith("engine."))
    if foreign:
        found = f"{', '.join(foreign)} of another project, which PyPI calls minigrad"
    elif "__init__.py" not in names:
        found = "no __init__.py: an uninstall of another project, which PyPI calls minigrad, has removed it"
    else:
        return
    raise ImportError("minigrad is not installed as a whole: another project has used its folder\n"
                      f"  folder:   {folder}\n"
                      f"  found:    {found}\n"
                      f"  fix:      pip uninstall -y minigrad {DISTRIBUTION}, then install {DISTRIBUTION} again (from a clone: "
                      "pip install .)")


refuse_other_project(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
