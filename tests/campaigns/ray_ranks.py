#!/usr/bin/env python3
"""Runs jobs by `millrace.ray` on a real Ray cluster, and kills their ranks, actors, nodes and drivers.

    ./bazelw test_setup ray    # names the environment that it makes
    ./bazelw build //tools:millrace
    ~/.cache/millrace/test-venv-ray-*/bin/python3 tests/campaigns/ray_ranks.py
        [--job dense|quickstart] [--repeats N] [--program FILE] [CASE...]

Starts a cluster of three nodes of one CPU each on this machine, and trains with three ranks, one per node, with
a checkpoint every 50 steps. The cases, by default all:

    finish    all ranks finish: code 0, the summary has all steps
    stop      Job.stop(): code 75 with a checkpoint; the same call resumes
    ctrl_c    SIGINT to the process group of the driver: the same
    usage     a wrong field in the configuration: MillraceError with code 64 and the error
    rank      SIGKILL to a rank: a restart with three ranks
    preempt   SIGTERM to a rank, which nobody requested: a restart from the checkpoint of all ranks
    actor     SIGKILL to the actor of a rank: a restart with three ranks
    node      SIGKILL to the processes of Ray of a node, not the head: a restart with two ranks; another node
              replaces it afterwards
    driver    SIGKILL to the driver: no rank is left

Prints for each run the seconds from the signal until all ranks are started again (`starting`), until rank 0
says that it resumes, and until the first step after that is finished, then the seconds of the whole run, and
for each case the medians. After each run no process of its ranks may be left after 10 seconds. A run may take
300 seconds. A case that ends in another way than expected is printed as FAILED; the exit code is then 1.

A raylet aborts if its agent needs longer than 15 s to start, so each node is tried up to five times: run the
campaign on a machine that is not loaded.
"""
import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import rank_processes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARKER = "MILLRACE_RAY_CASE"  # a variable of the ranks, which tells them from other processes
RANKS = 3
CHECKPOINT, KILLED = 50, 120  # steps between checkpoints, and the step of the kill
SECONDS_OF_RUN = 300
TRIES_OF_START = 5  # of a node of Ray
NODE = {"num_cpus": 1, "no_monitor": True, "include_log_monitor": False}  # no process that the cases do not need
SECONDS_LEFT_OVER = 10
STEP = re.compile(r"\[rank 0\] step (\d+)\b")
MARKS = (("starting", re.compile("starting all ranks again")),
         ("resuming", re.compile(r"\[rank 0\] .*resuming from ")), ("step", STEP))

# case: (arguments, the end as the driver prints it, whether a restart is measured)
CASES = {
    "finish": (["--max_steps", "200"], r"end 0 restarts=0 ranks=3 steps=200", False),
    "stop": ([], r"end 75 restarts=0 ranks=3 steps=\d+", False),
    "ctrl_c": ([], r"end 75 restarts=0 ranks=3 steps=\d+", False),
    "usage": (["--set", "train.bach_size=1"], r"error 64 restarts=0 .*bach_size", False),
    "rank": ([], r"end 75 restarts=1 ranks=3 steps=\d+", True),
    "preempt": ([], r"end 75 restarts=1 ranks=3 steps=\d+", True),
    "actor": ([], r"end 75 restarts=1 ranks=3 steps=\d+", True),
    "node": ([], r"end 75 restarts=1 ranks=2 steps=\d+", True),
    "driver": ([], r"", False),
}


class CaseError(Exception):
  """A run ended in another way than it had to."""


def drive(options):
  """The driver of one run, a process of its own; `stop` on its standard input stops the job."""
  import ray  # pylint: disable=import-outside-toplevel
  sys.path.insert(0, os.path.join(ROOT, "tools", "package"))
  import millrace.ray  # pylint: disable=import-outside-toplevel
  ray.init(address=options.address, logging_level="warning")
  options.arguments += ["--max_epochs", "1000"]  # until --max_steps, or until it is stopped
  configuration = os.path.join(ROOT, "examples", options.job + ".textproto")
  arguments = ["--output_dir", "out", "--set", "run.report.when={every_steps: 1}", "--set",
               "run.evaluation.enabled=false", "--set", "run.checkpoint.when={every_steps: %d}" % CHECKPOINT]
  how = dict(program=options.program, args=arguments + options.arguments, folder=options.folder,
             env={MARKER: options.case}, restart_seconds=5, strategy="SPREAD")
  try:
    if options.case == "stop":
      job = millrace.ray.start(configuration, RANKS, **how)
      threading.Thread(target=lambda: sys.stdin.readline() and job.stop(), daemon=True).start()
      result = job.wait()
    else:
      result = millrace.ray.run(configuration, RANKS, **how)
    print("end %d restarts=%d ranks=%d steps=%s" % (result.exit_code, result.restarts, result.ranks,
                                                   (result.summary or {}).get("steps")), flush=True)
  except millrace.ray.MillraceError as error:
    print("error %d restarts=%d %s" % (error.exit_code, error.restarts, error), flush=True)


def processes_of(case):
  """Returns (process, its rank, True for the guard of a rank) of a run."""
  found = []
  for process in rank_processes.all_processes():
    variables = rank_processes.variables_of(process)
    if variables.get(MARKER.encode()) == case.encode():
      command = rank_processes.command_of(process)
      found.append((process, int(variables[b"RANK"]), command[1:2] == [b"-c"]))
  return found


def process_of(case, rank, guard=False):
  for process, number, guards in processes_of(case):
    if (number, guards) == (rank, guard):
      return process
  raise CaseError("rank %d does not run" % rank)


def parent_of(process):
  with open("/proc/%d/stat" % process, encoding="utf-8") as file:
    return int(file.read().rsplit(")", 1)[1].split()[1])


def start_again(start):
  """Returns start(), tried several times: a raylet aborts if its agent does not start within 15 s."""
  for tries in range(TRIES_OF_START, 0, -1):
    try:
      return start()
    except Exception as error:  # Ray raises no other class
      if tries == 1:
        raise CaseError("Ray does not start: %s" % error) from None
  return None


class Nodes:
  """The cluster."""

  def __init__(self):
    # A busy machine needs longer to start Ray.
    for name, value in (("raylet_start_wait_time_s", 60), ("worker_register_timeout_seconds", 600),
                        ("agent_register_timeout_ms", 600000), ("worker_niceness", 0)):
      os.environ.setdefault("RAY_" + name, str(value))
    from ray.cluster_utils import Cluster  # pylint: disable=import-outside-toplevel
    self.cluster = start_again(
        lambda: Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **NODE}))
    self.nodes = []  # without the head
    self.fill()

  def fill(self):
    while len(self.nodes) < RANKS - 1:
      self.nodes.append(start_again(lambda: self.cluster.add_node(**NODE)))

  def kill_one(self):
    self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)


def act(case, driver, nodes):
  """Does to a job that trains what the case is about."""
  last = RANKS - 1
  if case == "stop":
    driver.stdin.write("stop\n")
    driver.stdin.flush()
  elif case == "ctrl_c":
    os.killpg(driver.pid, signal.SIGINT)
  elif case == "driver":
    driver.kill()
  elif case in ("rank", "preempt"):
    os.kill(process_of(case, last), signal.SIGKILL if case == "rank" else signal.SIGTERM)
  elif case == "actor":
    os.kill(parent_of(process_of(case, last, guard=True)), signal.SIGKILL)
  elif case == "node":
    nodes.kill_one()


def watch(case, driver, nodes, log):
  """Reads the output of the driver, acts, and stops a job that trains again. Returns the seconds until marks."""
  seconds, begin = {}, None
  measured = CASES[case][2]
  for line in driver.stdout:
    now = time.monotonic()
    log.append(line)
    found = STEP.search(line)
    if begin is None and found and int(found[1]) >= KILLED:
      act(case, driver, nodes)
      begin = now
    elif begin is not None and measured and len(seconds) < len(MARKS):
      name, text = MARKS[len(seconds)]
      if text.search(line):
        seconds[name] = now - begin
        if len(seconds) == len(MARKS):
          os.kill(driver.pid, signal.SIGINT)
  return seconds


def measure(options, case, nodes):
  """Does one run. Returns the seconds until marks."""
  folder = tempfile.mkdtemp(dir=options.folder)
  arguments, expected, measured = CASES[case]
  command = [sys.executable, os.path.abspath(__file__), "--drive", case, "--address", nodes.cluster.address,
             "--folder", folder, "--program", options.program, "--job", options.job]
  driver = subprocess.Popen(command + ["--arguments=" + each for each in arguments], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            start_new_session=True)
  log = []
  late = threading.Event()
  timer = threading.Timer(SECONDS_OF_RUN, lambda: (late.set(), driver.kill()))
  timer.start()
  try:
    seconds = watch(case, driver, nodes, log)
    driver.wait()
    if late.is_set():
      raise CaseError("did not end within %d s" % SECONDS_OF_RUN)
    ends = [line.strip() for line in log if line.startswith(("end ", "error "))]
    if not re.match(expected, "".join(ends)) or (measured and len(seconds) < len(MARKS)):
      raise CaseError("ended as: %s" % ends)
    end = time.monotonic() + SECONDS_LEFT_OVER
    while processes_of(case):
      if time.monotonic() > end:
        raise CaseError("left processes behind: %s" % processes_of(case))
      time.sleep(0.1)
  except CaseError as error:
    raise CaseError("%s: %s\n%s" % (case, error, "".join(log[-40:]))) from None
  finally:
    timer.cancel()
    driver.kill()
    nodes.fill()
    shutil.rmtree(folder)
  return seconds


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("cases", nargs="*", metavar="CASE", help="of " + ", ".join(CASES))
  parser.add_argument("--job", choices=("dense", "quickstart"), default="dense")
  parser.add_argument("--repeats", type=int, default=3)
  parser.add_argument("--program", default=os.path.join(ROOT, "bazel-bin", "tools", "millrace"))
  for flag in ("--drive", "--address", "--folder"):  # of the driver
    parser.add_argument(flag, help=argparse.SUPPRESS)
  parser.add_argument("--arguments", action="append", default=[], help=argparse.SUPPRESS)
  options = parser.parse_args()
  options.program, options.case = os.path.abspath(options.program), options.drive
  unknown = set(options.cases) - set(CASES)
  if unknown:
    parser.error("no case " + ", ".join(sorted(unknown)))
  return options


def repeat(options, case, nodes, names):
  """Does the runs of a case, and prints a row for each and their medians. Returns False if one failed."""
  runs = []
  for _ in range(options.repeats):
    begin = time.monotonic()
    try:
      runs.append(measure(options, case, nodes))
    except CaseError as error:
      print("FAILED %s" % error, flush=True)
      return False
    print("%-12s" % case + "".join("%10s" % ("%.1f" % runs[-1][name] if runs[-1] else "-") for name in names) +
          "%10.1f" % (time.monotonic() - begin), flush=True)
  if runs[0]:
    print("%-12s" % "  median" + "".join(
        "%10.1f" % statistics.median(run[name] for run in runs) for name in names), flush=True)
  return True


def main():
  options = parse()
  if options.drive:
    drive(options)
    return
  names = [name for name, _ in MARKS]
  print("%-12s" % "case" + "".join("%10s" % name for name in (*names, "seconds")), flush=True)
  nodes = Nodes()
  try:
    with tempfile.TemporaryDirectory() as options.folder:
      failed = sum(not repeat(options, case, nodes, names) for case in options.cases or CASES)
  finally:
    nodes.cluster.shutdown()
  if failed:
    raise CaseError("%d cases failed" % failed)


if __name__ == "__main__":
  try:
    main()
  except CaseError as error:
    sys.exit("ray_ranks.py: %s" % error)
