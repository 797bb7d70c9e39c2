#!/usr/bin/env python3
"""Measures how soon a job trains again after one of its ranks was killed.

    ./bazelw build //tools:millrace
    tests/campaigns/restart_time.py [--ranks N] [--repeats N] [--program FILE]

Trains examples/dense.textproto with `launch --max_restarts 1`, a checkpoint every 50 steps and a report after
every step. When step 120 is reported, SIGKILL ends the last rank. Prints for each run and as median the
seconds from the signal until

    starting   the launcher says that it starts all ranks again
    resuming   rank 0 says from which checkpoint it resumes
    step       the first step after the restart is reported, that is finished

Runs in a folder of its own under $TMPDIR. Exits with 1 if a run does not come that far.
"""
import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KILL_AT = "[0] step 120 "
# What a line on stderr holds, in this order after the kill.
MARKS = (("starting", "starting all ranks again"), ("resuming", "resuming from "), ("step", "[0] step "))


def process_of_rank(launcher, rank):
    """The child of the launcher that has this rank."""
    with open("/proc/%d/task/%d/children" % (launcher, launcher)) as children:
        for child in map(int, children.read().split()):
            with open("/proc/%d/environ" % child, "rb") as environment:
                if b"RANK=%d" % rank in environment.read().split(b"\0"):
                    return child
    raise RuntimeError("rank %d does not run" % rank)


def start(options, folder, number):
    command = [options.program, "launch", "-n", str(options.ranks), "--max_restarts", "1", "--", "train",
               os.path.join(ROOT, "examples", "dense.textproto"), "--output_dir", "out/run-%d" % number,
               "--set", "run.report.when={every_steps: 1}", "--set", "run.checkpoint.when={every_steps: 50}"]
    return subprocess.Popen(command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def measure(options, folder, number):
    """Kills a rank of one run. Returns the seconds until each mark."""
    launcher = start(options, folder, number)
    seconds, begin = {}, None
    for line in launcher.stderr:
        now = time.monotonic()
        if begin is None and line.startswith(KILL_AT):
            begin = now
            os.kill(process_of_rank(launcher.pid, options.ranks - 1), signal.SIGKILL)
        elif begin is not None:
            name, text = MARKS[len(seconds)]
            if text in line:
                seconds[name] = now - begin
            if len(seconds) == len(MARKS):
                break
    launcher.terminate()
    for _ in launcher.stderr:  # until all have ended
        pass
    launcher.wait()
    if len(seconds) < len(MARKS):
        raise RuntimeError("run %d ended with code %d before it trained again" % (number, launcher.returncode))
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--program", default=os.path.join(ROOT, "bazel-bin", "tools", "millrace"))
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    names = [name for name, _ in MARKS]
    runs = []
    print("run     " + "".join("%10s" % name for name in names))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.repeats):
            runs.append(measure(options, folder, number))
            print("%-8d" % number + "".join("%10.2f" % runs[-1][name] for name in names), flush=True)
    print("median  " + "".join("%10.2f" % statistics.median(run[name] for run in runs) for name in names))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit("restart_time.py: %s" % error)
