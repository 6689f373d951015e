"""What the examples share: to choose a library, to begin from the same numbers in each, and to train."""

import argparse
import importlib
import statistics

import numpy as np
from tqdm import tqdm


def arguments(doc, **sizes):
    """The command line of an example: `sizes` are its options, with their default and what they mean."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--library", choices=("minigrad", "torch", "both"), default="minigrad", help="what trains")
    parser.add_argument("--seed", type=int, default=0, help="of the initial weights and the order of the data")
    for name, (default, what) in sizes.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default, help=what)
    return parser


def library(name):
    """The module `minigrad` or `torch`, to compute on one thread."""
    m = importlib.import_module(name)
    m.set_num_threads(1)
    return m


def same_weights(m, model, seed):
    """Fill in the parameters, in their order, with numbers that do not depend on the library: its own would."""
    rng = np.random.default_rng(seed)
    with m.no_grad():
        for name, param in model.named_parameters():
            if param.ndim == 1:         # a bias, or the weight of a normalisation
                values = np.full(param.shape, 1.0 if "norm" in name and name.endswith("weight") else 0.0)
            elif "conv" in name or "linear" in name:
                bound = 1 / np.sqrt(np.prod(param.shape[1:]))
                values = rng.uniform(-bound, bound, tuple(param.shape))
            else:
                values = rng.normal(0, 0.02, tuple(param.shape))
            param.copy_(m.tensor(values.astype(np.float32)))


def train(model, optimizer, loss_of, batches, steps, label):
    """Take `steps` steps. Returns the loss of each; ``loss_of(model, batch)`` is what becomes smaller."""
    losses = []
    with tqdm(total=steps, desc=label, unit="step", dynamic_ncols=True) as progress:
        for _, batch in zip(range(steps), batches):
            loss = loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            progress.update()
            progress.set_postfix(loss=f"{losses[-1]:.3f}")
    return losses


def final(losses):
    """The loss at the end: the mean of the last tenth, because single batches differ."""
    return statistics.fmean(losses[-max(1, len(losses) // 10):])


def run(options, train_one):
    """Train with the library that was asked for, or with both, and print how they compare. Returns the losses of each."""
    names = ("minigrad", "torch") if options.library == "both" else (options.library,)
    losses = {name: train_one(library(name), options) for name in names}
    for name, found in losses.items():
        print(f"{name:<9} loss {found[0]:.4f} at first, {final(found):.4f} at the end")
    if len(losses) == 2:
        ours, theirs = [final(found) for found in losses.values()]
        print(f"they differ by {abs(ours - theirs) / theirs:.2%}")
    return losses
