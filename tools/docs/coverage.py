"""The table of ``docs/from-pytorch.md``: for each module of PyTorch, the public names that minigrad has, and those that it lacks.

The names come from minigrad/run/torch_names.json, the reasons from minigrad/run/missing.py: a build of the site has no PyTorch.
"""

from minigrad.run.check import resolve, torch_names
from minigrad.run.missing import reason

__all__ = ["missing", "table"]


def missing(module):
    """reason -> the public names of a module of PyTorch that minigrad lacks for this reason."""
    found = {}
    for name in torch_names()[module]:
        if not resolve(f"{module}.{name}")[0]:
            found.setdefault(reason(module, name), []).append(name)
    return found


def table():
    """The page's tables, in Markdown: the numbers of each module, then the names that are not there."""
    lines = ["| module of PyTorch | public names | there |", "|---|--:|--:|"]
    absent = {module: missing(module) for module in torch_names()}
    for module, names in torch_names().items():
        lines.append(f"| `{module}` | {len(names)} | {len(names) - sum(map(len, absent[module].values()))} |")
    for module, reasons in absent.items():
        if reasons:
            ours = module.replace("torch", "minigrad", 1)
            lines += ["", f"**Not in `{ours}`**", "", "| names | why, and what to use |", "|---|---|"]
            lines += [f"| {', '.join(f'`{name}`' for name in names)} | {why} |" for why, names in sorted(reasons.items())]
    return "\n".join(lines) + "\n"
