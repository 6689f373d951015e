"""``python -m minigrad.demo``: watch minigrad learn to read handwritten digits."""

import argparse
import os
import subprocess
import sys
import time

import minigrad as mg
from minigrad._build import pure as _pure
from minigrad.doctor import speed


def arguments(argv):
    parser = argparse.ArgumentParser(prog="python -m minigrad.demo", description=(__doc__ or "").partition(": ")[2],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--epochs", type=int, default=60, help="passes over the training digits")
    parser.add_argument("--batch-size", type=int, default=64, help="digits per step")
    parser.add_argument("--lr", type=float, default=4e-3, help="learning rate of the first step")
    parser.add_argument("--seed", type=int, default=0, help="seed of the initial weights, the order and the split")
    parser.add_argument("--threads", type=int, default=1, help="number of threads; a network this small gains nothing "
                        "from more")
    parser.add_argument("--out", default="demo-output", help="folder for the pictures and the trained parameters")
    options = parser.parse_args(argv)
    for name in ("epochs", "batch_size", "threads"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return options


def interpreted_speed():
    """`speed` of the same sources without the extension modules, measured in a separate process; None if it fails."""
    code = "from minigrad.doctor import speed; print(speed())"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "MINIGRAD_PURE": "1"}, capture_output=True, text=True,
                          check=False)
    return float(done.stdout) if done.returncode == 0 else None


def main(argv=None):
    options = arguments(argv)
    try:
        from tqdm import tqdm

        from minigrad.demo import data, pictures, train
        training, test = data.digits(seed=options.seed)
    except ImportError as error:
        print(f"the demo needs the package {error.name}: pip install 'minigrad-autograd[demo]'", file=sys.stderr)
        return 2
    mg.set_num_threads(options.threads)
    mg.manual_seed(options.seed)
    os.makedirs(options.out, exist_ok=True)
    model = train.network()
    parameters = sum(p.numel() for p in model.parameters())
    print(f"minigrad {mg.__version__}, {_pure.mode()}, {mg.get_num_threads()} thread{'s' * (mg.get_num_threads() > 1)}")
    print(f"{len(training[0])} handwritten digits to learn from, {len(test[0])} to be tested on; {parameters:,} parameters")

    steps = options.epochs * -(-len(training[0]) // options.batch_size)
    start = time.perf_counter()
    with tqdm(total=steps, unit="step", desc="training", dynamic_ncols=True) as progress:
        history = train.train(model, training, test, options.epochs, options.batch_size, options.lr, progress)
    took = time.perf_counter() - start
    if history.interrupted:
        print(f"interrupted after {len(history.losses)} of {steps} steps; what has been learnt is kept")
    if not history.losses:
        return 130

    found = train.predictions(model, test[0])
    right = float((found == test[1]).float().mean())
    print(f"\ntest accuracy         {right:.2%} in {took:.1f} s")
    print(f"a training step       {1000 * history.seconds / len(history.losses):.2f} ms for {options.batch_size} digits")
    print(f"backward, {_pure.mode():<12}{speed():>12,.0f} nodes a second")
    if _pure.mode() != "interpreted":
        slow = interpreted_speed()
        if slow is not None:
            print(f"backward, interpreted {slow:>12,.0f} nodes a second")
    else:
        print("                      compiled, the engine is 20 to 40 times as fast; python -m minigrad.doctor says more")

    def path(name):
        return os.path.join(options.out, name)

    pictures.loss_curve(history, path("loss.png"))
    pictures.misread_digits(*test, found, path("misread.png"))
    written = [path("loss.png"), path("misread.png")]
    if pictures.expression_graph(path("graph.png")):
        written.append(path("graph.png"))
    else:
        print("no picture of a graph: it needs the package pygraphviz (pip install 'minigrad-autograd[viz]')")
    mg.save(model.state_dict(), path("model.safetensors"))
    print("written: " + ", ".join([*written, path("model.safetensors")]))
    return 130 if history.interrupted else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
