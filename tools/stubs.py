"""Write the ``.pyi`` files of the public modules: ``MINIGRAD_PURE=1 python -m tools.stubs``.

    signatures of the running code  +  tools/annotations.py  ->  minigrad/tensor.pyi, minigrad/nn/init.pyi, ...

A type checker cannot see the methods of `Tensor`: most are made of ops while minigrad is imported. So we
import it (interpreted, where every signature can be asked for), walk over what is public, and write down what
is there. setup.py runs this at each build; the files are not kept under version control, and ship in the wheel.

``--check`` writes nothing and fails if a file is not what would be written, if a parameter or result has no type, or if
nothing uses an entry of ``TYPES``.
"""

import argparse
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import minigrad
import minigrad.distributions
import minigrad.func
import minigrad.functional
import minigrad.library
import minigrad.nn.modules
import minigrad.testing
import minigrad.viz
from minigrad._core.graph.handle import RemovableHandle
from minigrad._core.graph.metadata import Device, DType, Size
from minigrad._core.graph.node import Node
from minigrad._core.graph.tensor import TensorBase
from minigrad.errors import MinigradError
from minigrad.tensor import Tensor
from tools.annotations import ATTRIBUTES, HEADER, HOMES, OVERLOADS, PREAMBLES, TYPES

# Classes that live in the core, and the public module in whose stub they are.
ADOPTED: dict[type, str] = {Size: "minigrad.tensor", DType: "minigrad.dtypes", Device: "minigrad.dtypes",
                            Node: "minigrad.autograd.graph",
                            RemovableHandle: "minigrad.autograd.graph"}
NAMES: dict[type, str] = {DType: "dtype"}

MODULES = ["minigrad", "minigrad.tensor", "minigrad.dtypes", "minigrad.creation", "minigrad.random", "minigrad.errors",
           "minigrad.serialization", "minigrad.special", "minigrad.autograd",
           *[m.name for m in pkgutil.iter_modules(minigrad.autograd.__path__, "minigrad.autograd.") if "._gradcheck" not in m.name
             and m.name not in ("minigrad.autograd._functional_arguments", "minigrad.autograd._jacobians",
                                "minigrad.autograd._backward", "minigrad.autograd.profiler", "minigrad.autograd.profiler_util")],
           "minigrad.nn.functional", "minigrad.nn.init", "minigrad.nn.parameter",
           *[m.name for m in pkgutil.iter_modules(minigrad.nn.modules.__path__, "minigrad.nn.modules.") if "._" not in m.name],
           *[m.name for m in pkgutil.iter_modules(minigrad.optim.__path__, "minigrad.optim.") if "._" not in m.name],
           "minigrad.utils.checkpoint", "minigrad.utils.hooks", "minigrad.testing", "minigrad.func", "minigrad.library",
           "minigrad.library._custom_ops"]

# What the public modules are built on, as they see it: untyped.
CORE = [f"minigrad._core.{name}" for name in ("graph.handle", "graph.metadata", "graph.tensor", "record.apply", "record.promotion",
                                              "surface.operators", "surface.variable")]

# Shown as the rest of the class is, but not to be called by anybody.
INTERNAL = {"clear", "enter", "extras", "shared_counter", "version", "compute", "release", "explain_error", "twin",
            "number_of_outputs", "output_meta", "input_number", "connect", "copy_edges", "lead_to", "next_node", "next_nodes",
            "owner"}

MODES = ("no_grad", "enable_grad", "set_grad_enabled", "set_forward_grad_enabled", "inference_mode",
         "set_multithreading_enabled", "enforce_grad_layout_policy")
# What Python itself calls, and no type checker needs to know of.
UNSAID = {"__init_subclass__", "__dealloc__", "__dir__", "__getstate__", "__setstate__"}
# How an object is made that nobody makes by hand, and tricks that make a class a decorator.
HIDDEN = {("dtype", "__init__"), ("Limits", "__init__"), ("Limits", "__repr__"),
          ("Node", "__init__"), ("no_grad", "__new__"), ("enable_grad", "__new__"),
          ("inference_mode", "__new__")}

# Names of a package that a build need not have: they are written without a look at them.
BFLOAT16 = {"bfloat16": "bfloat16: dtype", "BFloat16Tensor": "from minigrad._bfloat16 import BFloat16Tensor as BFloat16Tensor"}

untyped = set()
unused = set(TYPES)


def called(cls: type) -> str:
    """The public name of a class."""
    return NAMES.get(cls) or cls.__name__


def written(annotation):
    """The annotation of a source in the names of the stubs, where `int` and its like are methods or dtypes."""
    text = re.sub(r"(?<![\w.])_?(bool|complex|dict|float|int|slice|str)\b", r"_\1", annotation)
    for name, stub_name in (("Number", "_Number"), ("Index", "_Index"), ("DType", "_Dtype"), ("DeviceLike", "_Device")):
        text = re.sub(rf"\b{name}\b", stub_name, text)
    return text


def type_of(annotation, key):
    """The type of a parameter or of a result: its annotation in the source, or else the entry `key` of the table."""
    if isinstance(annotation, str):
        return written(annotation)
    if key not in TYPES:
        untyped.add(key)
    unused.discard(key)
    return TYPES.get(key, "Any")


def signature(function, name, module, cls=None):
    """``(parameters) -> result``"""
    key = f"{called(cls) if cls else module.removeprefix('minigrad.')}.{name}"
    parts = []
    keyword_only = False
    declared = inspect.signature(function)
    for i, p in enumerate(declared.parameters.values()):
        if cls and i == 0 and (name == "__new__" or not isinstance(inspect.getattr_static(cls, name), staticmethod)):
            parts.append("cls" if p.name == "cls" else "self")
            continue
        if p.kind is p.KEYWORD_ONLY and not keyword_only and not any(part.startswith("*") for part in parts):
            parts.append("*")
        keyword_only = keyword_only or p.kind is p.KEYWORD_ONLY
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else " = " + (repr(p.default) if isinstance(p.default, (int, float, str, type(None)))
                                                           else "...")
        parts.append(f"{star}{p.name}: {type_of(p.annotation, f'{key}.{p.name}')}{default}")
    if cls is Tensor and re.fullmatch("[a-z].*_|__i(add|sub|mul|truediv|pow|floordiv|mod|and|or|xor)__", name):
        result = "Self"
    else:
        result = "None" if name == "__init__" else type_of(declared.return_annotation, key)
    return f"({', '.join(parts)}) -> {result}"


def function_lines(function, name, module, cls=None):
    """The lines that declare a function or method."""
    key = f"{cls.__name__}.{name}" if cls else name
    shapes = OVERLOADS.get(key, OVERLOADS.get(name) if cls in (None, Tensor) else None)
    if shapes is None:
        declared = signature(function, name, module, cls)
        # Equality of tensors is elementwise, and layers say what their `forward` takes.
        note = "  # pyright: ignore" if name in ("__eq__", "__ne__", "__new__", "forward", "step") else ""
        generator = inspect.isgeneratorfunction(inspect.unwrap(function)) and not inspect.isgeneratorfunction(function)
        decorator = ["@contextmanager"] if generator else []
        return [*decorator, f"def {name}{declared}: ...{note}"]
    this = "self" if cls else "input: Tensor"
    return [line for shape in shapes for line in ("@overload", f"def {name}{shape.format(self=this)}: ...")]


def module_of(value):
    """The name of the module that defines `value`. (An error has that of the builtin one that it is printed as.)"""
    if isinstance(value, type) and issubclass(value, MinigradError):
        return vars(value)["home"][0]
    return getattr(value, "__module__", None) or ""


def bases_of(cls):
    """The public bases, and the classes whose members `cls` takes over because they are not public."""
    hidden: list[type] = []
    shown: list[type] = []
    for base in cls.__mro__[1:]:
        home = module_of(base)
        module = sys.modules[home]
        public = base in ADOPTED or not home.startswith("minigrad") or (
            home in MODULES and base.__name__ in getattr(module, "__all__", [base.__name__]))
        if public:
            if base is not object and not any(issubclass(s, base) for s in shown):
                shown.append(base)
        elif not shown:
            hidden.append(base)
    return shown, hidden


def class_lines(cls, module):
    """The lines that declare a class."""
    name = called(cls)
    shown, hidden = bases_of(cls)
    attributes = ATTRIBUTES.get(name, {})
    if hasattr(cls, "_fields"):
        return [f"class {name}(NamedTuple):", *[f"    {field}: {attributes[field]}" + " = ..." * (field in cls._field_defaults)
                                                  for field in cls._fields]]
    bases = ["tuple[_int, ...]" if b is tuple else called(b) for b in shown]
    body = [f"{attribute}: {kind}" for attribute, kind in attributes.items()]
    seen = set(attributes)
    for owner in (cls, *hidden):
        for member, value in vars(owner).items():
            plain = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            special = member.startswith("__") and member.endswith("__")
            if member in seen or (name, member) in HIDDEN or (member in INTERNAL and name in ("Tensor", "Node", *MODES)):
                continue
            if member in UNSAID or (member.startswith("_") and not special):
                continue
            if isinstance(value, property):
                untyped.add(f"{name}.{member}")
                seen.add(member)
            elif inspect.isfunction(plain):
                seen.add(member)
                if cls is Size and special:
                    continue
                lines = function_lines(plain, member, module, cls)
                if isinstance(value, (staticmethod, classmethod)) and member != "__new__":
                    lines.insert(0, "@" + type(value).__name__)
                body += lines
                if member == "forward" and name not in ("Module", "Function"):
                    body += [line.replace("def forward", "def __call__") for line in lines]
    if name == "Module":
        body = [line for line in body if not line.startswith(("def __call__", "def forward"))]
        body[:0] = ["__call__: Callable[..., Any]", "forward: Callable[..., Any]"]
    return [f"class {name}{'(' + ', '.join(bases) + ')' if bases else ''}:", *["    " + line for line in body or ["..."]]]


def public(module):
    """name -> what, of a module's stub."""
    found = {}
    if module is minigrad:
        names = ["__version__", *[n for n in dict.fromkeys([*vars(module), *dir(module)]) if not n.startswith("_")]]
    else:
        names = getattr(module, "__all__", None) or [
            n for n, v in vars(module).items() if not n.startswith("_") and module_of(v) == module.__name__]
    for name in names:
        value = None if module is minigrad and name in BFLOAT16 else getattr(module, name)
        if name not in ("install_methods",):
            found[name] = value
    if module is minigrad.dtypes:
        found |= {name: value for name, value in vars(module).items() if isinstance(value, DType)} | {"Limits": module.Limits}
    for cls, home in ADOPTED.items():
        if home == module.__name__:
            found[called(cls)] = cls
    # Not in __all__, but what is public mentions it.
    for name, value in vars(module).items():
        if inspect.isclass(value) and module_of(value) == module.__name__ and issubclass(value, Exception):
            found[name] = value
    return found


def stub(module):
    """The text of a module's stub."""
    imports, body = [], []
    for name, value in public(module).items():
        if module is minigrad and name in BFLOAT16:
            (imports if BFLOAT16[name].startswith("from") else body).append(BFLOAT16[name])
        elif inspect.ismodule(value):
            package, _, last = value.__name__.rpartition(".")
            imports.append(f"from {package} import {last} as {name}")
        elif inspect.isclass(value):
            home = ADOPTED.get(value, module_of(value))
            own = called(value)
            if home == module.__name__:
                body += ["", *class_lines(value, module.__name__)]
            else:
                imports.append(f"from {home} import {own} as {name}")
        elif inspect.isroutine(inspect.unwrap(value)):
            body += function_lines(value, name, module.__name__)
        elif isinstance(value, DType):
            body.append(f"{name}: dtype")
        else:
            kind = type(value).__name__
            known = {"str": "_str", "float": "_float", "NoneType": "None"}.get(kind, kind)
            body.append(f"{name}: {'Any' if kind.startswith('_') else known}")
    if module is minigrad.dtypes:
        body.append("device = Device")      # a class whose instances are devices: see `DeviceType`
    text = "\n".join([*body, PREAMBLES.get(module.__name__, "")])
    defined = set(re.findall(r"^class (\w+)", text, re.M)) | set(re.findall(r"^(\w+)\s*:", text, re.M))
    imported = {line.rpartition(" ")[2] for line in imports}
    for name, home in HOMES.items():
        if re.search(rf"\b{name}\b", text) and name not in defined and name not in imported and home != module.__name__:
            imports.append(f"from {home} import {name} as {name}" if name in ("GradientEdge",) else f"from {home} import {name}")
    for base in set(re.findall(r"^class \w+\(([\w, ]+)\):", text, re.M)):
        for name in base.split(", "):
            owner = next((c for v in vars(module).values() if inspect.isclass(v) for c in v.__mro__ if c.__name__ == name), None)
            if name not in defined | imported and name not in HOMES and owner and module_of(owner).startswith("minigrad"):
                imports.append(f"from {module_of(owner)} import {name}")
    if module is not minigrad:      # what other modules of the package use, and nobody else should
        body += ["", *[f"{name}: Any" for name, value in vars(module).items() if inspect.isfunction(value)
                       and module_of(value) == module.__name__ and name not in public(module) and not name.startswith("__")]]
    body = "\n".join(body)
    return "\n".join([HEADER + "\n".join(sorted(set(imports))), PREAMBLES.get(module.__name__, ""), body.strip("\n"), ""])


def core_stub(module):
    """The stub of a module of the core. Its classes have any attribute; but a public class, and `TensorBase`, has a public stub."""
    lines = [HEADER]
    for name, value in vars(module).items():
        described = Tensor if value is TensorBase else value
        if isinstance(described, type) and (described in ADOPTED or described is Tensor):
            home = ADOPTED.get(described, "minigrad.tensor")
            lines += [f"from {home} import {called(described)} as _{name}", f"{name} = _{name}"]
        elif module_of(value) == module.__name__ and inspect.isclass(value):
            lines += [f"class {name}:", "    def __init__(self, *args: Any) -> None: ...",
                      "    def __getattr__(self, name: _str) -> Any: ..."]
        elif module_of(value) == module.__name__ or name in getattr(module, "__all__", ()):
            lines.append(f"{name}: Any")
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something would change or has no type")
    options = parser.parse_args()
    for name in dir(Tensor):
        getattr(Tensor, name)       # imports the methods that `import minigrad` leaves out
    different = []
    for name in [*MODULES, *CORE]:
        module = importlib.import_module(name)
        path = Path(module.__file__ or "").with_suffix(".pyi")
        text = core_stub(module) if name in CORE else stub(module)
        old = path.read_text("utf-8") if path.exists() else None
        if text != old:
            different.append(str(path))
            if not options.check:
                path.write_text(text, "utf-8")
    if untyped:
        print("no type in the source or in tools/annotations.py for: " + ", ".join(sorted(untyped)), file=sys.stderr)
    if unused:
        print("nothing uses these types of tools/annotations.py: " + ", ".join(sorted(unused)), file=sys.stderr)
    if options.check and different:
        print("not up to date (make build): " + ", ".join(different), file=sys.stderr)
    return int(options.check and bool(different or untyped or unused))


if __name__ == "__main__":
    sys.exit(main())
