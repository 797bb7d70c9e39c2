#!/usr/bin/env python3
"""Measures how soon a job trains again after one of its ranks was killed.

    ./bazelw build //tools:millrace
    tests/campaigns/restart_time.py [--job dense|quickstart|rows] [--rows N] [--ranks N] [--repeats N]
                                    [--program FILE]

Trains a job with `launch --max_restarts 1` and a report after every step:

    dense       examples/dense.textproto, without a table; a checkpoint every 50 steps, killed at step 120
    quickstart  examples/quickstart.textproto, with 26 tables; the same
    rows        one table of --rows [10,000,000] rows of dim 16 with row-wise Adagrad, which the first 100
                steps insert; a checkpoint after them, killed at step 110

At that step SIGKILL ends the last rank. Prints for each run and as median the seconds from the signal until

    starting   the launcher says that it starts all ranks again
    resuming   rank 0 says from which checkpoint it resumes
    step       the first step after the restart is reported, that is finished

Runs in a folder of its own under $TMPDIR. Exits with 1 if a run does not come that far.
"""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import rank_processes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What a line on stderr holds, in this order after the kill.
MARKS = (("starting", "starting all ranks again"), ("resuming", "resuming from "), ("step", "[0] step "))
# Steps between checkpoints, and the step of the kill.
STEPS = {"dense": (50, 120), "quickstart": (50, 120), "rows": (100, 110)}
STEPS_OF_ROWS, IDS_OF_EXAMPLE = 100, 200
JOB_OF_ROWS = """train {
  train_data { path: "ids.csv" csv { list_delimiter: "|" } batch_size: %d }
  feature { name: "label" kind: LABEL }
  feature { name: "id" }
  table { name: "id" dim: 16 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [16] } }
  sparse_optimizer { learning_rate: 0.01 rowwise_adagrad {} }
  max_epochs: 3
}
run { distributed { collective_timeout_seconds: 120 } }
"""


def write_rows(options, folder):
    """Writes examples whose ids all differ, and their job. Returns the job."""
    examples = options.rows // IDS_OF_EXAMPLE
    with open(os.path.join(folder, "ids.csv"), "w") as data:
        data.write("label,id\n")
        for example in range(examples):
            first = example * IDS_OF_EXAMPLE
            data.write("%d,%s\n" % (example % 2, "|".join(map(str, range(first, first + IDS_OF_EXAMPLE)))))
    job = os.path.join(folder, "rows.textproto")
    with open(job, "w") as file:
        file.write(JOB_OF_ROWS % (examples // STEPS_OF_ROWS // options.ranks))
    return job


def process_of_rank(launcher, rank):
    """The child of the launcher that has this rank."""
    process = rank_processes.ranks_of(launcher).get(rank)
    if process is None:
        raise RuntimeError("rank %d does not run" % rank)
    return process


def start(options, folder, number):
    command = [options.program, "launch", "-n", str(options.ranks), "--max_restarts", "1", "--", "train",
               options.config, "--output_dir", "out/run-%d" % number,
               "--set", "run.report.when={every_steps: 1}", "--set", "run.evaluation.enabled=false",
               "--set", "run.checkpoint.when={every_steps: %d}" % STEPS[options.job][0]]
    return subprocess.Popen(command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def measure(options, folder, number):
    """Kills a rank of one run. Returns the seconds until each mark."""
    launcher = start(options, folder, number)
    seconds, begin = {}, None
    for line in launcher.stderr:
        now = time.monotonic()
        if begin is None and line.startswith("[0] step %d " % STEPS[options.job][1]):
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
    parser.add_argument("--job", choices=sorted(STEPS), default="quickstart")
    parser.add_argument("--rows", type=int, default=10000000)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--program", default=os.path.join(ROOT, "bazel-bin", "tools", "millrace"))
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    names = [name for name, _ in MARKS]
    runs = []
    print("run     " + "".join("%10s" % name for name in names))
    with tempfile.TemporaryDirectory() as folder:
        options.config = os.path.join(ROOT, "examples", options.job + ".textproto")
        if options.job == "rows":
            options.config = write_rows(options, folder)
        for number in range(options.repeats):
            runs.append(measure(options, folder, number))
            shutil.rmtree(os.path.join(folder, "out", "run-%d" % number))
            print("%-8d" % number + "".join("%10.2f" % runs[-1][name] for name in names), flush=True)
    print("median  " + "".join("%10.2f" % statistics.median(run[name] for run in runs) for name in names))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit("restart_time.py: %s" % error)
