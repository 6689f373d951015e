r"""Formulas become MathML when the site is built, which browsers and e-books show without a program.

    mathml(r"\bar x = g\,J")  ->  '<math ...><mover accent="true"><mi>x</mi><mo>¯</mo></mover><mo>=</mo>...</math>'

It reads the LaTeX that a course needs, and refuses the rest: a command without a meaning here fails the build, with its page and
line. The spaces are TeX's: thin ones around functions, none around the operators in a superscript.

Read next: math_font.py, the font of the formulas.
"""

import html
import re
from pathlib import Path

__all__ = ["FormulaError", "characters", "in_markdown", "mathml", "setup"]

LETTERS = {"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "varepsilon": "ε", "eta": "η", "theta": "θ", "lambda": "λ",
           "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "varphi": "φ", "omega": "ω", "ell": "ℓ", "partial": "∂"}
UPRIGHT = {"Delta": "Δ", "Sigma": "Σ", "Omega": "Ω", "nabla": "∇", "infty": "∞", "top": "⊤", "dots": "…", "cdots": "⋯",
           "%": "%", "#": "#", "_": "_", "&": "&", "$": "$"}
BINARY = {"+": "+", "-": "−", "*": "∗", "cdot": "⋅", "times": "×", "pm": "±", "circ": "∘", "odot": "⊙", "otimes": "⊗"}
RELATIONS = {"=": "=", "<": "<", ">": ">", ":": ":", "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "sim": "∼", "in": "∈",
             "to": "→", "mapsto": "↦", "leftarrow": "←", "gets": "←", "Rightarrow": "⇒", "ll": "≪", "gg": "≫"}
PUNCTUATION = {",": ",", ";": ";", "colon": ":"}
ORDINARY = {"/": "/", "|": "|", ".": ".", "!": "!", "?": "?"}      # operators without space around them
OPENING, CLOSING = {"(": "(", "[": "[", "{": "{", "langle": "⟨", "lfloor": "⌊"}, {")": ")", "]": "]", "}": "}", "rangle": "⟩",
                                                                              "rfloor": "⌋"}
LARGE = {"sum": "∑", "prod": "∏", "int": "∫"}
FUNCTIONS = {"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "ln", "max", "min", "det", "dim"}
ACCENTS = {"bar": "¯", "dot": "˙", "hat": "^", "tilde": "~", "vec": "→"}
SPACES = {",": 0.1667, ":": 0.2222, ";": 0.2778, "!": -0.1667, " ": 0.25, "quad": 1, "qquad": 2}
SIZES = {"big": 1.2, "Big": 1.8, "bigg": 2.4, "Bigg": 3.0}
SANS = 0x1D5A0, 0x1D5BA         # 𝖠 and 𝖺: MathML Core knows no style but upright
MATRICES = {"matrix": "", "pmatrix": "()", "bmatrix": "[]", "cases": "{"}
TOKEN = re.compile(r"\\([a-zA-Z]+|.)|(\d+(?:\.\d+|\{,\}\d+)*)|(\s+)|(.)", re.DOTALL)
THIN = 0.1667


class FormulaError(ValueError):
    """A formula that cannot be read: its LaTeX is wrong, or says more than is known here."""


def mathml(latex, display=False):
    """The MathML of a formula, with its LaTeX as alternative text. `display` puts it on a line of its own."""
    found = Reader(latex).all()
    kind = ' display="block"' if display else ""
    alternative = html.escape(" ".join(latex.split()))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{kind} alttext="{alternative}">{found}</math>'


def tag(name, *children, **attributes):
    said = "".join([f' {key}="{value}"' for key, value in attributes.items()])
    return f"<{name}{said}>{''.join(children)}</{name}>"


def row(children):
    """Several elements as one."""
    return children[0] if len(children) == 1 else tag("mrow", *children)


def space(em):
    return f'<mspace width="{em:g}em"></mspace>'


def operator(text, before=None, after=None, **attributes):
    """An operator with the space on its two sides, in em. Without one, its own."""
    sides = {} if before is None else {"lspace": f"{before:g}em"}
    return tag("mo", html.escape(text), **sides, **({} if after is None else {"rspace": f"{after:g}em"}), **attributes)


def sans(text):
    """A text in letters without serifs."""
    def letter(c):
        return chr(SANS[c.islower()] + ord(c) - ord("a" if c.islower() else "A")) if c.isascii() and c.isalpha() else c
    return "".join([letter(c) for c in text])


class Reader:
    """Reads one formula from the left. Elements have a kind, as in TeX: the spaces depend on it."""

    def __init__(self, latex):
        self.latex = latex
        self.tokens = [match for match in TOKEN.finditer(latex) if not match[3]]
        self.at = 0
        self.depth = 0      # of scripts, in which operators have no space

    # ---- tokens -----------------------------------------------------------------------------------------

    def peek(self):
        """The next token: a command as its name with a backslash, or a number, or a character; "" at the end."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def next(self):
        token = self.peek()
        self.at += 1
        return token

    def fail(self, text):
        raise FormulaError(f"{text} in the formula ${' '.join(self.latex.split())}$")

    def expect(self, token):
        if self.peek() != token:
            self.fail(f"{self.peek() or 'the end'} where {token} was expected")
        self.at += 1

    def words(self):
        """The text in braces that follows, with its spaces; without braces, one token."""
        if self.peek() != "{":
            return self.next().removeprefix("\\")
        start, depth = self.tokens[self.at].end(), 0
        while self.at < len(self.tokens):
            token = self.next()
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return re.sub(r"\\([ %&#_$])", r"\1", self.latex[start:self.tokens[self.at - 1].start()])
        self.fail("{ without }")
        return ""

    # ---- rows -------------------------------------------------------------------------------------------

    def all(self):
        found = self.elements("")
        if self.at < len(self.tokens):
            self.fail(f"{self.peek()} without what it ends")
        return row(found) if found else self.fail("nothing")

    def elements(self, *ends):
        """The elements up to a token of `ends`, which is left there."""
        found, last = [], "open"        # the kind of the element before; a minus after an operator is a sign
        while self.peek() and self.peek() not in (*ends, "}", "&", r"\\", r"\end", r"\right"):
            if self.peek()[0] == "\\" and self.peek()[1:] in SPACES:
                found.append(space(SPACES[self.next()[1:]]))
                continue
            kind, element = self.scripted(last)
            if (kind == "function" and last in ("ordinary", "close", "function")) or (
                    last == "function" and kind in ("ordinary", "large")):
                found.append(space(THIN))
            found.append(element)
            last = kind
        return found

    def argument(self):
        """What a command is applied to: what is in braces, or the next element."""
        if self.peek() == "{":
            self.at += 1
            found = self.elements("}")
            self.expect("}")
            return row(found) if found else "<mrow></mrow>"
        if not self.peek():
            self.fail("a command without what it is applied to")
        if self.peek().isdigit():       # \frac12: each digit is one argument
            number = self.tokens[self.at]
            self.tokens[self.at:self.at + 1] = list(re.compile(".").finditer(self.latex, number.start(), number.end()))
        return self.element("open")[1]

    def scripted(self, last):
        """An element with its primes, superscript and subscript, and its kind."""
        kind, base = self.element(last)
        primes, above, below = 0, [], []
        self.depth += 1
        while self.peek() in ("'", "^", "_"):
            token = self.next()
            if token == "'":
                primes += 1
            elif (above if token == "^" else below):
                self.fail(f"two {token}")
            else:
                (above if token == "^" else below).append(self.argument())
        self.depth -= 1
        if primes:      # in full size: the sign is made as high as a superscript
            base = tag("mrow", base, operator("′" * primes, 0, 0))
        if not above and not below:
            return kind, base
        parts = [base, *below, *([row(above)] if above else [])]
        limits = kind in ("large", "brace")
        name = f"m{'under' * bool(below)}{'over' * bool(above)}" if limits else f"m{'sub' * bool(below)}{'sup' * bool(above)}"
        return "ordinary" if kind == "brace" else kind, tag(name, *parts)

    # ---- elements ---------------------------------------------------------------------------------------

    def element(self, last):
        """The next element without scripts, and its kind."""
        if self.peek() == "{":
            return "ordinary", self.argument()
        token = self.next()
        name = token.removeprefix("\\") if len(token) > 1 else token
        command = token != name
        none = 0 if self.depth else None
        if token[0].isdigit():
            return "ordinary", tag("mn", token.replace("{,}", ","))
        if not command and token.isalpha() and token.isascii():
            return "ordinary", tag("mi", token)
        if command == (len(name) > 1 or name in "{}"):      # \alpha and +, but not \+
            if name in LETTERS:
                return "ordinary", tag("mi", LETTERS[name])
            if name in BINARY:
                if last in ("open", "operator", "punctuation"):
                    return "open", operator(BINARY[name], 0, 0, form="prefix")
                return "operator", operator(BINARY[name], none, none)
            if name in RELATIONS:
                around = 0 if self.depth else 0.2778
                return "operator", operator(RELATIONS[name], around, around)
            if name in PUNCTUATION:
                return "punctuation", operator(PUNCTUATION[name], 0, THIN)
            if name in OPENING or name in CLOSING:
                opens = name in OPENING
                return ("open" if opens else "close",
                        operator((OPENING if opens else CLOSING)[name], stretchy="false", form="prefix" if opens else "postfix"))
            if name in ORDINARY:
                return "ordinary", operator(ORDINARY[name], 0, 0, **({"stretchy": "false"} if name in "/|" else {}))
            if name in LARGE:
                return "large", operator(LARGE[name])
            if name in FUNCTIONS:
                return "function", tag("mi", name)
        if command and name in UPRIGHT:
            return "ordinary", tag("mi", html.escape(UPRIGHT[name]), mathvariant="normal")
        if command:
            return self.command(name)
        return self.fail(f"{token}, which has no meaning")

    def command(self, name):
        """What a command with arguments makes."""
        if name == "frac":
            return "ordinary", tag("mfrac", self.argument(), self.argument())
        if name == "sqrt":
            return "ordinary", tag("msqrt", self.argument())
        if name in ACCENTS:
            return "ordinary", tag("mover", self.argument(), operator(ACCENTS[name], stretchy="false"), accent="true")
        if name == "underbrace":
            return "brace", tag("munder", self.argument(), operator("⏟", stretchy="true"))
        if name == "text":
            return "ordinary", tag("mtext", html.escape(self.words().replace(" ", "\xa0")))
        if name in ("mathrm", "operatorname"):
            text = html.escape(self.words().replace(" ", "\xa0"))
            return "function" if name == "operatorname" else "ordinary", tag("mi", text, mathvariant="normal")
        if name == "mathsf":
            return "ordinary", tag("mi", html.escape(sans(self.words())), mathvariant="normal")
        size = re.fullmatch(r"([bB]igg?)([lr]?)", name)
        if size and size[1] in SIZES:
            em = f"{SIZES[size[1]]}em"
            side = size[2] or ("l" if self.peek().removeprefix("\\") in OPENING else "r")
            return self.fence(side, minsize=em, maxsize=em)
        if name == "left":
            inside = [self.fence("l")[1], *self.elements()]
            self.expect(r"\right")
            return "ordinary", tag("mrow", *inside, self.fence("r")[1])
        if name == "begin":
            return "ordinary", self.environment(self.words())
        return self.fail(f"\\{name}, which tools/docs/formulas.py does not know,")

    def fence(self, side, **size):
        """The bracket that follows, as high as what it holds or as `size` says."""
        name = self.next().removeprefix("\\")
        text = {**OPENING, **CLOSING, "|": "|", ".": ""}.get(name)
        if text is None:
            self.fail(f"{name}, which is no bracket,")
        form = "prefix" if side == "l" else "postfix"
        return "open" if side == "l" else "close", operator(text or "", 0, 0, form=form, stretchy="true", symmetric="true", **size)

    def environment(self, name):
        """Rows of cells: aligned equations, or a matrix."""
        if name != "aligned" and name not in MATRICES:
            self.fail(f"the environment {name}, which tools/docs/formulas.py does not know,")
        rows = [[]]
        while True:
            rows[-1].append(self.elements())
            token = self.next()
            if token == r"\\":
                rows.append([])
            elif token == r"\end":
                break
            elif token != "&":
                self.fail(f"{token or 'the end'} in the environment {name}")
        if self.words() != name:
            self.fail(f"an environment that is not ended by \\end{{{name}}}")

        def cell(i, elements):
            side = "right" if i % 2 == 0 else "left"
            gap = "1em" if i and i % 2 == 0 else "0"
            if name != "aligned":
                return tag("mtd", row(elements) if elements else "", style="padding: 0.15em 0.4em")
            style = f"text-align: {side}; text-align: -webkit-{side}; padding: 0.15em 0 0.15em {gap}"     # -webkit-: for Chromium
            return tag("mtd", row(elements) if elements else "", columnalign=side, style=style)
        table = tag("mtable", *[tag("mtr", *[cell(i, elements) for i, elements in enumerate(cells)]) for cells in rows],
                    **({"displaystyle": "true"} if name == "aligned" else {}))
        fences = MATRICES.get(name, "")
        if not fences:
            return table
        around = [operator(fence, 0, 0, form=form, stretchy="true", symmetric="true")
                  for fence, form in zip(fences, ("prefix", "postfix"))]
        return tag("mrow", around[0], table, *around[1:])


def in_markdown(markdown, strict=True):
    """A reader of markdown-it, with formulas. Unless `strict`, a formula that cannot be read stays LaTeX."""
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    def shown(latex, options):
        try:
            return mathml(latex, options["display_mode"])
        except FormulaError:
            if strict:
                raise
            return f"<code>{html.escape(latex)}</code>"
    return markdown.use(dollarmath_plugin, renderer=shown)


def characters():
    """All characters that a formula can have."""
    tables = (LETTERS, UPRIGHT, BINARY, RELATIONS, PUNCTUATION, ORDINARY, OPENING, CLOSING, LARGE, ACCENTS)
    known = [*["".join(table.values()) for table in tables], *[chr(first + i) for first in SANS for i in range(26)]]
    return "".join([*known, "′⏟√", *[chr(i) for i in range(32, 127)]])


# ---- the Sphinx extension -----------------------------------------------------------------------------------


def line_of(path, latex):
    """The line of a file in which a formula begins; None if it is not there."""
    first = latex.strip().partition("\n")[0]
    return next((i for i, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1) if first in line), None)


def check(app, doctree):
    """Each formula of a page that has been read is converted. One that cannot be fails the build."""
    from docutils import nodes
    from sphinx.util import logging

    for node in doctree.findall(lambda n: isinstance(n, (nodes.math, nodes.math_block))):
        try:
            node["mathml"] = mathml(node.astext(), isinstance(node, nodes.math_block))
        except FormulaError as error:
            path = app.env.doc2path(app.env.docname)
            logging.getLogger(__name__).warning("%s", error, location=f"{path}:{line_of(path, node.astext()) or node.line}")
            node["mathml"] = ""


def visit_inline(translator, node):
    from docutils import nodes
    translator.body.append(node["mathml"])
    raise nodes.SkipNode


def visit_block(translator, node):
    from docutils import nodes
    translator.body.append(f'<div class="math">{node["mathml"]}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
