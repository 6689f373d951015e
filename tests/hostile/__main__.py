"""``python -m tests.hostile``: hostile calls, each in a process that may die."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"     # a child of fork() has no other threads

BATCH = 40      # calls that share a process until it dies


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description="Hostile calls: no crash, no hang, no bare error.")
    parser.add_argument("--calls", type=int, default=2000, help="how many random calls")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="number of the first random call")
    parser.add_argument("--walk", action="store_true", help="wrong values in every position of every callable instead")
    parser.add_argument("--only", default="", help="only callables with this in their path, or in the module that defines them; several with a comma")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=20, help="after which a call counts as hung")
    parser.add_argument("--no-torch", action="store_true", help="compare no numbers with PyTorch")
    parser.add_argument("--show", metavar="SEED:NUMBER", help="run one call in this process")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show:
        return show(options)
    if options.worker is not None:
        return work(options)
    return gather(options)


def chosen(options):
    """(the calls, the numbers of those that are asked for)"""
    from tests.hostile.calls import Calls
    from tests.hostile.subjects import subjects
    calls = Calls([s for s in subjects() if any(part in s.path or part in s.home for part in options.only.split(","))], options.seed)
    if options.walk:
        return calls, [-1 - k for k in range(len(calls.walk))]
    return calls, range(options.first, options.first + options.calls)


def show(options):
    from tests.hostile.values import HOSTILE
    assert HOSTILE
    options.seed, _, number = options.show.rpartition(":")
    calls, _ = chosen(options)
    call = calls[int(number)]
    print(call)
    if hasattr(call, "run"):
        print(call.run())
    else:
        import minigrad as mg
        args, kwargs = call.arguments(mg)
        print(call.subject.function(*args, **kwargs))


def work(options):
    """Every `jobs`-th call; a line of JSON for each."""
    from tests.hostile.processes import outcomes, perform_ours, perform_torchs, run
    from tests.hostile.subjects import comparable
    from tests.hostile.verdicts import differing, judged
    calls, numbers = chosen(options)
    numbers = numbers[options.worker::options.jobs]
    compare = not options.no_torch and importlib.util.find_spec("torch") is not None
    for start in range(0, len(numbers), BATCH):
        batch = [calls[number] for number in numbers[start:start + BATCH]]
        found = dict(zip(numbers[start:], zip(batch, outcomes(batch, options.seconds, perform_ours))))
        both = {n: call for n, (call, outcome) in found.items()
                if compare and outcome[0] == "result" and outcome[1] is not None and comparable(call.subject)}
        theirs = dict(zip(both, outcomes(list(both.values()), options.seconds, perform_torchs)))
        for number, (call, outcome) in found.items():
            verdict, what = judged(call, outcome), outcome[0]
            if theirs.get(number, ("",))[0] == "result":
                verdict, what = differing(call, outcome[1], theirs[number][1]), "result as PyTorch's"
            if verdict:         # alone it may be another: calls change modes
                outcome, other = run(call, options.seconds, perform_ours), verdict
                verdict = judged(call, outcome)
                if other[0] == "values" and outcome[0] == "result":
                    verdict = differing(call, outcome[1], run(call, options.seconds, perform_torchs)[1])
                elif other[0] in ("crash", "hang") and not verdict:
                    verdict = other[0], f"{other[1]}; only after {numbers[start]} and those that follow"
            print(json.dumps([number, str(call), what, verdict]), flush=True)


def gather(options):
    from tqdm import tqdm
    arguments = [a for a in sys.argv[1:]]
    workers = [subprocess.Popen([sys.executable, "-m", "tests.hostile", *arguments, "--jobs", str(options.jobs), "--worker", str(k)],
                                stdout=subprocess.PIPE, text=True) for k in range(options.jobs)]
    counts, wrong = Counter(), []
    total = len(chosen(options)[1])
    with tqdm(total=total, unit="call", disable=None) as bar:
        import selectors
        waiting = selectors.DefaultSelector()
        for worker in workers:
            waiting.register(worker.stdout, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                line = key.fileobj.readline()
                if not line:
                    waiting.unregister(key.fileobj)
                    continue
                number, text, outcome, verdict = json.loads(line)
                counts[verdict[0] if verdict else outcome] += 1
                bar.update()
                if verdict:
                    wrong.append((verdict[0], number, text, verdict[1]))
                    tqdm.write(f"{verdict[0]:7}{options.seed}:{number} {text[:300]}: {verdict[1][:300]}".replace("\n", " "))
    print(f"{total} calls, seed {options.seed}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return any(kind != "bare" for kind, *_ in wrong) or any(w.wait() for w in workers)      # F-03 has a test of its own


if __name__ == "__main__":
    sys.exit(main())
