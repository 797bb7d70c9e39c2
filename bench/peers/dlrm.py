#!/usr/bin/env python3
"""Training steps of DLRM with Millrace beside PyTorch and FBGEMM, alternating in one run.

    bench/peers/dlrm.py --data DIR [--batches 512,2048,8192] [--computes float32,bfloat16]

The model has the Criteo-Kaggle shape (dlrm_data.py), tables are trained by row-wise Adagrad and
the dense part by Adagrad, all on the same batches from memory. README.md says how to set it up and
what is compared. One JSON line for each batch, precision and side goes to standard output (and
--output), a table of ratios behind them.
"""

import os
import pathlib
import sys

import dlrm_data
from measuring import (Figures, Lines, Peers, choice, find_jemalloc, measure_quietly,
                       option_parser, peer_environment, run_ours, say)

HERE = pathlib.Path(__file__).resolve().parent
THREADS = 2
SIDES = ["ours", "tbe", "tbe_compiled", "torch", "torch_compiled"]
# What the processor must have for products in bfloat16 to be fast.
FAST_BFLOAT16 = ("amx_bf16", "avx512_bf16")
LEAST_RATIO = 1.05  # to the strongest peer
CHECK_BATCH, CHECK_STEPS = 512, 20
MOST_DEVIATION = {"float32": 1e-4, "bfloat16": 1e-2}  # of losses


def computes_of_machine():
    with open("/proc/cpuinfo") as file:
        flags = next((line.split() for line in file if line.startswith("flags")), [])
    return ["float32"] + ["bfloat16"] * any(flag in flags for flag in FAST_BFLOAT16)


class Sides:
    """Runs processes of ours and of peers."""

    def __init__(self, options, environment):
        self.options = options
        self.peers = Peers(HERE / "dlrm_peers.py", environment)

    def peer(self, side, batch, compute, losses=0, windows=0):
        return self.peers.run(side, batch=batch, compute=compute, losses=losses, windows=windows,
                              threads=THREADS, data=self.options.data)

    def ours(self, batch, compute):
        lines = run_ours([self.options.millrace, "bench", "dense",
                          "--config", os.path.join(self.options.data, dlrm_data.CONFIG),
                          "--batch", str(batch), "--compute", compute, "--threads", str(THREADS),
                          "--repeats", str(self.options.windows)])
        phases = {name.split("/")[1]: line["median"] for name, line in lines.items()
                  if line["unit"] in ("ms", "share of the step", "GFLOP/s")}
        return {"values": lines["dense/examples_per_second"]["values"],
                "foreign": lines["dense/foreign"]["values"], "phases": phases}

    def measure(self, side, batch, compute):
        """Values and foreign cores of one process; None if it is missing."""
        if side == "ours":
            return self.ours(batch, compute)
        return self.peer(side, batch, compute, windows=self.options.windows)


def check(sides, names, computes):
    """Peers whose losses are not those of the first peer; all begin with equal weights."""
    wrong = []
    for compute in computes:
        expected = None
        for side in names:
            result = None
            if side != "ours" and side not in sides.peers.missing:
                result = sides.peer(side, CHECK_BATCH, compute, losses=CHECK_STEPS)
            if result is None:
                continue
            expected = expected or result["losses"]
            deviation = max(abs(a - b) for a, b in zip(result["losses"], expected))
            say(f"{side} {compute}: losses from {result['losses'][0]:.4f} to "
                f"{result['losses'][-1]:.4f}, deviate by {deviation:.1e}")
            if not deviation <= MOST_DEVIATION[compute]:
                wrong.append(f"{side} {compute}: numbers")
    return wrong


def measure_all(sides, names, options, batch, compute):
    """Figures by side."""
    result = {}
    for _ in range(options.repeats):
        for side in names:
            if side in sides.peers.missing:
                continue
            measured = measure_quietly(lambda: sides.measure(side, batch, compute), options)
            if measured is not None:
                result.setdefault(side, Figures("examples/s")).add(measured)
    return result


class Table:
    """Ratios of ours to the strongest peer of the same precision."""

    def __init__(self, failed):
        self.rows, self.failed = [], failed

    def add(self, batch, compute, figures):
        what = f"{compute} {batch}"
        rates = {side: each.rate() for side, each in figures.items() if side != "ours"}
        text = f"{compute:9} {batch:6}"
        if "ours" in figures:
            ours = figures["ours"]
            share = ours.median_phases()["matrix_product_share"]
            text += f" {ours.rate() / 1e3:7.1f} ({max(ours.values) / 1e3:5.1f}) {100 * share:4.0f} %"
        if rates:
            peer = max(rates, key=rates.get)
            best = max(figures[peer].values)
            text += f" {peer:>15} {rates[peer] / 1e3:7.1f} ({best / 1e3:5.1f})"
        if rates and "ours" in figures:
            ratio = ours.rate() / rates[peer]
            passed = ratio >= LEAST_RATIO
            text += f" {ratio:6.2f} {'pass' if passed else 'FAIL'}"
            if not passed:
                self.failed.append(what)
        else:
            self.failed.append(f"{what}: not judged")
        if sum(each.flagged for each in figures.values()):
            text += "  (others were busy)"
        self.rows.append(text)

    def print(self):
        print(f"\nprecision  batch    ours (best) products       strongest     its (best)   ratio"
              f"  bar {LEAST_RATIO}   (k examples/s)")
        for text in self.rows:
            print(text)
        print(f"\n{len(self.failed)} missed: {'; '.join(self.failed) or 'none'}")


def parse_options():
    parser = option_parser(__doc__.splitlines()[0])
    known = ["float32", "bfloat16"]
    parser.add_argument("--data", required=True,
                        help="directory for the data, which is made where it is missing (50 MB)")
    parser.add_argument("--batches", default="512,2048,8192", help="[512,2048,8192]")
    parser.add_argument("--computes", default=",".join(computes_of_machine()),
                        help="precisions [float32, and bfloat16 where the processor has it]")
    parser.add_argument("--sides", default=",".join(SIDES), help=f"[{','.join(SIDES)}]")
    options = parser.parse_args()
    options.batches = [int(text) for text in options.batches.split(",")]
    options.computes = choice(parser, "--computes", options.computes, known)
    options.sides = choice(parser, "--sides", options.sides, SIDES)
    return options


def main():
    options = parse_options()
    most = max(options.batches + ([] if options.no_check else [CHECK_BATCH]))
    dlrm_data.provide(options.data, most)
    environment = peer_environment(find_jemalloc(options.jemalloc), THREADS)
    # What torch.compile made in one process serves the next.
    environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.abspath(options.data) + "/compiled"
    sides, lines = Sides(options, environment), Lines(options.output)
    table = Table([] if options.no_check else check(sides, options.sides, options.computes))
    for compute in options.computes:
        for batch in options.batches:
            figures = measure_all(sides, options.sides, options, batch, compute)
            for side, each in figures.items():
                lines.print({"name": "dlrm", "side": side, "batch": batch, "compute": compute,
                             "threads": THREADS, **each.line()})
            table.add(batch, compute, figures)
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
