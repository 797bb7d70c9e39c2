#!/usr/bin/env python3
"""Criteo's text to numbers with Millrace, polars and pyarrow, alternating in one run.

    bench/peers/ingest.py [--threads 1] [--repeats 5] [--rows 900000] [--quotes]

README.md says how to set it up. All sides read one file of made-up rows in Criteo's format, which
the page cache holds. Ours makes batches of it: labels, logarithms of 13 numbers, 26 hexadecimal ids.
polars parses the numbers and decodes the ids to int64; pyarrow parses the numbers and leaves the
ids as text, which is less. JSON lines go to standard output, a table of medians behind them: rows
per second of processor time, of all threads.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
NUMBERS, IDS = 13, 26
MISSING = (0.45, 0, 0.2, 0.2, 0.03, 0.2, 0.04, 0, 0.04, 0.45, 0.04, 0.75, 0.2)  # of the numbers
SCALES = (3, 100, 20, 6, 20000, 100, 15, 12, 100, 1, 3, 1, 8)
JOB = """
train {
  train_data {
    path: "%s"
    batch_size: 2048
    csv { delimiter: "\\t" column: ["label", "i{1..13}", "c{1..26}"] hexadecimal: "c{1..26}" }
  }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..26}" table: "ids" default_id: 0 }
  table { name: "ids" dim: 8 }
  model { name: "deepfm" }
}
"""


def write_rows(path, rows, mark):
    draw = random.Random(1)
    words = [[f"{draw.getrandbits(32):08x}" for _ in range(10 ** (1 + c % 5))] for c in range(IDS)]
    with open(path, "w") as file:
        for _ in range(rows):
            cells = [str(int(draw.random() < 0.25))]
            for missing, scale in zip(MISSING, SCALES):
                gone = draw.random() < missing
                cells.append("" if gone else str(int(draw.expovariate(1) * scale)))
            for c in range(IDS):
                gone = c % 3 == 2 and draw.random() < 0.08
                cells.append("" if gone else draw.choice(words[c]))
            file.write("\t".join(cell and mark + cell + mark for cell in cells) + "\n")


def read_with_polars(path):
    import polars

    numbers = [f"i{i}" for i in range(1, NUMBERS + 1)]
    ids = [f"c{i}" for i in range(1, IDS + 1)]
    schema = {"label": polars.Int64} | {n: polars.Int64 for n in numbers} | {c: polars.String for c in ids}
    frame = polars.scan_csv(path, separator="\t", has_header=False, schema=schema)
    decoded = [polars.col(c).str.to_integer(base=16, dtype=polars.Int64) for c in ids]
    return frame.with_columns(decoded).collect().height


def read_with_pyarrow(path, threads):
    import pyarrow
    from pyarrow import csv

    pyarrow.set_cpu_count(threads)
    names = ["label"] + [f"i{i}" for i in range(1, NUMBERS + 1)] + [f"c{i}" for i in range(1, IDS + 1)]
    types = {n: pyarrow.int64() if n[0] in "li" else pyarrow.string() for n in names}
    table = csv.read_csv(path, csv.ReadOptions(column_names=names, use_threads=threads > 1),
                         csv.ParseOptions(delimiter="\t"), csv.ConvertOptions(column_types=types))
    return table.num_rows


def measure_peer(side, path, threads):
    """In a process of its own: once to warm up, once measured."""
    read = read_with_polars if side == "polars" else lambda p: read_with_pyarrow(p, threads)
    read(path)

    def used():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    wall, cpu = time.monotonic(), used()
    rows = read(path)
    print(json.dumps({"rows": rows, "rate": rows / (time.monotonic() - wall),
                      "core": rows / (used() - cpu)}))


def run_peer(side, path, options):
    command = [sys.executable, __file__, "--side", side, "--file", path,
               "--threads", str(options.threads)]
    environment = dict(os.environ, POLARS_MAX_THREADS=str(options.threads))
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout
    return json.loads(output)


def run_ours(job, options):
    command = [options.millrace, "bench", "ingest", "--config", job, "--repeats", "1",
               "--threads", str(options.threads)]
    environment = dict(os.environ, OMP_NUM_THREADS="1", GLOG_minloglevel="2")
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout
    lines = [json.loads(line) for line in output.decode().splitlines() if line.startswith("{")]
    medians = {line["name"]: line["median"] for line in lines}
    return {"rate": medians["ingest"], "core": medians["ingest/core"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millrace", default=str(HERE.parents[1] / "bazel-bin/tools/millrace"),
                        help="our program [bazel-bin/tools/millrace]")
    parser.add_argument("--rows", type=int, default=900_000, help="of the file [900000]")
    parser.add_argument("--threads", type=int, default=1, help="of each side [1]")
    parser.add_argument("--repeats", type=int, default=5, help="processes of each side [5]")
    parser.add_argument("--quotes", action="store_true", help="quote every cell that has a value")
    parser.add_argument("--file", help="read this file instead of making one")
    parser.add_argument("--side", choices=["polars", "pyarrow"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        measure_peer(options.side, options.file, options.threads)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or os.path.join(folder, "rows.tsv")
        if not options.file:
            write_rows(path, options.rows, '"' if options.quotes else "")
        job = os.path.join(folder, "job.textproto")
        pathlib.Path(job).write_text(JOB % path)
        figures = {}
        for repeat in range(options.repeats):
            measured = {"ours": run_ours(job, options)}
            for side in ("polars", "pyarrow"):
                measured[side] = run_peer(side, path, options)
            for side, values in measured.items():
                for name in ("rate", "core"):
                    figures.setdefault((side, name), []).append(values[name])
            print(f"repetition {repeat + 1} of {options.repeats} done", file=sys.stderr, flush=True)
    for (side, name), values in figures.items():
        print(json.dumps({"name": f"ingest/{side}/{name}", "threads": options.threads,
                          "median": statistics.median(values), "best": max(values),
                          "values": values}), flush=True)
    medians = {side: statistics.median(figures[side, "core"]) for side in ("ours", "polars", "pyarrow")}
    print("\nrows per second of processor time: " +
          ", ".join(f"{side} {rate:,.0f}" for side, rate in medians.items()))
    missed = []
    if medians["ours"] < 1e6:
        missed.append("ours is below 1,000,000")
    if medians["ours"] < medians["polars"]:
        missed.append("ours is behind polars")
    print(f"missed: {'; '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
