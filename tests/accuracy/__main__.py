"""The accuracy of every op: ``python -m tests.accuracy [names ...]``.

    python -m tests.accuracy                    all cases, all their sizes, both dtypes: complaints and the worst errors
    python -m tests.accuracy cumsum logsumexp   the cases with names that begin so
    python -m tests.accuracy --once             one size of each, as the tests do
    python -m tests.accuracy --table            all, and writes the worst errors to table.json, which `make ops` shows
    python -m tests.accuracy --table pad        those of some cases; the others keep their lines

PyTorch is the reference; without it, minigrad's float64 is.
"""

import argparse
import multiprocessing
import os
import sys

from tests.accuracy import table
from tests.accuracy.survey import CASES, survey


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.accuracy", description="How accurate every op is.")
    parser.add_argument("names", nargs="*", help="beginnings of the names of cases")
    parser.add_argument("--once", action="store_true", help="one size of each case, another one for each dtype")
    parser.add_argument("--table", action="store_true", help="write the worst errors to table.json")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--times", action="store_true", help="print how long each case took")
    chosen = parser.parse_args(arguments)
    names = [name for name in CASES if not chosen.names or name.startswith(tuple(chosen.names))]
    found, wrong, spent = {}, 0, 0.0
    with multiprocessing.get_context("spawn").Pool(chosen.processes) as pool:
        for name, findings, seconds in pool.imap_unordered(survey, [(name, chosen.once) for name in names]):
            found[name], spent = findings, spent + seconds
            for finding in findings:
                if finding.complaint:
                    wrong += 1
                    print(finding, flush=True)
            if chosen.times:
                print(f"{seconds:8.2f} s  {name}", flush=True)
    print(f"{len(names)} cases, {sum(map(len, found.values()))} quantities, {wrong} of them wrong, in {spent:.0f} s of processor time")
    if chosen.table:
        table.write(found, CASES)
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main()))
