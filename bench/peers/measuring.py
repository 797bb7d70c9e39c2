"""What comparisons with peers share: processes that take turns, their windows, and foreign CPU time.

Used by the drivers (embedding.py, dlrm.py) and by the processes of peers that they start. Nothing
here imports PyTorch.
"""

import argparse
import glob
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCHES = 8                 # that take turns, as in the benchmarks of Millrace
WARM_UP_STEPS = 3 * BATCHES
MOST_WARM_UP_SECONDS = 5.0
WINDOW_SECONDS = 1.5
MOST_FOREIGN = 0.15         # cores, or the window is flagged


def say(text):
    print(text, file=sys.stderr, flush=True)


def busy_ticks():
    """Clock ticks of all processors in processes, interrupts and other machines (man 5 proc)."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, soft_irq, stolen = map(int, stat.readline().split()[1:9])
    return user + nice + system + irq + soft_irq + stolen


def busy_cores(seconds):
    """How many cores are in use during that time."""
    ticks = busy_ticks()
    time.sleep(seconds)
    return (busy_ticks() - ticks) / os.sysconf("SC_CLK_TCK") / seconds


def wait_for_others(seconds):
    """Until nobody keeps a core busy, but no longer than that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and busy_cores(0.5) > MOST_FOREIGN:
        pass


def measure_windows(step, per_step, windows):
    """Warms up and measures: {"values": [a second], "foreign": [cores]}, one of each a window.

    step(number) makes one step with the batch of that number; per_step is what a step counts.
    """
    def run(least_steps, most_steps, least_seconds):
        """Steps taken, and seconds of them."""
        start, steps = time.perf_counter(), 0
        while steps < most_steps:
            step(steps % BATCHES)
            steps += 1
            if steps >= least_steps and time.perf_counter() - start >= least_seconds:
                break
        return steps, time.perf_counter() - start

    run(1, WARM_UP_STEPS, MOST_WARM_UP_SECONDS)
    values, foreign = [], []
    for _ in range(windows):
        busy, own = busy_ticks(), time.process_time()
        steps, seconds = run(BATCHES, math.inf, WINDOW_SECONDS)
        own = time.process_time() - own
        busy = (busy_ticks() - busy) / os.sysconf("SC_CLK_TCK")
        values.append(steps * per_step / seconds)
        foreign.append(max(0.0, (busy - own) / seconds))
    return {"values": values, "foreign": foreign}


def find_jemalloc(given):
    if given:
        return given
    for pattern in ("/usr/lib/*/libjemalloc.so.2", "/usr/lib*/libjemalloc.so.2",
                    "/usr/local/lib/libjemalloc.so.2"):
        for path in sorted(glob.glob(pattern)):
            return path
    return ""


def peer_environment(jemalloc, threads):
    """The best one that we know for PyTorch. Says what it preloads."""
    say(f"peers preload {jemalloc or 'nothing: no jemalloc found, their figures will be lower'}")
    environment = dict(os.environ, THP_MEM_ALLOC_ENABLE="1", OMP_NUM_THREADS=str(threads))
    if jemalloc:
        environment["LD_PRELOAD"] = jemalloc
        environment["MALLOC_CONF"] = "dirty_decay_ms:-1,muzzy_decay_ms:-1"
    return environment


def run(command, environment):
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr[-2000:]}")
    return result.stdout


def run_ours(command):
    """The lines of a benchmark of Millrace, by name."""
    return {line["name"]: line for line in map(json.loads, run(command, None).splitlines())}


class Peers:
    """Processes of a peer's program, each with a job as JSON; remembers which peers do not load."""

    def __init__(self, program, environment):
        self.program = program
        self.environment = environment
        self.missing = {}  # peer -> why

    def run(self, side, **job):
        """The JSON that the process prints last; None if there is no such peer."""
        command = [sys.executable, str(self.program), json.dumps({"side": side, **job})]
        result = json.loads(run(command, self.environment).splitlines()[-1])
        if "missing" not in result:
            return result
        self.missing[side] = result["missing"]
        say(f"{side} does not load, going on without it: {result['missing']}")
        return None


def measure_quietly(measure, options, most_foreign=MOST_FOREIGN):
    """What measure() returns, again while others are busy, options.tries times in all."""
    for _ in range(options.tries):
        wait_for_others(options.patience)
        measured = measure()
        if measured is None or min(measured["foreign"]) <= most_foreign:
            break
    return measured


class Figures:
    """What the processes of one side measured."""

    def __init__(self, unit):
        self.unit = unit
        self.values, self.flagged, self.foreign, self.phases = [], 0, [], []

    def add(self, measured, most_foreign=MOST_FOREIGN):
        """The median of the clean windows, or of all if none is, as one value."""
        windows = list(zip(measured["values"], measured["foreign"]))
        clean = [window for window in windows if window[1] <= most_foreign]
        self.flagged += not clean
        used = clean or windows
        self.values.append(statistics.median(value for value, _ in used))
        self.foreign.append(max(foreign for _, foreign in used))
        if "phases" in measured:
            self.phases.append(measured["phases"])

    def median_phases(self):
        return {name: statistics.median(each[name] for each in self.phases)
                for name in (self.phases[0] if self.phases else ())}

    def line(self):
        line = {"unit": self.unit, "median": statistics.median(self.values),
                "best": max(self.values), "repeats": len(self.values), "values": self.values,
                "foreign_cores": max(self.foreign), "flagged": self.flagged}
        if self.phases:
            line["phases_ms"] = self.median_phases()
        return line

    def rate(self, least_share=0):
        """The median of the values that are at least that share of the best."""
        least = least_share * max(self.values)
        return statistics.median(value for value in self.values if value >= least)


class Lines:
    """JSON lines to standard output and, if wanted, to a file."""

    def __init__(self, path):
        self.streams = [sys.stdout] + ([open(path, "w")] if path else [])

    def print(self, line):
        for stream in self.streams:
            print(json.dumps(line), file=stream, flush=True)


def option_parser(description):
    """A parser with the options of all comparisons."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--millrace", default=str(ROOT / "bazel-bin/tools/millrace"),
                        help="our program [bazel-bin/tools/millrace]")
    parser.add_argument("--repeats", type=int, default=5, help="processes of each side [5]")
    parser.add_argument("--windows", type=int, default=3, help="measurements in a process [3]")
    parser.add_argument("--tries", type=int, default=3,
                        help="times a process is run while others are busy [3]")
    parser.add_argument("--patience", type=float, default=60,
                        help="seconds to wait before a process while others are busy [60]")
    parser.add_argument("--no_check", action="store_true", help="leave out the check of numbers")
    parser.add_argument("--jemalloc", default="", help="library to preload for peers [found]")
    parser.add_argument("--output", help="file for the JSON lines too")
    return parser


def choice(parser, option, text, known):
    """The names of a comma-separated option, each of which must be known."""
    names = text.split(",")
    for name in names:
        if name not in known:
            parser.error(f"{option}: {name} is none of {', '.join(known)}")
    return names
