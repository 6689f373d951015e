# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # One source, two speeds: what Cython makes of a file
#
# **The question.** A debugger steps through minigrad's engine line by line, as through any Python program. The same file also runs
# as machine code, many times as fast. How can one file be both, and which of its lines buy the speed?
#
# You need: [tutorial 1](01_derivative_to_graph.py), [tutorial 2](02_the_engine.py), and no C. You get: an engine in sixty lines of Python; the C
# that Cython makes of it; six steps with what each has bought, measured; a profile of minigrad at both speeds; and the five ways in
# which compiled Python is not Python.
#
# Our example is a chain: multiply by $b$, add $a$, and so on, $n$ times.
#
# $$ y_0 = x, \qquad y_{k+1} = y_k\,b + a, \qquad \frac{\mathrm dy_n}{\mathrm dx} = b^n . $$
#
# ## The file
#
# We keep it as text, since we are going to edit it. A node is a number, the two nodes that it was computed from, and the derivative
# by each. (The first two lines are for later: Python is to leave annotations alone, and the module `cython` has
# what we will annotate with.)

# %%
import ast
import cProfile
import ctypes
import dis
import html
import os
import pstats
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from Cython.Compiler import Main

import minigrad as mg

# %%
NODE = '''
from __future__ import annotations
import cython


class Node:
    """A number, its inputs a and b, and the derivative by each."""

    def __init__(self, value, a=None, da=0.0, b=None, db=0.0):
        self.value, self.a, self.da, self.b, self.db = value, a, da, b, db
        self.grad = 0.0
        self.waits = 0


def mul(x, y):
    return Node(x.value * y.value, x, y.value, y, x.value)


def add(x, y):
    return Node(x.value + y.value, x, 1.0, y, 1.0)
'''

# %% [markdown]
# The engine is the right one of tutorial 2: count the edges, then run what waits for nothing more. It keeps its counts and
# gradients on the nodes, so it must not run twice over one graph. For this tutorial that will do.

# %%
ENGINE = '''

def expect(node, stack):
    """Count an edge to `node`; the first one brings it on the stack."""
    if node.waits == 0:
        stack.append(node)
    node.waits += 1


def arrive(node, g, ready):
    """Give `g` to `node`, which is ready if nothing else is to come."""
    node.grad += g
    node.waits -= 1
    if node.waits == 0:
        ready.append(node)


def backward(root):
    stack = [root]
    while stack:
        node = stack.pop()
        if node.a is not None:
            expect(node.a, stack)
            expect(node.b, stack)
    root.grad = 1.0
    ready = [root]
    while ready:
        node = ready.pop()
        if node.a is not None:
            arrive(node.a, node.grad * node.da, ready)
            arrive(node.b, node.grad * node.db, ready)
'''

# %%
CHAIN = '''

def chain(n):
    """The derivative of the chain at x = 0.5, for b = 0.999 and a = 0.01."""
    x, b, a = Node(0.5), Node(0.999), Node(0.01)
    y = x
    for _ in range(n):
        y = add(mul(y, b), a)
    backward(y)
    return x.grad
'''
TAPE = (NODE + ENGINE + CHAIN).lstrip()


def interpreted(source):
    """The names of a file, as Python runs it."""
    names = {"__name__": "tape"}
    exec(compile(source, "tape.py", "exec"), names)
    return names


print(f"{interpreted(TAPE)['chain'](1000):.12f} should be {0.999 ** 1000:.12f}")

# %% [markdown]
# ## What Python does with a line
#
# Take `node.waits -= 1`. Python has translated it as well, into instructions for a machine that exists only as a program, the
# *interpreter*:

# %%
def line_of(source, text):
    """The number of the first line that has this text in it."""
    return [text in line for line in source.splitlines()].index(True) + 1


number = line_of(TAPE, "node.waits -= 1")
code = interpreted(TAPE)["arrive"].__code__
for instruction in dis.get_instructions(code):
    if instruction.positions.lineno == number:
        print(instruction.opname, instruction.argrepr)

# %% [markdown]
# The interpreter is a loop in C. It reads an instruction, looks up which one it is, and does it: looks for an attribute of that
# name, takes an object from its stack, calls what subtracts objects of their types. It is tempting to blame the loop. Do away
# with it, and let a C compiler make machine code of the rest! That is what Cython does first.
#
# ## What Cython does with it
#
# Cython translates a Python file into a C file. The command is `cython -a tape.py`, and it needs no C compiler yet. We call it from
# here. `-a` asks for a page beside the C, on which each line of Python is followed by the C that it became, and has a *score*:
# 5 for each call of a function of Python's, 2 for each function of Cython's that stands in for one, 1 for what is hardly a call.
# Cython paints a line the yellower the higher its score.

# %%
class Line(NamedTuple):
    score: int
    text: str
    c: str


SHOWN = re.compile(r'<pre class="cython line score-(\d+)"[^>]*>.*?</pre>\n'
                   r"(?:<pre class='cython code [^>]*>(.*?)</pre>)?", re.DOTALL)


def translated(source):
    """What Cython makes of a file: its lines, and the whole of the C."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tape.py")
        path.write_text(source, "utf-8")
        Main.compile(str(path), annotate="default", language_level=3)
        page = path.with_suffix(".html").read_text("utf-8")
        c = path.with_suffix(".c").read_text("utf-8")
    found = [(int(score), html.unescape(re.sub("<.*?>", "", code)))
             for score, code in SHOWN.findall(page)]
    texts = source.splitlines()
    return [Line(score, text, code) for text, (score, code) in zip(texts, found)], c


lines, c = translated(TAPE)
print(len(lines), "lines of Python became", round(c.count("\n"), -3), "lines of C")

# %% [markdown]
# Nearly all of them are the same for every file: ways to make a module, call a function, raise an error. Here is what our line
# became. C in a few words: a variable holds a number or, with a `*` in its type, the place of something in memory. `p->waits` is
# the field `waits` of what lies at the place `p`. A statement ends with `;`. The variables `t_1`, `t_2`, ... are Cython's own,
# for results on the way. After nearly every call it looks for an error, and jumps to the end of the function if there is one; we
# leave most of that out.

# %%
def shown(code):
    """C without what every line has: the names' prefixes and the jumps after an error."""
    code = re.sub(r"; if \(.*?\) __PYX_ERR.*", ";", code)
    code = re.sub(r"if \((.*) < \(0\)\) __PYX_ERR.*", r"\1;", code)
    code = re.sub(r"\n *__Pyx_(GOT|GIVE)REF.*", "", code)       # for Cython's own tests
    return re.sub(r"__pyx_(v_|f_4tape_|mstate_global->__pyx_|(?=t_))", "", code).rstrip()


def c_of(lines, text):
    print(shown(next(line.c for line in lines if text in line.text)))


c_of(lines, "node.waits -= 1")

# %% [markdown]
# Read it slowly, it is the whole tutorial. Get the attribute: an object. Subtract the object 1: another object, a new one. Set the
# attribute. `DECREF` says that we need an object no more; if nobody does, it is freed. There is no loop over instructions. But each
# of these calls does what the interpreter would have done. The variables are objects, since nobody has told Cython what they
# are.
#
# **Predict.** Compiled like this, with no line changed: how many times as fast does it run?
#
# <details><summary>Answer</summary>
#
# It does not run faster: in the table below it is even a little slower. The loop over the instructions was not what took the time.
# And since version 3.11 the interpreter remembers at an instruction where it found an attribute last time, and looks there first.
# Cython's C does not.
#
# </details>
#
# ## Six steps
#
# From here on we edit the text, and every version stays a Python program. The first step was to compile it as it is.

# %%
def edit(source, *changes):
    """`source` with every `old` replaced by `new`. Each has to be there."""
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return source


STEPS = {"compiled as it is": TAPE}

# %% [markdown]
# ### Types for variables
#
# `n` is a small integer and `g` a floating-point number. The lists are lists. We say so, as annotations. Python does nothing with
# them. Cython makes C variables: a `cython.int` has 32 bits, a `cython.double` is what a Python float has in it.

# %%
STEPS["types for variables"] = edit(
    STEPS["compiled as it is"],
    ("def expect(node, stack):", "def expect(node, stack: list):"),
    ("def arrive(node, g, ready):", "def arrive(node, g: cython.double, ready: list):"),
    ("    stack = [root]", "    stack: list = [root]"),
    ("    ready = [root]", "    ready: list = [root]"),
    ("def chain(n):", "def chain(n: cython.int):"))

lines, c = translated(STEPS["types for variables"])
c_of(lines, "for _ in range(n)")

# %% [markdown]
# That loop is a C loop now, over C numbers. And the line above?

# %%
c_of(lines, "node.grad += g")

# %% [markdown]
# It has become longer. `g` is a C number, `node.grad` still an object: so an object is made of `g` first. **A type in the midst of
# objects buys nothing and costs two conversions**, one on the way in and one on the way out. What has to change is where the
# numbers live.
#
# ### A struct
#
# `@cython.cclass` makes a C *struct* of a class: fields one after the other in memory, each at a fixed distance from the start.
# They have to be declared. And a variable has to be declared as a `Node`, or Cython would not know that there are fields to look
# for.

# %%
FIELDS = '''by each."""

    value: cython.double
    a: Node
    da: cython.double
    b: Node
    db: cython.double
    grad: cython.double
    waits: cython.int
'''
INIT = '''value: cython.double, a: Node | None = None, da: cython.double = 0.0,
                 b: Node | None = None, db: cython.double = 0.0):'''
STEPS["a struct"] = edit(
    STEPS["types for variables"],
    ("class Node:\n", "@cython.cclass\nclass Node:\n"),
    ('by each."""\n', FIELDS),
    ("value, a=None, da=0.0, b=None, db=0.0):", INIT),
    ("(x, y):", "(x: Node, y: Node):"),
    ("(node, stack", "(node: Node, stack"),
    ("(node, g", "(node: Node, g"),
    ("def backward(root):\n", "def backward(root: Node):\n    node: Node\n"),
    ("    y = x\n", "    y: Node = x\n"))

# %% [markdown]
# **Predict.** What does `node.waits -= 1` become?
#
# <details><summary>Answer</summary>
#
# A subtraction. No name is looked for, nothing is made, nothing can fail.
#
# </details>

# %%
lines, c = translated(STEPS["a struct"])
c_of(lines, "node.waits -= 1")
print()
print(shown(re.search(r"struct __pyx_obj_4tape_Node \{.*?\};", c, re.DOTALL)[0]))

# %% [markdown]
# `PyObject_HEAD` is what every Python object begins with: its count of references and its type. So the struct still is a Python
# object. It may lie in a list, and is freed when nobody needs it. Its fields are C.
#
# Here are the two functions that do the work of a backward, before and after. The numbers on the left are Cython's scores.

# %%
class Yellow:
    """Functions of some versions beside each other, with the scores of their lines."""

    def __init__(self, functions, *steps):
        self.columns = []
        for step in steps:
            lines, parts = translated(STEPS[step])[0], []
            for node in ast.parse(STEPS[step]).body:
                if getattr(node, "name", "") in functions:
                    start = min([node.lineno, *[d.lineno for d in node.decorator_list]])
                    parts += [*lines[start - 1:node.end_lineno], Line(0, "", "")]
            self.columns.append((step, parts[:-1]))

    def __repr__(self):
        rows = [line for step, part in self.columns for line in [Line(0, step, ""), *part]]
        return "\n".join([f"{line.score or '':4}  {line.text}" for line in rows])

    def _repr_html_(self):
        return ('<div style="display:flex;flex-wrap:wrap;gap:0 12px">'
                + "".join([column(step, part) for step, part in self.columns]) + "</div>")


# %%
def painted(line):
    """A line, the yellower the higher its score. The page's own colours stay under it."""
    depth = 0.5 * (1 - 1 / (1 + line.score / 10))
    return (f'<span style="display:block;background:rgba(215,155,0,{depth:.2f})">'
            f'{line.score or "":>3}  {html.escape(line.text)} </span>')


def column(step, part):
    total = sum(line.score for line in part)
    return (f'<div style="flex:1 1 340px;min-width:0;margin:8px 0"><b>{step}: {total}</b>'
            '<pre tabindex="0" style="overflow-x:auto;font-size:12px;margin:4px 0">'
            '<span style="display:inline-block;min-width:100%">'
            + "".join([painted(line) for line in part]) + "</span></pre></div>")


Yellow(["arrive", "backward"], "compiled as it is", "a struct")

# %% [markdown]
# The lines about fields have gone white. What is yellow now are the first lines of the functions, and the lines that call them.
# The sums are nearly the same, and yet the second is several times as fast. A score counts what is written, and not how often it
# runs, or whether it runs at all: much of a first line only speaks when an argument is missing.
#
# ### Functions of C
#
# A `def` can be called by any Python code, with arguments by position or by name. So what is passed has to be objects, put in
# order, taken out, checked. This is what `arrive(node.a, ...)` is now:

# %%
c_of(lines, "arrive(node.a")

# %% [markdown]
# The C number becomes an object, only to be made a number again by the function that is called. `@cython.cfunc` makes a function
# of C. It takes C numbers. It is called by a jump to its address. And Python cannot see it: only `chain` stays a `def`.

# %%
STEPS["functions of C"] = edit(STEPS["a struct"], *[
    (f"def {name}(", f"@cython.cfunc\ndef {name}(")
    for name in ("mul", "add", "expect", "arrive", "backward")])

lines, c = translated(STEPS["functions of C"])
c_of(lines, "arrive(node.a")

# %% [markdown]
# (What is left refuses None, and keeps `node.a` alive while the function runs.)
#
# ### Less to allocate
#
# `Node(...)` is the call of a class: its arguments become objects again, for `__init__`. `Node.__new__(Node)` makes the empty
# struct, and we fill it. And `freelist` has the class keep the memory of dead nodes for the next ones, instead of giving it back
# each time.

# %%
MADE = '''@cython.cfunc
def made(value: cython.double, a: Node, da: cython.double,
         b: Node, db: cython.double) -> Node:
    """A Node without the call of a class."""
    node: Node = Node.__new__(Node)
    node.value, node.a, node.da, node.b, node.db = value, a, da, b, db
    node.grad, node.waits = 0.0, 0
    return node


@cython.cfunc
def mul'''
STEPS["less to allocate"] = edit(
    STEPS["functions of C"],
    ("@cython.cclass", "@cython.freelist(4096)\n@cython.cclass"),
    ("@cython.cfunc\ndef mul", MADE),
    ("return Node(", "return made("))
Yellow(["mul", "add", "made"], "a struct", "less to allocate")

# %% [markdown]
# ### Safe again
#
# The last step goes back a little. A node holds the node before it. When the last one is freed, it lets go of the one before,
# which is freed inside of that, and so on: a million nodes are a million nested calls. Python's own classes guard against it, and
# a C class does only if it is told to. Since step 3 our file has had this fault. `chain(1_000_000)` computes its number, and then
# the process dies: no exception, no message of Python's.

# %%
STEPS["safe again"] = edit(
    STEPS["less to allocate"],
    ("@cython.freelist", "@cython.trashcan(True)\n@cython.freelist"))

# %% [markdown]
# ## Still Python
#
# All six are programs that Python runs. The decorators give back what they are given, and annotations are not even evaluated.

# %%
results = {interpreted(source)["chain"](1000) for source in STEPS.values()}
print(len(STEPS), "versions, and the results are", results)

# %% [markdown]
# So one file is both, because **what makes it fast says nothing about what it computes**. It says what things are. Here is the
# first half of the last version. In the other half each function has got a decorator, and types for its arguments.

# %%
last = STEPS["safe again"]
half = last[:last.index("@cython.cfunc\ndef expect")]
mg.utils.source.Source("tape.py", 1, half.rstrip())

# %% [markdown]
# ## What each step has bought
#
# **Predict.** Which of the six steps bought most? Which cost something?
#
# <details><summary>Answer</summary>
#
# The struct. Types for variables cost something, and so does safety. All in the table.
#
# </details>
#
# | step | ns per node | times as fast | instructions per node |
# |---|--:|--:|--:|
# | not compiled | 1,137 | 1.0 | 11,156 |
# | compiled as it is | 1,329 | 0.9 | 10,770 |
# | types for variables | 1,356 | 0.8 | 10,846 |
# | a struct | 228 | 5.0 | 2,187 |
# | functions of C | 149 | 7.6 | 1,449 |
# | less to allocate | 86 | 13.2 | 872 |
# | safe again | 95 | 12.0 | 924 |
#
# *Two cores of an AMD EPYC, busy with other things; Python 3.11.7, Cython 3.3.1, gcc 12.2. Processor time, the median of 25
# turns; instructions counted by valgrind.*
#
# The time is that of a node, made, counted, run and freed, in `chain(1000)`. The times are good to some ten percent. Instructions
# do not depend on how busy a machine is. In both, a factor of 12 is left when everything is done, and the first two steps have no
# part in it.
#
# On your machine, with a C compiler (`gcc` or `clang`; `cythonize` also needs the package setuptools):
#
# ```text
# cythonize -i -3 tape.py             # tape.cpython-311-x86_64-linux-gnu.so, which Python imports before tape.py
# python -m timeit -s "import tape" "tape.chain(1000)"
# ```
#
# and all of the table, from a clone of minigrad: `python -m benchmarks.two_speeds --instructions`.
#
# ## minigrad's own engine
#
# The files of `minigrad/_core` and `minigrad/ops` are written like this, and `pip install` compiles them. `MINIGRAD_PURE=1` in the
# environment of a program has them interpreted, also where compiled modules lie beside the sources. Which mode runs, the second
# line of `mg.show_config()` says:

# %%
print(mg.show_config().splitlines()[1])

# %% [markdown]
# ### A profile
#
# A profiler that counts the calls of Python functions sees all of the interpreted engine. We profile the backward of two chains,
# one twice as long as the other. The difference, divided by the number of nodes, is what a node costs.

# %%
PROFILE = '''
import cProfile, collections, os, pstats
import minigrad as mg
package = os.path.dirname(mg.__file__) + os.sep

def calls(n):
    x, b, a = mg.tensor(0.5, requires_grad=True), mg.tensor(0.999), mg.tensor(0.01)
    y = x
    for _ in range(n // 2):
        y = y * b + a
    profile = cProfile.Profile()
    profile.runcall(y.backward)
    found = collections.Counter()
    for (file, _, name), (_, count, *_) in pstats.Stats(profile).stats.items():
        path = file[len(package):].replace(os.sep, "/")
        if not file.startswith(package):
            path = "Cython" if "Cython" in file else "Python" if file == "~" else "NumPy"
            name = name.replace("<built-in method builtins.", "").strip("<>")
        found[f"{path:21} {name}"] += count
    return found

calls(100)              # the first run of a process has more to do
costs = calls(200) - calls(100)
for name in sorted(costs, key=lambda name: (-costs[name], name))[:14]:
    print(f"{costs[name] / 100:5.1f}  {name}")
'''

# %%
def run(program, pure="1", *, command=("-c",), **more):
    """What a program prints that runs in a process of its own."""
    paths = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, *command, program], check=True, text=True,
                          env=os.environ | {"MINIGRAD_PURE": pure, "PYTHONPATH": paths},
                          stdout=subprocess.PIPE, **more)
    return done.stdout


print(run(PROFILE), end="")

# %% [markdown]
# The engine's three verbs are there, once for each node: `take`, `apply`, `deliver`. So is `next_node`, twice for each edge: once
# to count, once to send. And most calls go to Python itself: `isinstance`, `len`, and `cython.cast`, which tells Cython a type,
# and when interpreted gives back what it was given.
#
# **Predict.** And compiled: how many calls does the profiler see for a node?
#
# <details><summary>Answer</summary>
#
# None. It sees `Tensor.backward`, the function that it calls, and the one that this calls: a handful for a chain of any length. The
# rest are calls from C to C, of which Python is told nothing. The same program with `MINIGRAD_PURE=0` prints no line where minigrad
# is compiled.
#
# </details>
#
# A function of another file is called in C as well. For that, a small file lies beside the source, which says what others may
# reach. `cdef` is how Cython's older language writes `@cython.cfunc`:

# %%
mg.utils.source.source_of("_core/engine/ready_queue.pxd")

# %% [markdown]
# ### A breakpoint in the engine
#
# Interpreted, the engine is a program like yours. Here a debugger runs one that calls `backward`, with a breakpoint in
# `GraphTask.deliver`, where a node has run and its results are about to be sent.

# %%
PROGRAM = '''import minigrad as mg
x = mg.tensor(3.0, requires_grad=True)
y = (x * x).sin()
y.backward()
'''
deliver = mg.utils.source.source_of("_core/engine/graph_task.py", "GraphTask.deliver")
stop = deliver.line + line_of(deliver.text, "results: list = self.results") - 1
commands = f"""b minigrad/_core/engine/graph_task.py:{stop}
c
p node.name(), self.results
c
p node.name(), self.results
p node.next_node(0) is node.next_node(1)
q
"""

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "program.py")
    path.write_text(PROGRAM, "utf-8")
    said = run(str(path), command=("-m", "pdb"), input=commands)
here = str(Path(mg.__file__).parents[1]) + os.sep
for line in said.splitlines():
    if "(Pdb)" in line:
        print(line.partition("(Pdb) ")[2].replace(here, ""))

# %% [markdown]
# On your machine: `MINIGRAD_PURE=1 python -m pdb program.py`, or `breakpoint()` in the file itself. Compiled, the engine cannot be
# stopped; and if an edit was not compiled again, minigrad says so at the import.
#
# ### Where the time goes, compiled
#
# We have counted instructions again: 20 times a chain of 200 operations on *eight* numbers, forward, backward, and freed. Sorted by
# the function that they belong to:
#
# | what for | instructions for one operation | |
# |---|--:|--:|
# | make and free tensors, arrays, nodes | 1,257 | 29% |
# | Python: the `for` loop, operators, calls through Python | 732 | 17% |
# | around the loops of C | 592 | 14% |
# | the engine: count, take, deliver | 561 | 13% |
# | record a node, call it, let go of what it saved | 527 | 12% |
# | find the operation, and check its operands | 324 | 8% |
# | the formulas of the rules, and the rest of minigrad | 200 | 5% |
# | multiply and add | 52 | 1% |
# | NumPy and the rest | 40 | 1% |
# | together | 4,285 | |
#
# *`python -m benchmarks.where`, from a clone: `x = x*b + a` a hundred times in float32, `x` alone with a gradient. valgrind 3.19,
# Python 3.11.7, gcc 12.2.*
#
# "Around the loops" are questions: is this an array of floats, without gaps, and where does its memory begin? The arithmetic that
# all is about takes a hundredth.
#
# **Predict.** A cleverer loop multiplies and adds in no time at all. How much faster is the chain?
#
# <details><summary>Answer</summary>
#
# By 1 percent: what was 100 is 99 now. To be faster one has to have fewer objects, fewer checks, fewer calls. That is all that
# these files are about: no object for an edge, the first saved values in fields of the node, one comparison to find the state of
# a thread.
#
# </details>
#
# ### Where compiling buys nothing
#
# The same chain, on more and more numbers. The time is that of one operation, its part of the backward included.
#
# | numbers | interpreted, µs | compiled, kernels in NumPy, µs | compiled, µs | interpreted / compiled |
# |--:|--:|--:|--:|--:|
# | 1 | 17.82 | 3.78 | 0.82 | 21.7 |
# | 8 | 17.89 | 4.10 | 0.80 | 22.3 |
# | 1,024 | 19.29 | 4.85 | 1.03 | 18.7 |
# | 16,384 | 21.88 | 8.20 | 4.64 | 4.7 |
# | 1,000,000 | 687.14 | 625.81 | 646.81 | 1.1 |
#
# *The same machine, one thread. The kernels in NumPy are `kernels/numpy_ref`: Python functions, a line of NumPy each.*
#
# For one number nearly all is overhead. The engine and the rules, compiled, take four fifths of it away. Kernels in C instead of
# Python functions that call NumPy take away four fifths of the rest. For a million numbers the memory is the limit: each number
# has to be fetched and written, by whomever. NumPy's loops are compiled C as well.
#
# ## Step by step
#
# Do both modes do the same? A record of the engine says so in full. We run a program in two processes, one of them interpreted, and
# compare. (Where minigrad is not compiled, both are.)

# %%
RECORD = '''
import minigrad as mg
x = mg.tensor(3.0, requires_grad=True)
h = x * x
y = h.sin() * h
with mg.debug.record() as r:
    y.backward()
print(r)
print(x.grad.item().hex())
'''
slow, fast = run(RECORD, pure="1"), run(RECORD, pure="0")
print(len(slow.splitlines()) - 2, "events, the same in both:", slow == fast)
print("the gradient, to its last bit:", slow.splitlines()[-1])

# %% [markdown]
# Here is that record. Where do the thousands of instructions go? Most to `compute`: a product of eight numbers took about a
# thousand when nobody recorded it. A `receive`, with the look whether the node is ready now, took about two hundred.

# %%
with mg.debug():        # have each operation note its line
    x = mg.tensor(3.0, requires_grad=True)
    h = x * x
    y = h.sin() * h
with mg.debug.record() as r:
    y.backward()
mg.viz.step(r)

# %% [markdown]
# ## The source
#
# The ready queue is a heap in a list. Look for what we have met: declared C variables, `cython.cast` where a list gives an object
# that we know to be a node, and no word that is not Python.

# %%
mg.utils.source.source_of("_core/engine/ready_queue.py", "pop_ready")

# %% [markdown]
# The base of all nodes has the decorators of our last step. Its fields are declared in `node.pxd`, for the other files to see:

# %%
source_of = mg.utils.source.source_of
print(*source_of("_core/graph/node.py", "Node").text.splitlines()[:8], sep="\n")
fields = source_of("_core/graph/node.pxd").text.partition("cdef class Node:\n")[2]
print("...\n", *fields.splitlines()[:9], sep="\n")

# %% [markdown]
# ## The same in PyTorch
#
# PyTorch's engine is written in C++, and Python sees a binding to it. There is no second speed: to step through it, you
# need a build with debug information, and a debugger for C++. The profiler sees what it sees of minigrad, when that is compiled:
#
# ```python
# >>> import cProfile, inspect, pstats, torch
# >>> engine = torch.autograd.Variable._execution_engine
# >>> engine.run_backward
# <built-in method run_backward of torch._C._EngineBase object at 0x...>
# >>> inspect.getsource(engine.run_backward)
# Traceback (most recent call last):
# TypeError: ...
# >>> def calls(n):
# ...     x = torch.tensor(0.5, requires_grad=True)
# ...     y = x
# ...     for _ in range(n):
# ...         y = y * 0.999
# ...     profile = cProfile.Profile()
# ...     profile.runcall(y.backward)
# ...     return sum(count for _, count, *_ in pstats.Stats(profile).stats.values())
# >>> first = calls(10)               # it has more to do
# >>> calls(100) == calls(200)
# True
#
# ```
#
# | | minigrad | PyTorch |
# |---|---|---|
# | the engine | `_core/engine/execute.py`, `_core/engine/graph_task.py` | [`torch/csrc/autograd/engine.cpp`][engine] |
# | where Python enters it | `_core/engine/execute.py`, `execute` | [`torch/csrc/autograd/python_engine.cpp`][python] |
# | a node | `_core/graph/node.py` with `_core/graph/node.pxd` | [`torch/csrc/autograd/function.h`][function] |
# | a tensor's attributes | `_core/surface/variable.py` | [`torch/csrc/autograd/python_variable.cpp`][variable] |
# | the nodes of the operations | classes in `ops/`, one `OpNode` | generated by [`tools/autograd/gen_autograd_functions.py`][gen] |
# | fewer, larger operations | | [`torch/_dynamo`][dynamo], [`torch/_inductor`][inductor]: `torch.compile` |
#
# [engine]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/engine.cpp
# [python]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/python_engine.cpp
# [function]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/function.h
# [variable]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/python_variable.cpp
# [gen]: https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/gen_autograd_functions.py
# [dynamo]: https://github.com/pytorch/pytorch/tree/v2.13.0/torch/_dynamo
# [inductor]: https://github.com/pytorch/pytorch/tree/v2.13.0/torch/_inductor
#
# The last row is another answer to our question. We make an operation cost less. `torch.compile` looks at your function, joins
# many operations into one, and writes C++ or GPU code for that: fewer to pay for, and numbers that are read once instead of ten
# times. It then has to notice when your program does something else than what was compiled.
#
# ## What goes wrong
#
# Compiled Python is not quite Python. Each of these is a program that does one thing interpreted and another compiled:

# %%
TRAPS = '''
from __future__ import annotations
import cython


@cython.cclass
class Node:
    value: cython.double
    a: Node

    def __init__(self, value):
        self.value, self.a = value, None


def doubled(times: cython.int):
    total: cython.int = 1
    for _ in range(times):
        total *= 2
    return total


@cython.cdivision(True)
def halves(n: cython.int):
    return n / 2, n // 2


def whole(x: int):
    return x


def value(node: Node):
    return node.value
'''.lstrip()

# %%
COMPILED = {"doubled(32)": "0",
            "halves(-7)": "(-3, -3)",
            "whole(3.7)": "3",
            "Node(2.0).value": "AttributeError: 'tape.Node' object has no attribute",
            "value(None)": "TypeError: Argument 'node' has incorrect type"}
names = interpreted(TRAPS)
for expression, recorded in COMPILED.items():
    try:
        result = eval(expression, names)
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    print(f"{expression:<16} interpreted: {result}\n{'':16} compiled:    {recorded}")

# %% [markdown]
# * **C numbers overflow.** A `cython.int` has 32 bits, and what does not fit is cut off. There is no error. minigrad numbers its
#   nodes in 64 bits.
# * **C divides otherwise.** Two integers give an integer, also by `/`, and it is rounded towards zero, not down. Cython does as
#   Python does unless `cdivision` is set, which minigrad's build does for speed. It leaves out the check for a zero, too.
# * **`int` as an annotation is a conversion** when compiled. No public function of minigrad's compiled files has one.
# * **Fields cannot be seen from Python**, unless they are declared public. Hence `_core/README.md` looks at nodes interpreted.
# * **None is no Node** when it is an argument, unless the annotation says `Node | None`.
#
# The worst one prints nothing. A *field* may be None, and nobody asks when a field of it is read. `Node(2.0).a.value` in a compiled
# function, if Cython knows that `a` is a Node, reads some bytes of the object None as if they were the field. We got 0.0; a process
# may die of it as well. (`@cython.nonecheck(True)` has Cython ask.) So develop interpreted, where it is an error:

# %%
try:
    names["value"](names["Node"](2.0).a)
except AttributeError as error:
    print(error)

# %% [markdown]
# Overflow can be had without a C compiler. The standard library has C's integers:

# %%
for value in (2 ** 31 - 1, 2 ** 31, 2 ** 32):
    print(f"{value:>10} in 32 bits: {ctypes.c_int32(value).value}")

# %% [markdown]
# What stays the same are minigrad's own errors. Where a check belongs to the program, it is a line in the file, and is compiled
# with it:

# %%
x = mg.tensor(3.0, requires_grad=True)
y = x * x
y.backward()
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    y.backward()

# %% [markdown]
# ## Exercises
#
# Each has a check that runs. Solutions are folded away below it.
#
# **1. No yellow.** Write `white()`, which returns the text of a file with a function `horner(x, n)` that computes the same as
# this one. The lines of its loop should have the score 0: `translated` says what they have. The division is the hard part. Cython
# checks for zero, and raises an error if so, which is yellow.

# %%
HORNER = '''
import cython


def horner(x, n):
    total = 0.0
    for i in range(n):
        total = total * x + 1.0 / (i + 1)
    return total
'''.lstrip()


def white():
    """Your lines go here: return edit(HORNER, ...)"""


# %%
def check_white(white):
    source = white()
    assert isinstance(source, str), "the text of a file is wanted"
    wanted, got = interpreted(HORNER)["horner"], interpreted(source)["horner"]
    for n in (0, 1, 2, 30):
        assert got(0.7, n) == wanted(0.7, n), f"another result for n = {n}"
    lines = translated(source)[0]
    first = line_of(source, "    for ")
    for line in lines[first - 1:line_of(source, "    return") - 1]:
        assert line.score == 0, f"{line.score} for {line.text.strip()!r}"
    print("right")


# %% tags=["hide-cell"]
def white_solution():
    typed = "@cython.cdivision(True)\ndef horner(x: cython.double, n: cython.int):\n"
    typed += "    i: cython.int\n    total: cython.double = 0.0\n"
    return edit(HORNER, ("def horner(x, n):\n    total = 0.0\n", typed))


check_white(white_solution)

# %% [markdown]
# **2. Calls.** Write `called(function)`: it runs the function and returns how often each Python function was called meanwhile, a
# dict from names to numbers. `cProfile` is enough; mind that the key of its statistics is (file, line, name). Leave out what is
# built in: its file is `"~"`.

# %%
def called(function):
    """Your lines go here."""


# %%
def check_called(called):
    tape = interpreted(STEPS["safe again"])
    for n in (1, 10):
        got = called(lambda n=n: tape["chain"](n))
        assert isinstance(got, dict), "a dict is wanted"
        for name, wanted in {"chain": 1, "mul": n, "made": 2 * n, "expect": 4 * n}.items():
            assert got.get(name) == wanted, f"{got.get(name)} calls of {name}, not {wanted}"
        assert not any("built-in" in name for name in got)
    print("right")


# %% tags=["hide-cell"]
def called_solution(function):
    profile = cProfile.Profile()
    profile.runcall(function)
    found = pstats.Stats(profile).stats.items()
    return {name: count for (file, _, name), (_, count, *_) in found if file != "~"}


check_called(called_solution)

# %% [markdown]
# **3. What C makes of a number.** Write `cut(value, bits)`: the number that a C variable of so many bits holds, if `value` is put
# into it. Half of its numbers are negative. Use Python's integers, which have no limits.

# %%
def cut(value, bits):
    """Your lines go here."""


# %%
def check_cut(cut):
    kinds = {8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64}
    for bits, kind in kinds.items():
        for value in (0, 1, -1, 100, 200, -200, 2 ** 31, -2 ** 31 - 1, 2 ** 63, 3 ** 50):
            wanted, got = kind(value).value, cut(value, bits)
            assert got == wanted, f"{got} instead of {wanted} for {value} in {bits} bits"
    print("right")


# %% tags=["hide-cell"]
def cut_solution(value, bits):
    kept = value % 2 ** bits
    return kept - 2 ** bits if kept >= 2 ** (bits - 1) else kept


check_cut(cut_solution)

# %% [markdown]
# ## What to remember
#
# * Compiling alone buys next to nothing: it is the **objects** that cost, and the look-ups of names, and not the interpreter's
#   loop.
# * A **struct** for what is touched most buys most; then functions of C, then fewer allocations. Types among objects buy nothing.
# * The yellow lines are a map of what Python is still asked for. Make white what runs for each node; leave the rest.
# * What makes it fast are declarations. They change no result, so the file can be run, read and debugged as **Python**.
# * The exceptions are C's: **overflow**, division, None, fields that cannot be seen. Run the tests in both modes.
# * For many numbers the memory is the limit, for few the **overhead**. Only the second can be compiled away.
#
# The reasons for the design, and what it costs: {doc}`/notes/two-speeds`.
#
# **Next:** a whole training, with a look inside: {doc}`/projects/digits_cnn`.
