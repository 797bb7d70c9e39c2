#!/usr/bin/env python3
"""Steps of tables over ranks of Millrace beside those of TorchRec, alternating in one run.

    bench/peers/ranks.py [--batches 2048,8192] [--optimizers sgd,rowwise_adagrad] [--repeats 5]

README.md says how to set it up, docs/benchmarks.md how to read it. One JSON line for each
optimizer, batch and side goes to standard output (and --output), a table of ratios behind them.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import numpy

from embedding import CHECK_ROWS, CHECK_STEPS, CHECK_TABLES, MOST_DEVIATION, reference
from measuring import (BATCHES, Figures, Lines, choice, find_jemalloc, measure_quietly,
                       option_parser, peer_environment, run_ours, say)

HERE = pathlib.Path(__file__).resolve().parent
OPTIMIZERS = ["sgd", "rowwise_adagrad"]
SIDES = ["table_wise", "row_wise", "planner", "table_wise_fp16", "row_wise_fp16"]
BAR = 2.0  # of ours to the best plan of the peer
# Lines of ours that stand beside the rates.
OWN_LINES = ["one_process", "share_of_one_process", "bound", "share_of_bound", "transport"]


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


class Sides:
    """Runs jobs of ours and of peers."""

    def __init__(self, options):
        self.options = options
        self.shape = {"tables": options.tables, "rows": options.rows, "dim": options.dim,
                      "ids_per_feature": options.ids_per_feature}
        # Each rank has one thread.
        self.environment = peer_environment(find_jemalloc(options.jemalloc), 1)
        self.missing = {}  # side -> why

    def ours(self, optimizer, batch, *flags, **shape):
        numbers = {**self.shape, **shape, "ranks": self.options.ranks,
                   "threads": self.options.ranks, "batch": batch}
        command = [self.options.millrace, "bench", "distributed", "--optimizer", optimizer, *flags]
        for name, value in numbers.items():
            command += ["--" + name, str(value)]
        return run_ours(command)

    def peer(self, side, optimizer, batch, data, **more):
        """What rank 0 prints last; None if there is no such peer."""
        job = {"side": side, "optimizer": optimizer, "ranks": self.options.ranks,
               "port": free_port(), "batch": batch, "data": data, **self.shape, **more}
        ranks = []
        for rank in range(self.options.ranks):
            command = [sys.executable, str(HERE / "ranks_peers.py"),
                       json.dumps({**job, "rank": rank})]
            ranks.append(subprocess.Popen(command, env=self.environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        outputs = [rank.communicate() for rank in ranks]
        for number, (rank, output) in enumerate(zip(ranks, outputs)):
            if rank.returncode != 0:
                sys.exit(f"rank {number} of {side} failed:\n{output[1][-2000:]}")
        result = json.loads(outputs[0][0].splitlines()[-1])
        if "missing" not in result:
            return result
        self.missing[side] = result["missing"]
        say(f"{side} does not load, going on without it: {result['missing']}")
        return None

    def measure(self, side, optimizer, batch, data):
        """Values and foreign cores of one job; None if it is missing."""
        if side != "ours":
            return self.peer(side, optimizer, batch, data, windows=self.options.windows)
        lines = self.ours(optimizer, batch, "--repeats", str(self.options.windows))
        lines = {name.partition("/")[2]: line for name, line in lines.items()}
        own = {name: lines[name]["median"] for name in OWN_LINES}
        own["exchanges"] = {name.partition("/")[2]: line["median"] for name, line in lines.items()
                            if name.startswith("exchange/")}
        own["work"] = {name.partition("/")[2]: line["median"] for name, line in lines.items()
                       if name.startswith("work/")}
        bytes_sent = sum(own["exchanges"][name + "/bytes"] for name in ("ids", "rows", "sums"))
        return {"values": lines[""]["values"], "foreign": lines["foreign"]["values"],
                "bytes": [bytes_sent], "own": own}


def check(sides, optimizer, batch, directory):
    """Largest deviation of a row from a reference in double, to its norm, for each side."""
    small = {"tables": CHECK_TABLES, "rows": CHECK_ROWS}
    ids, dim = sides.shape["ids_per_feature"], sides.shape["dim"]
    sides.ours(optimizer, batch, "--data", directory, "--check", "--steps", str(CHECK_STEPS),
               **small)
    rows = numpy.fromfile(directory + "/rows.i64", numpy.int64)
    rows = rows.reshape(BATCHES, CHECK_TABLES, batch, ids)
    gradient = numpy.fromfile(directory + "/gradient.f32", numpy.float32)
    gradient = gradient.reshape(batch, CHECK_TABLES, dim)

    def weights(name):
        values = numpy.fromfile(f"{directory}/{name}.f32", numpy.float32)
        return values.reshape(CHECK_ROWS, CHECK_TABLES, dim)

    expected = reference(optimizer, weights("before"), rows, gradient, CHECK_STEPS)
    norms = numpy.linalg.norm(expected, axis=2)
    result = {}
    for side in ["ours", *sides.options.sides]:
        if side != "ours" and (side in sides.missing or sides.peer(
                side, optimizer, batch, directory, steps=CHECK_STEPS, **small) is None):
            continue
        after = weights("after" if side == "ours" else side)
        result[side] = float((numpy.linalg.norm(after - expected, axis=2) / norms).max())
    return result


def measure_all(sides, optimizer, batch, data):
    """Figures by side, bytes a step and rank by side, and the last lines of ours."""
    figures, bytes_sent, own = {}, {}, []
    for _ in range(sides.options.repeats):
        for side in ["ours", *sides.options.sides]:
            if side in sides.missing:
                continue
            measured = measure_quietly(lambda: sides.measure(side, optimizer, batch, data),
                                       sides.options)
            if measured is None:
                continue
            figures.setdefault(side, Figures("ids/s")).add(measured)
            bytes_sent[side] = float(numpy.median(measured["bytes"]))
            if "own" in measured:
                own.append(measured["own"])
    return figures, bytes_sent, own


def median_of(own, name):
    return float(numpy.median([each[name] for each in own]))


class Table:
    """Ratios of ours to the better plan of the peer."""

    def __init__(self, sides):
        self.sides, self.rows, self.failed = sides, [], []

    def add(self, optimizer, batch, figures, own, deviations):
        what = f"{optimizer} {batch}"
        ours = figures["ours"].rate()
        text = f"{optimizer:16} {batch:6} {ours / 1e6:7.2f}"
        rates = {}
        for side in self.sides:
            if side in figures:
                rates[side] = figures[side].rate()
            text += f" {rates[side] / 1e6:15.2f}" if side in rates else f" {'-':>15}"
        if rates:
            ratio = ours / max(rates.values())
            passed = ratio >= BAR
            text += f" {ratio:6.2f} {BAR:4.1f} {'pass' if passed else 'FAIL'}"
            if not passed:
                self.failed.append(what)
        else:
            text += "  no peer loads: not judged"
            self.failed.append(f"{what}: not judged")
        text += f"  one process {median_of(own, 'one_process') / 1e6:5.2f}"
        text += f" (share {median_of(own, 'share_of_one_process'):.2f},"
        text += f" of the bound {median_of(own, 'share_of_bound'):.2f})"
        if deviations and deviations["ours"] > MOST_DEVIATION:
            text += "  WRONG NUMBERS"
            self.failed.append(f"{what}: numbers")
        if sum(each.flagged for each in figures.values()):
            text += "  (others were busy)"
        self.rows.append(text)

    def print(self):
        sides = "".join(f" {side:>15}" for side in self.sides)
        print(f"\noptimizer         batch    ours{sides}  ratio  bar   (M ids/s)")
        for text in self.rows:
            print(text)
        print(f"\n{len(self.failed)} missed: {'; '.join(self.failed) or 'none'}")


def parse_options():
    parser = option_parser(__doc__.splitlines()[0])
    parser.add_argument("--batches", default="2048,8192", help="of all ranks together [2048,8192]")
    parser.add_argument("--optimizers", default=",".join(OPTIMIZERS))
    parser.add_argument("--sides", default="table_wise,row_wise",
                        help=f"plans of TorchRec, of {', '.join(SIDES)} [table_wise,row_wise]")
    for name, default in (("ranks", 2), ("tables", 26), ("rows", 200000), ("dim", 64),
                          ("ids_per_feature", 1)):
        parser.add_argument("--" + name, type=int, default=default, help=f"[{default}]")
    options = parser.parse_args()
    options.optimizers = choice(parser, "--optimizers", options.optimizers, OPTIMIZERS)
    options.sides = choice(parser, "--sides", options.sides, SIDES)
    try:
        options.batches = [int(batch) for batch in options.batches.split(",")]
    except ValueError:
        parser.error(f"--batches: {options.batches} are no numbers")
    return options


def main():
    options = parse_options()
    sides = Sides(options)
    table, lines = Table(options.sides), Lines(options.output)
    for batch in options.batches:
        with tempfile.TemporaryDirectory() as directory:
            data, checked = directory + "/data", directory + "/check"
            os.mkdir(data)
            os.mkdir(checked)
            sides.ours("sgd", batch, "--data", data, "--repeats", "1", "--steps", "1")
            for optimizer in options.optimizers:
                deviations = {} if options.no_check else check(sides, optimizer, batch, checked)
                figures, bytes_sent, own = measure_all(sides, optimizer, batch, data)
                for side, each in figures.items():
                    line = {"name": "ranks", "side": side, "batch": batch, "ranks": options.ranks,
                            **sides.shape, "optimizer": optimizer, **each.line(),
                            "bytes_of_rank": bytes_sent[side]}
                    if side in deviations:
                        line["deviation"] = deviations[side]
                    if side == "ours":
                        line["own"] = own
                    lines.print(line)
                table.add(optimizer, batch, figures, own, deviations)
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
