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
# **Time** 30 minutes, and as long again for the exercises. **Level** appendix. **You need** [tutorial
# 1](01_derivative_to_graph.py), [tutorial 2](02_the_engine.py), and no C. **Afterwards** you can read the C code that Cython
# generates for a line, declare the types that make a Python file fast, and name five differences between compiled and interpreted
# Python.
#
# **The question.** A debugger steps through minigrad's engine line by line, as through any Python program. The same file also runs
# as machine code, many times as fast. How can one file be both, and which of its lines make it fast?
#
# Our example is a chain: multiply by $b$, add $a$, and so on, $n$ times.
#
# $$ y_0 = x, \qquad y_{k+1} = y_k\,b + a, \qquad \frac{\mathrm dy_n}{\mathrm dx} = b^n . $$
#
# ## The file
#
# We store the file as text, because we are going to edit it. A node has a number, its two input nodes, and the derivative with respect
# to each. (The first two lines are for later: Python does not evaluate annotations, and the module `cython` has the types that we will
# write in them.)

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
    """A number, its inputs a and b, and a derivative for each."""

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
# ### Deeper: the rest of the file
#
# The engine is the correct one of tutorial 2: it counts the edges, then it runs each node that no longer waits for a gradient. It
# stores its counts and gradients in the nodes, so it must not run twice on one graph. This is enough for this tutorial.

# %%
ENGINE = '''

def expect(node, stack):
    """Count an edge to `node`; the first edge pushes it on the stack."""
    if node.waits == 0:
        stack.append(node)
    node.waits += 1


def arrive(node, g, ready):
    """Add `g` to `node`, which is ready if it waits for no other gradient."""
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


def interpret(source):
    """Run a file in Python, and return its names."""
    names = {"__name__": "tape"}
    exec(compile(source, "tape.py", "exec"), names)
    return names


print(f"{interpret(TAPE)['chain'](1000):.12f} should be {0.999 ** 1000:.12f}")

# %% [markdown]
# ## What Python does with a line
#
# `TAPE` is the text of our file, and `interpret(TAPE)` runs it. Its engine counts the edges, as in tutorial 2. Take its line
# `node.waits -= 1`. Python translates this line into instructions for a program, the *interpreter*:

# %%
def line_of(source, text):
    """The number of the first line that contains this text."""
    return [text in line for line in source.splitlines()].index(True) + 1


number = line_of(TAPE, "node.waits -= 1")
code = interpret(TAPE)["arrive"].__code__
for instruction in dis.get_instructions(code):
    if instruction.positions.lineno == number:
        print(instruction.opname, instruction.argrepr)

# %% [markdown]
# The interpreter is a loop in C. It reads an instruction and executes it. For example, it looks up an attribute, takes an object
# from its stack, or calls the function that subtracts objects of these types. Perhaps the loop itself takes most of the time. Then
# we could remove it, and compile the rest to machine code. This is the first thing that Cython does.
#
# ## What Cython does with a line
#
# Cython translates a Python file into a C file. The command is `cython -a tape.py`, and it needs no C compiler yet. We call it from
# this page. The option `-a` also writes an HTML page. The page shows each line of Python with its C code and a *score*. A call of
# one of Python's own C functions adds 5, a call of a Cython function that replaces one adds 2, and a very cheap call adds 1. The
# higher the score of a line, the more yellow is its background.

# %%
class Line(NamedTuple):
    score: int
    text: str
    c: str


SHOWN = re.compile(r'<pre class="cython line score-(\d+)"[^>]*>.*?</pre>\n'
                   r"(?:<pre class='cython code [^>]*>(.*?)</pre>)?", re.DOTALL)


def translate(source):
    """Compile a file with Cython: return its lines with their C, and all of the C file."""
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


lines, c = translate(TAPE)
print(len(lines), "lines of Python became", round(c.count("\n"), -3), "lines of C")

# %% [markdown]
# Nearly all of these lines are the same for every file: they create a module, call functions, raise errors. Below is the C code of
# our line. C in a few words: a variable contains a number. If its type has a `*`, the number is a pointer: an address in memory.
# `p->waits` is the field `waits` of the struct at the address `p`. A statement ends with `;`. The variables `t_1`, `t_2`, ... are
# Cython's own, for intermediate results. After nearly every call the code checks for an error. If there is one, it jumps to the end
# of the function. We leave out most of these checks.

# %%
def simplify(code):
    """C code without the prefixes of names and the jumps after an error."""
    code = re.sub(r"; if \(.*?\) __PYX_ERR.*", ";", code)
    code = re.sub(r"if \((.*) < \(0\)\) __PYX_ERR.*", r"\1;", code)
    code = re.sub(r"\n *__Pyx_(GOT|GIVE)REF.*", "", code)       # for Cython's own tests
    return re.sub(r"__pyx_(v_|f_4tape_|mstate_global->__pyx_|(?=t_))", "", code).rstrip()


def c_of(lines, text):
    print(simplify(next(line.c for line in lines if text in line.text)))


c_of(lines, "node.waits -= 1")

# %% [markdown]
# Read it slowly: it contains the idea of the whole tutorial. It gets the attribute, which is an object. It subtracts the object 1,
# which makes a new object. It sets the attribute. `DECREF` drops a reference to an object. An object without references is freed.
# There is no loop over instructions. But each of these calls does the same work as in the interpreter. The variables are objects,
# because Cython does not know their types.
#
# **Predict.** We compile the file without a change. How many times as fast does it run?
#
# <details><summary>Answer</summary>
#
# It does not run faster: in the table below it is even a little slower. So the loop over the instructions did not take the time.
# And since version 3.11 the interpreter remembers where an instruction found an attribute last time, and looks there first.
# Cython's C code does not.
#
# </details>
#
# ## Six steps
#
# From here on we edit the text, and every version is still a Python program. The first step was to compile it as it is.

# %%
def edit(source, *changes):
    """Replace every `old` in `source` by `new`. Each `old` must occur."""
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return source


STEPS = {"compiled as it is": TAPE}

# %% [markdown]
# ### Types for variables
#
# `n` is a small integer and `g` a floating-point number. The lists are lists. We write these types as annotations. Python ignores
# them. Cython creates C variables: a `cython.int` has 32 bits, and a `cython.double` is the C number inside a Python float.

# %%
STEPS["types for variables"] = edit(
    STEPS["compiled as it is"],
    ("def expect(node, stack):", "def expect(node, stack: list):"),
    ("def arrive(node, g, ready):", "def arrive(node, g: cython.double, ready: list):"),
    ("    stack = [root]", "    stack: list = [root]"),
    ("    ready = [root]", "    ready: list = [root]"),
    ("def chain(n):", "def chain(n: cython.int):"))

lines, c = translate(STEPS["types for variables"])
c_of(lines, "for _ in range(n)")

# %% [markdown]
# That loop is a C loop now, over C numbers. Now look at a line with an attribute:

# %%
c_of(lines, "node.grad += g")

# %% [markdown]
# It has become longer. `g` is a C number, but `node.grad` is still an object, so `g` is first converted to an object. **A C type among
# objects gains nothing and costs two conversions**, one on the way in and one on the way out. The numbers must be stored as C
# numbers, too.
#
# ### A struct
#
# `@cython.cclass` turns a class into a C *struct*: its fields lie one after the other in memory, each at a fixed distance from the
# start. We must declare the fields. We must also declare each variable that contains a node as a `Node`; otherwise Cython does not
# know that the variable has these fields.

# %%
FIELDS = '''for each."""

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
    ('for each."""\n', FIELDS),
    ("value, a=None, da=0.0, b=None, db=0.0):", INIT),
    ("(x, y):", "(x: Node, y: Node):"),
    ("(node, stack", "(node: Node, stack"),
    ("(node, g", "(node: Node, g"),
    ("def backward(root):\n", "def backward(root: Node):\n    node: Node\n"),
    ("    y = x\n", "    y: Node = x\n"))

# %% [markdown]
# **Predict.** What is the C code of `node.waits -= 1` now?
#
# <details><summary>Answer</summary>
#
# It is a subtraction. There is no lookup of a name, no new object, and no possible error.
#
# </details>

# %%
lines, c = translate(STEPS["a struct"])
c_of(lines, "node.waits -= 1")
print()
print(simplify(re.search(r"struct __pyx_obj_4tape_Node \{.*?\};", c, re.DOTALL)[0]))

# %% [markdown]
# `PyObject_HEAD` is the beginning of every Python object: its reference count and its type. So the struct is still a Python object.
# It can be in a list, and it is freed when nothing refers to it. But its fields are C variables.
#
# #### Deeper: before and after, in colours
#
# Here are the two functions that do the work of a backward, before and after this step. The numbers on the left are Cython's scores.

# %%
class Yellow:
    """Functions of several steps side by side, with the scores of their lines."""

    def __init__(self, functions, *steps):
        self.columns = []
        for step in steps:
            lines, parts = translate(STEPS[step])[0], []
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
def paint(line):
    """Return a line in HTML: the higher its score, the more yellow its background."""
    depth = 0.5 * (1 - 1 / (1 + line.score / 10))
    return (f'<span style="display:block;background:rgba(215,155,0,{depth:.2f})">'
            f'{line.score or "":>3}  {html.escape(line.text)} </span>')


def column(step, part):
    total = sum(line.score for line in part)
    return (f'<div style="flex:1 1 340px;min-width:0;margin:8px 0"><b>{step}: {total}</b>'
            '<pre tabindex="0" style="overflow-x:auto;font-size:12px;margin:4px 0">'
            '<span style="display:inline-block;min-width:100%">'
            + "".join([paint(line) for line in part]) + "</span></pre></div>")


Yellow(["arrive", "backward"], "compiled as it is", "a struct")

# %% [markdown]
# The lines about fields are white now. Only the first lines of the functions, and the lines that call them, are yellow. The sums of
# the scores are nearly the same, but the second version is several times as fast. A score counts the calls in the C code, and not
# how many times they run. Much of the code of a first line runs only if an argument is missing.
#
# ### Deeper: C functions
#
# Any Python code can call a `def`, with arguments by position or by name. So the caller passes the arguments as objects, and the
# function puts them in order and checks them. Here is the call `arrive(node.a, ...)`:

# %%
c_of(lines, "arrive(node.a")

# %% [markdown]
# The call converts the C number to an object, and the called function converts it back. `@cython.cfunc` makes a C function. Its
# arguments are C numbers, and a call is a jump to its address. But Python code cannot call it, so `chain` remains a `def`.

# %%
STEPS["C functions"] = edit(STEPS["a struct"], *[
    (f"def {name}(", f"@cython.cfunc\ndef {name}(")
    for name in ("mul", "add", "expect", "arrive", "backward")])

lines, c = translate(STEPS["C functions"])
c_of(lines, "arrive(node.a")

# %% [markdown]
# (The other lines check for None, and keep `node.a` alive while the function runs.)
#
# ### Deeper: fewer allocations
#
# `Node(...)` calls a class: it converts the arguments to objects again, for `__init__`. `Node.__new__(Node)` makes an empty struct,
# and we assign its fields. And with `freelist` the class reuses the memory of dead nodes for new nodes, instead of freeing it each
# time.

# %%
MAKE_NODE = '''@cython.cfunc
def make_node(value: cython.double, a: Node, da: cython.double,
              b: Node, db: cython.double) -> Node:
    """Make a Node without the call of a class."""
    node: Node = Node.__new__(Node)
    node.value, node.a, node.da, node.b, node.db = value, a, da, b, db
    node.grad, node.waits = 0.0, 0
    return node


@cython.cfunc
def mul'''
STEPS["fewer allocations"] = edit(
    STEPS["C functions"],
    ("@cython.cclass", "@cython.freelist(4096)\n@cython.cclass"),
    ("@cython.cfunc\ndef mul", MAKE_NODE),
    ("return Node(", "return make_node("))
Yellow(["mul", "add", "make_node"], "a struct", "fewer allocations")

# %% [markdown]
# ### Deeper: safe again
#
# The last step makes the program a little slower. A node refers to the node before it. When Python frees the last node, this call
# frees the node before it, and so on: a million nodes are a million nested calls. Python classes are protected against this. A C
# struct is protected only with `trashcan`. Our file has had this fault since step 3. `chain(1_000_000)` computes its number, and
# then the process crashes, without an exception or a message from Python.

# %%
STEPS["safe again"] = edit(
    STEPS["fewer allocations"],
    ("@cython.freelist", "@cython.trashcan(True)\n@cython.freelist"))

# %% [markdown]
# ## Still Python
#
# Python can run all six programs. The decorators return their arguments, and annotations are not even evaluated.

# %%
results = {interpret(source)["chain"](1000) for source in STEPS.values()}
print(len(STEPS), "versions, and the results are", results)

# %% [markdown]
# So one file can be both, because **the declarations make it fast, and do not change its results**. They only say the types of
# variables, fields and functions. Here is the first half of the last version. In the other half each function has a decorator, and
# types for its arguments.

# %%
last = STEPS["safe again"]
half = last[:last.index("@cython.cfunc\ndef expect")]
mg.utils.source.Source("tape.py", 1, half.rstrip())

# %% [markdown]
# ## The speed of each step
#
# **Predict.** Which of the six steps made the program faster, and which most? Which made it slower?
#
# <details><summary>Answer</summary>
#
# The struct gained the most. Types for variables made it slower, and so did the last step. The table shows all steps.
#
# </details>
#
# | step | ns per node | times as fast | instructions per node |
# |---|--:|--:|--:|
# | not compiled | 1,137 | 1.0 | 11,156 |
# | compiled as it is | 1,329 | 0.9 | 10,770 |
# | types for variables | 1,356 | 0.8 | 10,846 |
# | a struct | 228 | 5.0 | 2,187 |
# | C functions | 149 | 7.6 | 1,449 |
# | fewer allocations | 86 | 13.2 | 872 |
# | safe again | 95 | 12.0 | 924 |
#
# *Two cores of an AMD EPYC, busy with other things; Python 3.11.7, Cython 3.3.1, gcc 12.2. Processor time, the median of 25
# turns; instructions counted by valgrind.*
#
# This is the time to make, count, run and free one node in `chain(1000)`. The times are accurate to about ten percent. The number
# of instructions does not depend on how busy a machine is. Both show that the last version is 12 times as fast, and that the first
# two steps gain nothing.
#
# On your machine, with a C compiler (`gcc` or `clang`; `cythonize` also needs the package setuptools):
#
# ```text
# cythonize -i -3 tape.py             # tape.cpython-311-x86_64-linux-gnu.so, which Python imports before tape.py
# python -m timeit -s "import tape" "tape.chain(1000)"
# ```
#
# For the whole table, run `python -m benchmarks.two_speeds --instructions` in a clone of minigrad.
#
# ## minigrad's own engine
#
# The files of `minigrad/_core` and `minigrad/ops` are written like this, and `pip install` compiles them. With `MINIGRAD_PURE=1` in its
# environment, a program runs the sources, even if there are compiled modules beside them. The second line of `mg.show_config()` says
# which mode runs:

# %%
print(mg.show_config().splitlines()[1])

# %% [markdown]
# ### Deeper: a profile
#
# A profiler counts the calls of Python functions, so it sees every call of the interpreted engine. We profile the backward of two
# chains, one twice as long as the other. The difference, divided by the number of additional nodes, is the number of calls for each node.

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
            path = "Python" if file == "~" else "NumPy"
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
    """Run a program in its own process, and return its output."""
    paths = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, *command, program], check=True, text=True,
                          env=os.environ | {"MINIGRAD_PURE": pure, "PYTHONPATH": paths},
                          stdout=subprocess.PIPE, **more)
    return done.stdout


print(run(PROFILE), end="")

# %% [markdown]
# The three main functions, `take`, `compute` and `deliver`, run once for each node. `next_node` runs twice for each edge: once to
# count it, once to send a gradient. Most calls are small: `isinstance`, `hasattr`, and `cast`. `cython.cast` declares a type for
# Cython. In interpreted mode, it comes from a small module of minigrad and returns its argument.
#
# **Predict.** How many calls for each node does the profiler see in the compiled engine?
#
# <details><summary>Answer</summary>
#
# None. It sees only `Tensor.backward` and a few functions that this one calls, for a chain of any length. The other calls are from
# C to C, and the profiler does not see them. If minigrad is compiled, the same program with `MINIGRAD_PURE=0` prints no line.
#
# </details>
#
# A call of a function in another file is a C call as well. For this, each source has a small file beside it, which declares its
# functions for other files. `cdef` is the word of Cython's older language for `@cython.cfunc`:

# %%
mg.utils.source.source_of("_core/engine/ready_queue.pxd")

# %% [markdown]
# ### Deeper: a breakpoint in the engine
#
# In interpreted mode, the engine is an ordinary Python program. Here a debugger runs a program that calls `backward`. The
# breakpoint is in `GraphTask.deliver`: a node has run, and the engine is about to pass its results on.

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
    output = run(str(path), command=("-m", "pdb"), input=commands)
here = str(Path(mg.__file__).parents[1]) + os.sep
for line in output.splitlines():
    if "(Pdb)" in line:
        print(line.partition("(Pdb) ")[2].replace(here, ""))

# %% [markdown]
# On your machine, run `MINIGRAD_PURE=1 python -m pdb program.py`, or write `breakpoint()` in the file itself. The debugger cannot
# stop in the compiled engine. If you edit a file and do not compile it again, minigrad warns you when you import it.
#
# ### Deeper: where the time goes, compiled
#
# We have counted instructions again, for 20 runs of a chain of 200 operations on *eight* numbers. A run computes the chain, runs the
# backward, and frees the graph. The table groups the instructions by the work that they do:
#
# | work | instructions for one operation | |
# |---|--:|--:|
# | around the C loops | 591 | 20% |
# | record a node, call it, release its saved values | 566 | 19% |
# | the engine: count, take, deliver | 562 | 19% |
# | make and free tensors, arrays, nodes | 348 | 12% |
# | Python: the `for` loop, operators, calls through Python | 316 | 11% |
# | find the operation, and check its operands | 307 | 10% |
# | the formulas of the rules, and the rest of minigrad | 218 | 7% |
# | multiply and add | 52 | 2% |
# | NumPy and the rest | 1 | 0% |
# | total | 2,960 | |
#
# *`python -m benchmarks.where`, from a clone: `x = x*b + a` a hundred times in float32, `x` alone with a gradient. valgrind 3.19,
# Python 3.11.7, gcc 12.2.*
#
# The code around the C loops checks the arrays: is this a contiguous array of floats, and where does its memory begin? The arithmetic
# itself takes two percent.
#
# **Predict.** Suppose that a better loop needs no time to multiply and add. How much faster is the chain?
#
# <details><summary>Answer</summary>
#
# It is faster by 2 percent: 100 becomes 98. A faster engine needs fewer objects, fewer checks, and fewer calls. This is the design
# of these files: no object for an edge, the first saved values in fields of the node, one comparison to find the state of a thread,
# and a dead node is the next one.
#
# </details>
#
# ### Deeper: where compiling gains nothing
#
# This table shows the same chain for more and more numbers. The time is for one operation, and includes its part of the backward.
#
# | numbers | interpreted, µs | compiled, kernels in NumPy, µs | compiled, µs | interpreted / compiled |
# |--:|--:|--:|--:|--:|
# | 1 | 17.82 | 3.78 | 0.82 | 21.7 |
# | 8 | 17.89 | 4.10 | 0.80 | 22.3 |
# | 1,024 | 19.29 | 4.85 | 1.03 | 18.7 |
# | 16,384 | 21.88 | 8.20 | 4.64 | 4.7 |
# | 1,000,000 | 687.14 | 625.81 | 646.81 | 1.1 |
#
# *The same machine, one thread. The kernels in NumPy are `kernels/numpy_ref`: Python functions with one line of NumPy each.*
#
# For one number, nearly all of the time is overhead. Compiling the engine and the rules removes four fifths of this time. C kernels
# instead of Python functions that call NumPy remove four fifths of the rest. For a million numbers the memory is the limit: every
# kernel has to read and write each number. And NumPy's loops are compiled C as well.
#
# ## Step by step
#
# Do both modes do the same work? We run a program in two processes, one of them interpreted, and compare the records of the engine.
# (If minigrad is not compiled, both run interpreted.)

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
# Here is that record. Which events take the most instructions? Most instructions belong to `compute`: a product of eight numbers
# took about a thousand, without a recorder. A `receive`, with the check whether the node is now ready, took about two hundred.

# %%
with mg.debug():        # each operation stores its line
    x = mg.tensor(3.0, requires_grad=True)
    h = x * x
    y = h.sin() * h
with mg.debug.record() as r:
    y.backward()
mg.viz.step(r)

# %% [markdown]
# ## The source
#
# The ready queue has a heap, in a list. Look for declared C variables, and for `cython.cast` where the list returns an object that we
# know to be a node. Every word is Python.

# %%
mg.utils.source.source_of("_core/engine/ready_queue.py", "pop_ready")

# %% [markdown]
# The base class of all nodes has the decorators of our last step. `node.pxd` declares its fields, so that other files can use them:

# %%
source_of = mg.utils.source.source_of
print(*source_of("_core/graph/node.py", "Node").text.splitlines()[:8], sep="\n")
fields = source_of("_core/graph/node.pxd").text.partition("cdef class Node:\n")[2]
print("...\n", *fields.splitlines()[:9], sep="\n")

# %% [markdown]
# ## The same in PyTorch
#
# PyTorch's engine is written in C++, and Python calls it through a binding. There is no second speed: to step through it, you need a
# build with debug information, and a debugger for C++. The profiler sees as little of it as of the compiled minigrad:
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
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
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
# The last row is another answer to our question. minigrad makes each operation cheaper. `torch.compile` reads your function, fuses
# many operations into one, and writes C++ or GPU code for it. So there are fewer operations, and each number is read once instead
# of ten times. But `torch.compile` has to notice when your program does something other than the compiled code.
#
# ## What goes wrong
#
# Compiled Python differs from Python. The result of each of these functions depends on the mode:

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
names = interpret(TRAPS)
for expression, recorded in COMPILED.items():
    try:
        result = eval(expression, names)
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    print(f"{expression:<16} interpreted: {result}\n{'':16} compiled:    {recorded}")

# %% [markdown]
# * **C numbers overflow.** A `cython.int` has 32 bits, and further bits are lost without an error. minigrad numbers its nodes in 64 bits.
# * **C division differs.** The quotient of two integers is an integer, even with `/`, and it is rounded towards zero, not down.
#   Cython follows Python unless `cdivision` is set. minigrad's build sets it for speed. `cdivision` also leaves out the check for
#   division by zero.
# * **`int` as an annotation is a conversion** in compiled code. No public function of minigrad's core has one. For the ops, minigrad's
#   build switches the conversions off.
# * **Python code cannot read the fields** of a C struct, unless they are declared public. So `_core/README.md` looks at nodes in
#   interpreted mode.
# * **None is not a Node** as an argument, unless the annotation says `Node | None`.
#
# ### Deeper: a crash, an overflow, and errors in both modes
#
# The worst mistake prints nothing. A *field* of type `Node` may be None. Compiled code does not check this when it reads
# `Node(2.0).a.value`. It reads some bytes of the object None as if they were the field `value`. We got 0.0, but the process may also
# crash. (`@cython.nonecheck(True)` adds the check.) So develop in interpreted mode, where it is an error:

# %%
try:
    names["value"](names["Node"](2.0).a)
except AttributeError as error:
    print(error)

# %% [markdown]
# You can see the overflow without a C compiler. The standard library has C's integers:

# %%
for value in (2 ** 31 - 1, 2 ** 31, 2 ** 32):
    print(f"{value:>10} in 32 bits: {ctypes.c_int32(value).value}")

# %% [markdown]
# minigrad's own errors are the same in both modes. Each of its checks is a line in the file, and is compiled with the file:

# %%
x = mg.tensor(3.0, requires_grad=True)
y = x * x
y.backward()
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    y.backward()

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. No yellow.** Write `white()`. It returns the text of a file with a function `horner(x, n)`, which computes the same as the
# one below. The lines of its loop should have the score 0: `translate` returns their scores. The division is the hard part.
# Cython's check for a division by zero makes the line yellow.

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
    raise NotImplementedError      # your code goes here: return edit(HORNER, ...)


# %%
@mg.testing.exercise(1)
def check_white(white):
    source = white()
    assert isinstance(source, str), "return the text of a file"
    wanted, got = interpret(HORNER)["horner"], interpret(source)["horner"]
    for n in (0, 1, 2, 30):
        assert got(0.7, n) == wanted(0.7, n), f"a different result for n = {n}"
    lines = translate(source)[0]
    first = line_of(source, "    for ")
    for line in lines[first - 1:line_of(source, "    return") - 1]:
        assert line.score == 0, f"{line.score} for {line.text.strip()!r}"
    print("right")


# %% tags=["hide-cell", "solution"]
def white_solution():
    typed = "@cython.cdivision(True)\ndef horner(x: cython.double, n: cython.int):\n"
    typed += "    i: cython.int\n    total: cython.double = 0.0\n"
    return edit(HORNER, ("def horner(x, n):\n    total = 0.0\n", typed))


check_white(white_solution)

# %% [markdown]
# **2. Calls.** Write `count_calls(function)`. It runs the function and returns a dict: the name of each Python function, and the
# number of its calls. `cProfile` is enough; the key of its statistics is (file, line, name). Leave out built-in functions: their
# file is `"~"`.

# %%
def count_calls(function):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_count_calls(count_calls):
    tape = interpret(STEPS["safe again"])
    for n in (1, 10):
        got = count_calls(lambda n=n: tape["chain"](n))
        assert isinstance(got, dict), "return a dict"
        expected = {"chain": 1, "mul": n, "make_node": 2 * n, "expect": 4 * n}
        for name, wanted in expected.items():
            assert got.get(name) == wanted, f"{got.get(name)} calls of {name}, not {wanted}"
        assert not any("built-in" in name for name in got), "leave out built-in functions"
    print("right")


# %% tags=["hide-cell", "solution"]
def count_calls_solution(function):
    profile = cProfile.Profile()
    profile.runcall(function)
    found = pstats.Stats(profile).stats.items()
    return {name: count for (file, _, name), (_, count, *_) in found if file != "~"}


check_count_calls(count_calls_solution)

# %% [markdown]
# **3. A number in a C variable.** Write `cut(value, bits)`: a C variable has `bits` bits, and the program assigns `value` to it.
# Return the number that the variable then contains. Half of the possible numbers are negative. Use Python's integers, which have no
# limits.

# %%
def cut(value, bits):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_cut(cut):
    kinds = {8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64}
    for bits, kind in kinds.items():
        for value in (0, 1, -1, 100, 200, -200, 2 ** 31, -2 ** 31 - 1, 2 ** 63, 3 ** 50):
            wanted, got = kind(value).value, cut(value, bits)
            assert got == wanted, f"{got} instead of {wanted} for {value} in {bits} bits"
    print("right")


# %% tags=["hide-cell", "solution"]
def cut_solution(value, bits):
    low = value % 2 ** bits
    return low - 2 ** bits if low >= 2 ** (bits - 1) else low


check_cut(cut_solution)

# %% [markdown]
# ## What to remember
#
# * Compiling alone gains nothing: **objects** and look-ups of names take the time, not the interpreter's loop.
# * A **struct** for the most used data gains the most; then C functions, then fewer allocations. C types among objects gain nothing.
# * Yellow lines still call Python. Change the yellow lines that run for each node, and leave the others.
# * Declarations make the file fast. They change no result, so you can run, read and debug the file as **Python**.
# * The differences come from C: **overflow**, division, None, hidden fields. Run the tests in both modes.
# * For many numbers the memory is the limit; for few numbers it is the **overhead**. Compiling removes only overhead.
#
# The reasons for the design, and what it costs: {doc}`/notes/two-speeds`.
#
# **Next:** a whole training, with a look inside: {doc}`/projects/digits_cnn`.
