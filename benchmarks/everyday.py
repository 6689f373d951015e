"""``python -m benchmarks.everyday``: what course programs do, op by op and program by program, as ratios to PyTorch's time.

``scenarios.py`` has some programs, which we measure exactly. Here are two hundred ops on small tensors, forward alone and with
their backward, and the programs of `everyday_programs.py`. Each is measured for a fifth of a second, so a ratio may be wrong by a
tenth. The table says which ops and programs need work. One core; the two libraries take turns, as in ``harness.py``.
"""

import argparse
import statistics
import sys
import warnings
from pathlib import Path

import numpy as np

from benchmarks.everyday_programs import PROGRAMS
from benchmarks.harness import Scenario, measure

__all__ = ["OPS", "main", "op_scenarios"]

# Expressions of the names that `names` makes: x, y and w1, w2 require a gradient. A statement writes to `into`, a copy of x.
OPS = {
    "making":
        "m.tensor(1.0); m.tensor([1., 2.]); m.zeros(3, 4); m.ones_like(x); m.full((2, 2), 1.0); m.arange(5); "
        "m.linspace(0, 1, 5); m.eye(4); m.rand(3); m.randn(4); m.randint(0, 9, (4,)); m.randperm(8); x.new_zeros(3)",
    "reading":
        "x[0, 0].item(); float(x[0, 0]); bool(x[0, 0] > 0); x.tolist(); x.detach(); x.shape; len(x); x.numel()",
    "numbers":
        "x.float(); x.double(); x.long(); (x > 0).float(); c.float(); x + 1; x * 2.0; x - y; x * y; x / y; -x; x ** 2; "
        "x.abs() ** y; x + row; x * column; x * one; (x * x + 1).log(); (x * x).sqrt(); (x * x + 1).rsqrt(); x.exp(); "
        "x.sin(); x.abs(); x.sign(); x.floor(); x.clamp(0, 1); x.clamp(min=0); m.maximum(x, y); m.minimum(x, y); "
        "m.where(c, x, y); m.where(c, x, 0.0); x.masked_fill(c, 0.0); m.lerp(x, y, 0.5); m.addcmul(x, x, y); x.erf(); "
        "m.lgamma(x.abs() + 1)",
    "comparing":
        "x < y; x < 0.5; x == y; x.isnan(); c & c; ~c; (x > 0).any(); (x > 0).all(); (x > 0).sum(); m.allclose(x, x); "
        "m.equal(x, y)",
    "reducing":
        "x.sum(); x.sum(1); x.mean(); x.mean(0); x.prod(); x.prod(1); x.max(); x.max(1)[0]; x.amax(1); x.argmax(); "
        "x.argmax(1); x.std(); x.var(1); x.norm(); x.norm(dim=1); m.logsumexp(x, 1); x.cumsum(1); x.cumprod(1); x.median(); "
        "x.trace()",
    "shapes":
        "x.view(-1); x.reshape(4, -1); x.flatten(); x.t(); x.permute(1, 0); x.transpose(0, 1).contiguous(); x.unsqueeze(0); "
        "x.squeeze(); x.expand(2, *x.shape); x.repeat(2, 1); m.stack([x, y]); m.cat([x, y]); x.chunk(2)[0]; x.split(4)[0]; "
        "x.unbind()[0]; x.flip(0); x.roll(1, 0); x.tril(); x.triu(); m.diag(x); x.diagonal(); x.clone(); x.unfold(0, 2, 1)",
    "indexing":
        "x[0]; x[:, 1]; x[0, 1]; x[1:3]; x[..., None]; x[j]; x[c]; x[j, j]; x.gather(1, i); x.index_select(0, j); "
        "m.take_along_dim(x, i, 1); x.scatter(1, i, y); m.scatter_add(x, 1, i, y); x.index_add(0, j, y[:4]); x.sort(1)[0]; "
        "x.topk(2, 1)[0]; m.nonzero(c); m.unique(j); m.bincount(j)",
    "writing":
        "into[3] = 1.0; into[3, 4] = 1.0; into[3] = row; into[1:3] = row; into[j] = 1.0; into[c] = 0.0; into[3] += 1; "
        "into.zero_(); into.fill_(1.0); into.copy_(row); into.add_(row); into.mul_(2.0); into.clamp_(0, 1); "
        "into.add_(into, alpha=0.1); into.addcmul_(into, into, value=0.1); into.normal_(); into.uniform_(); "
        "into.lerp_(into, 0.5)",
    "activations":
        "F.relu(x); F.gelu(x); F.silu(x); F.softplus(x); F.elu(x); F.leaky_relu(x); F.hardtanh(x); x.sigmoid(); x.tanh(); "
        "F.softmax(x, 1); F.log_softmax(x, -1); F.dropout(x, 0.5); F.glu(x)",
    "losses":
        "F.mse_loss(x, y); F.l1_loss(x, y); F.smooth_l1_loss(x, y); F.cross_entropy(x, t); F.nll_loss(x, t); "
        "F.binary_cross_entropy_with_logits(x, y); F.kl_div(x, y); F.cosine_similarity(x, y)",
    "layers":
        "F.linear(x, y); F.embedding(t, x); F.one_hot(t, len(x)); F.layer_norm(x, x.shape[-1:]); "
        "F.batch_norm(x, None, None, training=True); F.group_norm(x, 2); F.normalize(x); F.pad(x, (1, 1)); "
        "F.conv1d(x[None], w1); F.conv2d(x[None, None], w2); F.conv2d(x[None, None], w2, padding=1); "
        "F.conv2d(x[None, None], w2, stride=2); F.max_pool2d(x[None], 2); F.avg_pool2d(x[None], 2); "
        "F.adaptive_avg_pool2d(x[None], 1); F.interpolate(x[None, None], scale_factor=2); F.unfold(x[None, None], 3); "
        "F.scaled_dot_product_attention(x[None], y[None], y[None])",
    "matrices":
        "x @ y; x @ row; m.bmm(x[None], y[None]); m.outer(row, row); m.dot(row, row); m.einsum('ij,jk->ik', x, y); "
        "m.linalg.inv(s); m.linalg.solve(s, y); m.linalg.det(s); m.linalg.cholesky(s); m.linalg.qr(x)[1]; "
        "m.linalg.svd(x)[1]; m.linalg.eigh(s)[0]",
}


def names(m, n):
    """What the expressions may name, for matrices of n x n."""
    rng = np.random.default_rng(0)

    def floats(*shape):
        return m.tensor(rng.standard_normal(shape).astype(np.float32))

    def whole(*shape):
        return m.tensor(rng.integers(0, n, shape))

    found = {"m": m, "F": m.nn.functional, "x": floats(n, n), "y": floats(n, n), "row": floats(n), "column": floats(n, 1),
             "one": m.tensor(0.5), "w1": floats(3, n, 3), "w2": floats(2, 1, 3, 3), "c": floats(n, n) > 0, "i": whole(n, n),
             "j": whole(4), "t": whole(n), "into": floats(n, n)}
    found["s"] = found["x"] @ found["x"].t() + n * m.eye(n)
    for name in ("x", "y", "w1", "w2", "s"):
        found[name].requires_grad_()
    return found


def forward(text, n):
    """The maker of a program that runs an expression or a statement."""
    def make(m, library):
        scope = names(m, n)
        if is_statement(text):
            code = compile(text, text, "exec")
            return lambda: exec(code, scope)
        return eval(f"lambda: {text}", scope)
    return make


def backward(text, n):
    """The same, and the gradients of all its leaves. Only for results that require a gradient."""
    def make(m, library):
        scope = names(m, n)
        run = eval(f"lambda: {text}", scope)
        gradient = m.ones_like(run())
        leaves = [scope[name] for name in ("x", "y", "w1", "w2", "s")]
        return lambda: m.autograd.grad(run(), leaves, gradient, allow_unused=True)
    return make


def is_statement(text):
    """Whether a text is a statement, or a method that writes."""
    return text.startswith("into")


def is_recorded(text, m):
    """Whether an expression gives a tensor with a history."""
    if is_statement(text):
        return False
    result = eval(text, names(m, 8))
    return isinstance(result, m.Tensor) and result.requires_grad


def op_scenarios(m, sizes=(8,)):
    """A `Scenario` for each op and size, and one more with the backward if it has one. `m`: the library that knows which have."""
    found = []
    for kind, texts in OPS.items():
        for text in texts.split("; "):
            for n in sizes:
                found.append(Scenario(f"{kind}: {text}, {n} x {n}", 1.0, forward(text, n), 0.2))
                if is_recorded(text, m):
                    found.append(Scenario(f"{kind}: {text}, {n} x {n}, with backward", 1.0, backward(text, n), 0.2))
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--only", default="", help="only ops and programs with this in their name")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8], metavar="N",
                        help="matrices of N x N; 8 by default, and not below")
    parser.add_argument("--below", type=float, default=1.0, metavar="RATIO", help="list all whose ratio is below this")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write all ratios to a file, as results/everyday.md has them")
    options = parser.parse_args(arguments)
    if min(options.sizes) < 8:
        parser.error("--sizes: the expressions need matrices of at least 8 x 8")
    try:
        import torch
        from rich.console import Console
        from rich.progress import track
    except ImportError as error:
        print(f"the benchmarks need the package {error.name}: pip install 'minigrad-autograd[bench]'", file=sys.stderr)
        return 2
    import minigrad
    from benchmarks import records

    warnings.simplefilter("ignore")
    records.one_core()
    machine = records.machine(["torch"])
    chosen = op_scenarios(minigrad, options.sizes) + [Scenario(f"program: {make.__doc__}", 1.0, make, 0.5) for make in PROGRAMS]
    chosen = [scenario for scenario in chosen if options.only in scenario.name]
    results = [measure(scenario, minigrad, torch)
               for scenario in track(chosen, "measuring", console=Console(stderr=True), transient=True)]
    results.sort(key=lambda result: result.ratio)
    rows = [(r.scenario.name.replace("|", "\\|"), f"{1e6 * r.ours:,.1f} µs", f"{1e6 * r.theirs:,.1f} µs", f"{r.ratio:.2f}")
            for r in results]
    for row in rows:
        if float(row[-1]) < options.below:
            print(f"{row[-1]:>6} {row[1]:>12} {row[2]:>12}  {row[0]}")
    summary = describe(results)
    print(summary)
    if options.markdown is not None:
        head = records.describe({"command": records.command("benchmarks.everyday", arguments), "machine": machine,
                                 "load_at_end": records.load()})
        table = ["| op or program | minigrad | torch | ratio |", "|---|--:|--:|--:|", *[f"| {' | '.join(row)} |" for row in rows]]
        options.markdown.write_text("\n".join([head, "", summary, "", *table, ""]), "utf-8")
    return 0


def describe(results):
    """A sentence for each kind: how many there are, the median ratio, and how many are slower than in PyTorch."""
    kinds = {}
    for result in results:
        name = result.scenario.name
        kind = "programs" if name.startswith("program") else "ops with backward" if name.endswith("backward") else "ops, forward"
        kinds.setdefault(kind, []).append(result.ratio)
    return "\n".join([f"* {kind}: {len(ratios)}, median ratio {statistics.median(ratios):.1f}, slower than PyTorch: "
                      f"{sum(ratio < 1 for ratio in ratios)}" for kind, ratios in sorted(kinds.items())])


if __name__ == "__main__":
    sys.exit(main())
