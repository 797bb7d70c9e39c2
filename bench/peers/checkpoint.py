#!/usr/bin/env python3
"""Saving and loading full tables with Millrace, torch.save and safetensors, alternating in one run.

    bench/peers/checkpoint.py --directory /var/tmp/checkpoints [--repeats 5] [--rows 384616]

README.md says how to set it up. Each repetition is one process of each side: it makes the same
tables (ids, weights, two slots, frequencies, last steps), saves them until they are on the disk,
has the page cache forget the files, and loads them. Beside them a raw write and a raw read of as
many bytes, which `millrace bench checkpoint` makes. JSON lines go to standard output, a table of
medians behind them.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TABLES, DIM = 26, 32


def forget(path):
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def sync(path):
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def make_tables(rows):
    import torch

    torch.manual_seed(1)
    tables = {}
    for table in range(TABLES):
        for name in ("weights", "slot/exp_avg", "slot/exp_avg_sq"):
            tables[f"table/t{table}/{name}"] = torch.randn(rows, DIM)
        for name in ("ids", "frequency", "last_step"):
            tables[f"table/t{table}/{name}"] = torch.randint(0, 2**31, (rows,))
    return tables


def measure_peer(side, path, rows):
    """In a process of its own. Prints seconds and bytes as JSON."""
    import torch

    torch.set_num_threads(2)
    tables = make_tables(rows)
    if side == "torch":
        save = lambda: torch.save(tables, path)
        load = lambda: torch.load(path, map_location="cpu", weights_only=True)
    else:
        import safetensors.torch

        save = lambda: safetensors.torch.save_file(tables, path)
        load = lambda: safetensors.torch.load_file(path)
    start = time.monotonic()
    save()
    sync(path)
    saved = time.monotonic() - start
    size = os.path.getsize(path)
    checks = {name: float(tensor.sum()) for name, tensor in tables.items()}
    tables = None
    forget(path)
    start = time.monotonic()
    tables = load()
    for tensor in tables.values():  # what was mapped only is not loaded yet
        tensor.flatten()[::4096 // tensor.element_size()].sum()
    loaded = time.monotonic() - start
    assert all(float(tables[name].sum()) == check for name, check in checks.items())
    print(json.dumps({"save": size / 1e6 / saved, "load": size / 1e6 / loaded, "bytes": size}))


def run_peer(side, options):
    path = os.path.join(options.directory, side)
    command = [sys.executable, __file__, "--side", side, "--directory", options.directory,
               "--rows", str(options.rows)]
    try:
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    finally:
        if os.path.exists(path):
            os.unlink(path)


def run_ours(options):
    command = [options.millrace, "bench", "checkpoint", "--directory", options.directory,
               "--rows", str(options.rows), "--tables", str(TABLES), "--dim", str(DIM),
               "--optimizer", "adam", "--threads", "2", "--repeats", "1"]
    environment = dict(os.environ, OMP_NUM_THREADS="1", GLOG_minloglevel="2")
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout
    figures = {}
    for line in output.decode().splitlines():
        if line.startswith("{"):
            measured = json.loads(line)
            figures[measured["name"].removeprefix("checkpoint/")] = measured["median"]
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millrace", default=str(HERE.parents[1] / "bazel-bin/tools/millrace"),
                        help="our program [bazel-bin/tools/millrace]")
    parser.add_argument("--directory", required=True, help="on the disk that is measured")
    parser.add_argument("--rows", type=int, default=384616, help="of each of 26 tables [384616]")
    parser.add_argument("--repeats", type=int, default=5, help="processes of each side [5]")
    parser.add_argument("--side", choices=["torch", "safetensors"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        measure_peer(options.side, os.path.join(options.directory, options.side), options.rows)
        return 0
    os.makedirs(options.directory, exist_ok=True)
    figures = {}
    for repeat in range(options.repeats):
        ours = run_ours(options)
        for side in ("torch", "safetensors"):
            for what, rate in run_peer(side, options).items():
                ours[f"{side}/{what}"] = rate
        for name, value in ours.items():
            figures.setdefault(name, []).append(value)
        print(f"repetition {repeat + 1} of {options.repeats} done", file=sys.stderr, flush=True)
    for name, values in figures.items():
        print(json.dumps({"name": f"checkpoint/{name}", "rows": options.rows * TABLES,
                          "median": statistics.median(values), "values": values}), flush=True)
    missed = []
    print("\n        ours  raw  torch  safetensors  (MB/s, medians)")
    for what, raw in (("save", "raw_write"), ("load", "raw_read")):
        medians = [statistics.median(figures[name])
                   for name in (what, raw, f"torch/{what}", f"safetensors/{what}")]
        ratio = statistics.median(figures[f"{what}/{raw}"])
        print(f"{what}  {medians[0]:7.0f} {medians[1]:5.0f} {medians[2]:6.0f} {medians[3]:8.0f}"
              f"   {ratio:.2f} of raw")
        if ratio < 0.9:
            missed.append(f"{what} is {ratio:.2f} of raw, not 0.9")
        if medians[0] < max(medians[2:]):
            missed.append(f"{what} is behind a peer")
    print(f"missed: {'; '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
