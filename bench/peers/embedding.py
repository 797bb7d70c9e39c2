#!/usr/bin/env python3
"""Embedding steps of Millrace beside those of FBGEMM and PyTorch, alternating in one run.

    bench/peers/embedding.py [--shapes 2048/1/64,8192/1/64] [--optimizers sgd,adam] [--repeats 5]

README.md says how to set it up, docs/benchmarks.md how to read it. One JSON line for each shape,
optimizer and side goes to standard output (and --output), a table of ratios behind them.
"""

import argparse
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

import embedding_peers
from embedding_peers import ADAGRAD_EPSILON, BATCHES, LEARNING_RATE

HERE = pathlib.Path(__file__).resolve().parent
TABLES, ROWS, THREADS = 26, 200000, 2
# The check compares all rows of smaller tables, whose ids repeat more.
CHECK_TABLES, CHECK_ROWS, CHECK_STEPS = 3, 5000, 20
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8
MOST_DEVIATION = 1e-5  # of ours, to the norm of the row
MOST_FOREIGN = 0.15    # cores, or the window is flagged
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


def say(text):
    print(text, file=sys.stderr, flush=True)


class Shape:
    """batch/ids per feature/dim."""

    def __init__(self, text):
        self.text = text
        self.batch, self.ids, self.dim = map(int, text.split("/"))

    def parameters(self):
        return {"batch": self.batch, "ids_per_feature": self.ids, "dim": self.dim}


def busy_cores(seconds):
    """How many cores are in use during that time."""
    ticks = embedding_peers.busy_ticks()
    time.sleep(seconds)
    return (embedding_peers.busy_ticks() - ticks) / os.sysconf("SC_CLK_TCK") / seconds


def wait_for_others(seconds):
    """Until nobody keeps a core busy, but no longer than that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and busy_cores(0.5) > MOST_FOREIGN:
        pass


def find_jemalloc(given):
    if given:
        return given
    for pattern in ("/usr/lib/*/libjemalloc.so.2", "/usr/lib*/libjemalloc.so.2",
                    "/usr/local/lib/libjemalloc.so.2"):
        for path in sorted(glob.glob(pattern)):
            return path
    return ""


def peer_environment(jemalloc):
    environment = dict(os.environ, THP_MEM_ALLOC_ENABLE="1", OMP_NUM_THREADS=str(THREADS))
    if jemalloc:
        environment["LD_PRELOAD"] = jemalloc
        environment["MALLOC_CONF"] = "dirty_decay_ms:-1,muzzy_decay_ms:-1"
    return environment


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
        self.environment = environment
        self.missing = {}  # peer -> why

    def ours(self, shape, optimizer, data, *flags, tables=TABLES, rows=ROWS):
        numbers = {"threads": THREADS, "tables": tables, "rows": rows, **shape.parameters()}
        command = [self.millrace, "bench", "embedding", "--optimizer", optimizer, *flags]
        for name, value in numbers.items():
            command += ["--" + name, str(value)]
        if data:
            command += ["--data", data]
        return [json.loads(line) for line in run(command, None).splitlines()]

    def peer(self, side, shape, optimizer, data, **more):
        job = {"side": side, "optimizer": optimizer, "tables": TABLES, "rows": ROWS,
               "threads": THREADS, "data": data, **shape.parameters(), **more}
        command = [sys.executable, str(HERE / "embedding_peers.py"), json.dumps(job)]
        result = json.loads(run(command, self.environment).splitlines()[-1])
        if "missing" in result:
            self.missing[side] = result["missing"]
            say(f"{side} does not load, going on without it: {result['missing']}")
        return result

    def measure(self, side, shape, optimizer, data):
        """Values and foreign cores of one process; None if it is missing."""
        if side != "ours":
            result = self.peer(side, shape, optimizer, data, windows=self.windows)
            return None if "missing" in result else result
        lines = self.ours(shape, optimizer, "", "--repeats", str(self.windows))
        by_name = {line["name"]: line for line in lines}
        phases = {name.split("/")[1]: line["median"] for name, line in by_name.items()
                  if line["unit"] == "ms"}
        return {"values": by_name["embedding"]["values"],
                "foreign": by_name["embedding/foreign"]["values"], "phases": phases}


def run(command, environment):
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr[-2000:]}")
    return result.stdout


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
        if side in sides.missing:
            continue
        if side != "ours" and "missing" in sides.peer(side, shape, optimizer, directory,
                                                      steps=CHECK_STEPS, **small):
            continue
        after = weights("after" if side == "ours" else side)
        deviations = numpy.linalg.norm(after - expected, axis=2) / norms
        result[side] = float(deviations.max())
    return result


class Figures:
    """What the processes of one side measured for one shape and optimizer."""

    def __init__(self):
        self.values, self.flagged, self.foreign, self.phases = [], 0, [], []

    def add(self, measured, most_foreign):
        """The median of the clean windows, or of all if none is, as one value."""
        windows = list(zip(measured["values"], measured["foreign"]))
        clean = [window for window in windows if window[1] <= most_foreign]
        self.flagged += not clean
        used = clean or windows
        self.values.append(statistics.median(value for value, _ in used))
        self.foreign.append(max(foreign for _, foreign in used))
        if "phases" in measured:
            self.phases.append(measured["phases"])

    def line(self):
        line = {"unit": "ids/s", "median": statistics.median(self.values),
                "best": max(self.values), "repeats": len(self.values), "values": self.values,
                "foreign_cores": max(self.foreign), "flagged": self.flagged}
        if self.phases:
            line["phases_ms"] = {name: statistics.median(each[name] for each in self.phases)
                                 for name in self.phases[0]}
        return line

    def rate(self, fast_only=False):
        least = FAST_SHARE * max(self.values) if fast_only else 0
        return statistics.median(value for value in self.values if value >= least)


def measure_all(sides, options, shape, optimizer, data):
    """Figures by side and whether a neighbour was busy."""
    result = {}
    for _ in range(options.repeats):
        for side in ["ours", *PEERS[optimizer]]:
            for busy in ([False, True] if options.busy_neighbour else [False]):
                most_foreign = MOST_FOREIGN + busy
                measured = None
                for _ in range(options.tries):
                    if side in sides.missing:
                        break
                    wait_for_others(options.patience)
                    with BusyNeighbour(busy):
                        measured = sides.measure(side, shape, optimizer, data)
                    if measured is None or min(measured["foreign"]) <= most_foreign:
                        break
                if measured is not None:
                    result.setdefault((side, busy), Figures()).add(measured, most_foreign)
    return result


class Table:
    """Ratios of ours to the strongest peer."""

    def __init__(self):
        self.rows, self.ratios, self.failed, self.rowwise = [], {}, [], {}

    def add(self, shape, optimizer, figures, deviations):
        ours = figures[("ours", False)].rate()
        rates = {side: each.rate(fast_only=(side, optimizer) == ("tbe", "adagrad"))
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millrace", default=str(HERE.parents[1] / "bazel-bin/tools/millrace"),
                        help="our program [bazel-bin/tools/millrace]")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="batch/ids per feature/dim,...")
    parser.add_argument("--optimizers", default=",".join(PEERS))
    parser.add_argument("--repeats", type=int, default=5, help="processes of each side [5]")
    parser.add_argument("--windows", type=int, default=3, help="measurements in a process [3]")
    parser.add_argument("--tries", type=int, default=3,
                        help="times a process is run while others are busy [3]")
    parser.add_argument("--patience", type=float, default=60,
                        help="seconds to wait before a process while others are busy [60]")
    parser.add_argument("--busy_neighbour", action="store_true",
                        help="each process also beside one that keeps a core busy")
    parser.add_argument("--no_check", action="store_true", help="leave out the check of numbers")
    parser.add_argument("--jemalloc", default="", help="library to preload for peers [found]")
    parser.add_argument("--output", help="file for the JSON lines too")
    options = parser.parse_args()
    for name in options.optimizers.split(","):
        if name not in PEERS:
            parser.error(f"--optimizers: {name} is none of {', '.join(PEERS)}")
    return options


def main():
    options = parse_options()
    jemalloc = find_jemalloc(options.jemalloc)
    say(f"peers preload {jemalloc or 'nothing: no jemalloc found, their figures will be lower'}")
    sides = Sides(options, peer_environment(jemalloc))
    table = Table()
    output = open(options.output, "w") if options.output else None
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
                    for stream in filter(None, (sys.stdout, output)):
                        print(json.dumps(line), file=stream, flush=True)
                table.add(shape, optimizer, figures, deviations)
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
