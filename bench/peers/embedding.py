#!/usr/bin/env python3
"""Embedding steps of Millrace beside those of FBGEMM and PyTorch, alternating in one run.

    bench/peers/embedding.py [--shapes 2048/1/64,8192/1/64] [--optimizers sgd,adam] [--repeats 5]

README.md says how to set it up, docs/benchmarks.md how to read it. One JSON line for each shape,
optimizer and side goes to standard output (and --output), a table of ratios behind them.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy

from embedding_peers import ADAGRAD_EPSILON, LEARNING_RATE
from measuring import (BATCHES, MOST_FOREIGN, Figures, Lines, Peers, choice, find_jemalloc,
                       measure_quietly, option_parser, peer_environment, run_ours)

HERE = pathlib.Path(__file__).resolve().parent
TABLES, ROWS, THREADS = 26, 200000, 2
# The check compares all rows of smaller tables, whose ids repeat more.
CHECK_TABLES, CHECK_ROWS, CHECK_STEPS = 3, 5000, 20
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8
MOST_DEVIATION = 1e-5  # of ours, to the norm of the row
# TBE's Adagrad runs at one of two speeds, 1.5 x apart: the fast one is what counts. Values below
# this share of the best are of the slow one.
FAST_SHARE = 0.8
# Of its rate, two threads keep at least this beside a neighbour that keeps one of two cores busy:
# a fair share of two thirds, less 5 % for noise.
LEAST_KEPT = 0.95 * 2 / 3

SHAPES = ["2048/1/16", "2048/1/64", "2048/1/128", "8192/1/16", "8192/1/64", "8192/1/128",
          "2048/10/64"]
PEERS = {"sgd": ["tbe", "torch"], "rowwise_adagrad": ["tbe"], "adagrad": ["tbe", "torch"],
         "adam": ["torch"]}
# Ratios to the strongest peer that must hold: each shape of one id a bag, the median over them,
# and ten ids a bag.
BARS = {"sgd": (1.7, 2.3, 1.6), "rowwise_adagrad": (1.5, 2.0, 1.3), "adagrad": (3.3, 4.0, 3.0),
        "adam": (4.3, 5.5, 5.0)}


class Shape:
    """batch/ids per feature/dim."""

    def __init__(self, text):
        self.text = text
        self.batch, self.ids, self.dim = map(int, text.split("/"))

    def parameters(self):
        return {"batch": self.batch, "ids_per_feature": self.ids, "dim": self.dim}


class BusyNeighbour:
    """A process that keeps one core busy, if wanted."""

    def __init__(self, wanted):
        self.wanted = wanted

    def __enter__(self):
        if self.wanted:
            self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"])

    def __exit__(self, *_):
        if self.wanted:
            self.process.kill()
            self.process.wait()


class Sides:
    """Runs processes of ours and of peers."""

    def __init__(self, options, environment):
        self.millrace = options.millrace
        self.windows = options.windows
        self.peers = Peers(HERE / "embedding_peers.py", environment)

    def ours(self, shape, optimizer, data, *flags, tables=TABLES, rows=ROWS):
        numbers = {"threads": THREADS, "tables": tables, "rows": rows, **shape.parameters()}
        command = [self.millrace, "bench", "embedding", "--optimizer", optimizer, *flags]
        for name, value in numbers.items():
            command += ["--" + name, str(value)]
        if data:
            command += ["--data", data]
        return run_ours(command)

    def peer(self, side, shape, optimizer, data, **more):
        job = {"optimizer": optimizer, "tables": TABLES, "rows": ROWS, "threads": THREADS,
               "data": data, **shape.parameters(), **more}
        return self.peers.run(side, **job)

    def measure(self, side, shape, optimizer, data):
        """Values and foreign cores of one process; None if it is missing."""
        if side != "ours":
            return self.peer(side, shape, optimizer, data, windows=self.windows)
        lines = self.ours(shape, optimizer, "", "--repeats", str(self.windows))
        phases = {name.split("/")[1]: line["median"] for name, line in lines.items()
                  if line["unit"] == "ms"}
        return {"values": lines["embedding"]["values"],
                "foreign": lines["embedding/foreign"]["values"], "phases": phases}


def sums_of_rows(rows, values):
    """Distinct rows, and the sum in double of the values of each."""
    order = numpy.argsort(rows, kind="stable")
    distinct, first = numpy.unique(rows[order], return_index=True)
    return distinct, numpy.add.reduceat(values[order].astype(numpy.float64), first, axis=0)


def reference(optimizer, weights, rows, gradient, steps):
    """Weights [rows, tables, dim] after the steps, in double; formulas as in optim/rows/sparse_*.h."""
    w = weights.astype(numpy.float64)
    sums, squares = numpy.zeros_like(w), numpy.zeros_like(w)
    for step in range(1, steps + 1):
        for table in range(w.shape[1]):
            ids = rows[(step - 1) % BATCHES, table]
            values = numpy.repeat(gradient[:, table], ids.shape[1], axis=0)
            r, g = sums_of_rows(ids.reshape(-1), values)
            at = (r, table)
            if optimizer == "sgd":
                w[at] -= LEARNING_RATE * g
            elif optimizer in ("adagrad", "rowwise_adagrad"):
                square = g * g
                if optimizer == "rowwise_adagrad":
                    square = square.mean(axis=1, keepdims=True)
                squares[at] += square
                w[at] -= LEARNING_RATE * g / (numpy.sqrt(squares[at]) + ADAGRAD_EPSILON)
            else:
                sums[at] += (1 - BETA1) * (g - sums[at])
                squares[at] += (1 - BETA2) * (g * g - squares[at])
                rate = LEARNING_RATE * numpy.sqrt(1 - BETA2**step) / (1 - BETA1**step)
                w[at] -= rate * sums[at] / (numpy.sqrt(squares[at]) + ADAM_EPSILON)
    return w


def check(sides, shape, optimizer, directory):
    """Largest deviation of a row from the reference, to its norm, for each side."""
    small = {"tables": CHECK_TABLES, "rows": CHECK_ROWS}
    sides.ours(shape, optimizer, directory, "--check", "--steps", str(CHECK_STEPS), **small)
    rows = numpy.fromfile(directory + "/rows.i64", numpy.int64)
    rows = rows.reshape(BATCHES, CHECK_TABLES, shape.batch, shape.ids)
    gradient = numpy.fromfile(directory + "/gradient.f32", numpy.float32)
    gradient = gradient.reshape(shape.batch, CHECK_TABLES, shape.dim)

    def weights(name):
        values = numpy.fromfile(f"{directory}/{name}.f32", numpy.float32)
        return values.reshape(CHECK_ROWS, CHECK_TABLES, shape.dim)

    expected = reference(optimizer, weights("before"), rows, gradient, CHECK_STEPS)
    norms = numpy.linalg.norm(expected, axis=2)
    result = {}
    for side in ["ours", *PEERS[optimizer]]:
        if side in sides.peers.missing:
            continue
        if side != "ours" and sides.peer(side, shape, optimizer, directory, steps=CHECK_STEPS,
                                         **small) is None:
            continue
        after = weights("after" if side == "ours" else side)
        deviations = numpy.linalg.norm(after - expected, axis=2) / norms
        result[side] = float(deviations.max())
    return result


def measure_all(sides, options, shape, optimizer, data):
    """Figures by side and whether a neighbour was busy."""
    def measure(side, busy):
        with BusyNeighbour(busy):
            return sides.measure(side, shape, optimizer, data)

    result = {}
    for _ in range(options.repeats):
        for side in ["ours", *PEERS[optimizer]]:
            for busy in ([False, True] if options.busy_neighbour else [False]):
                if side in sides.peers.missing:
                    continue
                most_foreign = MOST_FOREIGN + busy
                measured = measure_quietly(lambda: measure(side, busy), options, most_foreign)
                if measured is not None:
                    result.setdefault((side, busy), Figures("ids/s")).add(measured, most_foreign)
    return result


class Table:
    """Ratios of ours to the strongest peer."""

    def __init__(self):
        self.rows, self.ratios, self.failed, self.rowwise = [], {}, [], {}

    def add(self, shape, optimizer, figures, deviations):
        ours = figures[("ours", False)].rate()
        rates = {side: each.rate(FAST_SHARE if (side, optimizer) == ("tbe", "adagrad") else 0)
                 for (side, busy), each in figures.items() if side != "ours" and not busy}
        if optimizer == "rowwise_adagrad" and "tbe" in rates:
            self.rowwise[shape.text] = rates["tbe"]
        text = f"{optimizer:16} {shape.text:11} {ours / 1e6:7.2f}"
        if rates:
            peer = max(rates, key=rates.get)
            ratio = ours / rates[peer]
            bar = BARS[optimizer][0 if shape.ids == 1 else 2]
            if shape.ids == 1:
                self.ratios.setdefault(optimizer, []).append(ratio)
            text += f" {peer:>6} {rates[peer] / 1e6:7.2f} {ratio:6.2f} {bar:5.1f} "
            text += self.verdict(f"{optimizer} {shape.text}", ratio >= bar)
        else:
            text += "  no peer loads: not judged"
            self.failed.append(f"{optimizer} {shape.text}: not judged")
        if deviations and deviations["ours"] > MOST_DEVIATION:
            text += "  WRONG NUMBERS"
            self.failed.append(f"{optimizer} {shape.text}: numbers")
        if sum(each.flagged for each in figures.values()):
            text += "  (others were busy)"
        for (side, busy), each in figures.items():
            if busy:
                kept = each.rate() / figures[(side, False)].rate()
                text += f"  {side} keeps {100 * kept:.0f} %"
                if side == "ours":
                    what = f"{optimizer} {shape.text} beside a neighbour"
                    text += " " + self.verdict(what, kept >= LEAST_KEPT)
        self.rows.append((optimizer, shape, ours, text))

    def verdict(self, what, passed):
        if not passed:
            self.failed.append(what)
        return "pass" if passed else "FAIL"

    def print(self):
        print("\noptimizer        batch/ids/dim  ours   peer     its  ratio   bar   (M ids/s)")
        for optimizer, shape, ours, text in self.rows:
            rowwise = self.rowwise.get(shape.text)
            if optimizer == "sgd" and rowwise:
                text += f"  to TBE's row-wise Adagrad: {ours / rowwise:.2f}"
            print(text)
        for optimizer, ratios in self.ratios.items():
            bar, median = BARS[optimizer][1], statistics.median(ratios)
            verdict = self.verdict(f"{optimizer} median", median >= bar)
            print(f"{optimizer:16} median of {len(ratios)}{'':19}{median:6.2f} {bar:5.1f} {verdict}")
        print(f"\n{len(self.failed)} missed: {'; '.join(self.failed) or 'none'}")


def parse_options():
    parser = option_parser(__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help="batch/ids per feature/dim,...")
    parser.add_argument("--optimizers", default=",".join(PEERS))
    parser.add_argument("--busy_neighbour", action="store_true",
                        help="each process also beside one that keeps a core busy")
    options = parser.parse_args()
    choice(parser, "--optimizers", options.optimizers, PEERS)
    return options


def main():
    options = parse_options()
    sides = Sides(options, peer_environment(find_jemalloc(options.jemalloc), THREADS))
    table, lines = Table(), Lines(options.output)
    for shape in map(Shape, options.shapes.split(",")):
        with tempfile.TemporaryDirectory() as directory:
            data, checked = directory + "/data", directory + "/check"
            os.mkdir(data)
            os.mkdir(checked)
            sides.ours(shape, "sgd", data, "--repeats", "1", "--steps", "1")
            for optimizer in options.optimizers.split(","):
                deviations = {} if options.no_check else check(sides, shape, optimizer, checked)
                figures = measure_all(sides, options, shape, optimizer, data)
                for (side, busy), each in figures.items():
                    line = {"name": "embedding", "side": side, **shape.parameters(),
                            "optimizer": optimizer, "busy_neighbour": busy, **each.line()}
                    if side in deviations:
                        line["deviation"] = deviations[side]
                    lines.print(line)
                table.add(shape, optimizer, figures, deviations)
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
