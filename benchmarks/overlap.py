"""``mpiexec -n 2 python -m benchmarks.overlap``: how much of the all-reduce of gradients is hidden behind the backward.

    backward    of a perceptron in `no_sync`: nothing is shared
    all-reduce  of its gradients afterwards, in the same buckets, with the copies into them and back
    together    the backward of `DistributedDataParallel`, which starts the all-reduce of each bucket as soon as it is full
    hidden      (backward + all-reduce - together) / all-reduce

The three take turns, and each begins with a barrier. The table has the medians over the turns, of the slowest rank in each. With
small buckets the first all-reduce starts early; each bucket costs a message. Only what another part of the machine does can be
hidden: a network card sends while the core computes, but between ranks of one machine the all-reduce is work of the same cores.
Then there is nothing to hide, and less than 0 if sharing in the middle costs more than afterwards.
"""

import argparse
import os
import statistics
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")      # each rank has one core; minigrad sees to its own threads

import minigrad as mg
import minigrad.distributed as dist


def perceptron(width, layers):
    """The network, the same on all ranks."""
    mg.manual_seed(0)
    return mg.nn.Sequential(*[layer for _ in range(layers) for layer in (mg.nn.Linear(width, width), mg.nn.Tanh())])


def slowest(function):
    """Return the time of a function on the slowest rank, in seconds. All ranks begin together."""
    dist.barrier()
    start = time.perf_counter()
    function()
    seconds = mg.tensor([time.perf_counter() - start], dtype=mg.float64)
    dist.all_reduce(seconds, dist.ReduceOp.MAX)
    return seconds.item()


def share(model):
    """Share the gradients of a model as its backward does, with nothing beside it."""
    model.reducer.begin(())
    for bucket in model.reducer.buckets:
        for parameter in bucket.parameters():
            model.reducer.ready(parameter)


def measure(options, megabytes):
    """Return the number of buckets, and the medians of backward, all-reduce and together, in seconds."""
    model = mg.nn.parallel.DistributedDataParallel(perceptron(options.width, options.layers), bucket_cap_mb=megabytes)
    x = mg.randn(options.batch, options.width)
    times = []
    for _ in range(options.turns + 1):      # the first is thrown away
        with model.no_sync():
            loss = model(x).square().mean()
            alone = slowest(loss.backward)
        shared = slowest(lambda: share(model))
        loss = model(x).square().mean()
        times.append((alone, shared, slowest(loss.backward)))
    return len(model.reducer.buckets), *[statistics.median(column) for column in zip(*times[1:], strict=True)]


def main():
    parser = argparse.ArgumentParser(prog="mpiexec -n 2 python -m benchmarks.overlap",
                                     description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--width", type=int, default=512, help="of the layers")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=256, help="rows on each rank")
    parser.add_argument("--turns", type=int, default=15, help="how often each is timed")
    parser.add_argument("--buckets", type=float, nargs="+", default=[0.5, 1, 2, 4, 25], help="their sizes, in megabytes")
    options = parser.parse_args()
    dist.init_process_group()
    say = print if dist.get_rank() == 0 else lambda *text: None
    size = options.layers * (options.width + 1) * options.width * 4 / 2**20
    say(f"{dist.get_world_size()} ranks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {size:.1f} MB of gradients")
    say(f"{'bucket':>8} {'buckets':>8} {'backward':>11} {'all-reduce':>11} {'together':>11} {'hidden':>7}")
    for megabytes in options.buckets:
        count, alone, shared, together = measure(options, megabytes)
        say(f"{megabytes:5g} MB {count:8} {1e3 * alone:8.1f} ms {1e3 * shared:8.1f} ms {1e3 * together:8.1f} ms "
            f"{(alone + shared - together) / shared:7.0%}")
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
