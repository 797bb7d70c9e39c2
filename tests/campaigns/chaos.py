#!/usr/bin/env python3
"""Random faults of ranks, hosts and links over one stream, with restarts and changes of the world size.

    ./bazelw build //tools:millrace
    tests/campaigns/chaos.py [--faults N] [--seed S] [--ranks W[,W...]] [--kinds KIND[,KIND...]]
                             [--timeout SECONDS] [--slack SECONDS] [--program FILE]

Trains a job with a table on files that arrive one by one, with `millrace train` on two to four hosts.
--faults [50] times one of --kinds happens, all equally often. --seed [1] selects their order, ranks,
hosts and times. One fault in eight happens while the ranks start or meet: one rank is held back
until then. After each fault that ends ranks this campaign starts all of them again, as an engine
does: once the others have left, it kills what is left. The world sizes of --ranks [4,2,3,4] follow
one another. The kinds:

    SIGKILL, SIGSEGV  to a rank
    SIGSTOP           to a rank. It continues when the next start has trained, and must end with 76; if
                      it is rank 0, which holds the lock of the output directory, it is killed before
    SIGTERM           to a rank, or to all of them
    host dead         without a reset on the wire
    partition         of two hosts
    one-way loss      of all packets from a host to another one
    link down         of a host for 0.1 to 0.8 of the time-out: it ends nothing

Checked after each fault: the other ranks end with 76 within 10 s, after a fault that no reset announces
within twice the time-out [5 s], and accuse no healthy rank; after SIGTERM all ranks end with 75 after
the same step, whose checkpoint the next start resumes from, and no other file is left; ranks that
get SIGTERM while they start end with 75, or by the signal before they read the configuration; no
process is left. --slack [10] is added to all limits. Checked at the end: by the hook example_trace,
windows.jsonl and the frequencies of the table each example was committed once; with one world size
the last checkpoint equals that of an undisturbed run.

Prints a line for each fault and violation and a table of the seconds until the other ranks had left
and until the next new step. Exits with 1 after a violation, with 77 where the machine allows no hosts.
"""
import argparse
import collections
import glob
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "hosts"))
import host_failures
import hosts

AGAIN, PEER = 75, 76
LIMIT = 10  # seconds until ranks have left
RENDEZVOUS = 30  # seconds
START = 120  # seconds until a start has trained, at most
STARTING = 8  # one fault of so many happens before the training
ROWS, BATCH, IDS = 240, 48, 37  # of a file, a step, the table
STEPS = ROWS // BATCH  # of a file
KINDS = ("SIGKILL", "SIGSTOP", "SIGSEGV", "SIGTERM", "host dead", "partition", "one-way loss", "link down")
SILENT = ("SIGSTOP", "host dead", "partition", "one-way loss")
JOB = """train {
  global_batch_size: %d
  train_data { shuffle_rows: 300 format: CSV windows { directory { path: "incoming" } } }
  feature { name: "label" kind: LABEL }
  feature { name: "i1" kind: DENSE }
  feature { name: "id" kind: EXAMPLE_ID }
  feature { name: "c1" }
  table { name: "c1" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [4] } }
}
run {
  threads: 1
  report { when { every_steps: 1 at_end: true } }
  checkpoint { when { every_steps: 3 every_windows: 1 } keep_last: 3 }
  distributed {
    poll_interval_seconds: 0.02
    collective_timeout_seconds: %g
    rendezvous_timeout_seconds: %d
  }
  hooks { name: "example_trace" }
}
"""

Fault = collections.namedtuple("Fault", "kind starting")
Outcome = collections.namedtuple("Outcome", "fault left trained")  # seconds; None: does not apply


class Stream:
  """The files that arrive, in `folder`."""

  def __init__(self, folder):
    self.folder = folder
    self.files = 0
    os.mkdir(folder)

  def reach(self, step):
    """Lets files arrive until the job can make this step."""
    while self.files * STEPS < step:
      rows = range(self.files * ROWS, (self.files + 1) * ROWS)
      self.add("part-%04d.csv" % self.files, "label,i1,c1,id\n" + "".join(
          "%d,%d,%d,%d\n" % (row * 7 % 3 == 0, row % 11, row % IDS, row) for row in rows))
      self.files += 1

  def add(self, name, text):
    hidden = os.path.join(self.folder, "." + name)
    with open(hidden, "w") as file:
      file.write(text)
    os.rename(hidden, os.path.join(self.folder, name))


class Start:
  """All ranks of one start of the job. `late` is a rank that start_rank() starts later, or None."""

  def __init__(self, chaos, number, ranks, host_count, late=None):
    self.chaos, self.number, self.ranks, self.host_count, self.late = chaos, number, ranks, host_count, late
    self.folder = chaos.path("start-%d" % number)
    self.began = time.monotonic()
    os.mkdir(self.folder)
    self.processes = {}
    for rank in range(ranks):
      if rank != late:
        self.start_rank(rank)

  def host(self, rank):
    return self.chaos.network[rank * self.host_count // self.ranks]

  def start_rank(self, rank):
    here = [other for other in range(self.ranks) if self.host(other) is self.host(rank)]
    environment = {"RANK": str(rank), "WORLD_SIZE": str(self.ranks), "LOCAL_RANK": str(here.index(rank)),
                   "LOCAL_WORLD_SIZE": str(len(here)), "MASTER_ADDR": "node1",
                   "MASTER_PORT": str(20000 + self.number), "OMP_NUM_THREADS": "1"}
    with open(os.path.join(self.folder, "rank-%d" % rank), "w") as output:
      self.processes[rank] = self.host(rank).start(
          [self.chaos.options.program, "train", "job.textproto"], env=environment,
          cwd=self.chaos.folder, stdout=output, stderr=output)

  def output(self, rank):
    with open(os.path.join(self.folder, "rank-%d" % rank)) as file:
      return file.read()

  def step(self):
    """Returns the last step that rank 0 has reported; 0: none."""
    steps = re.findall(r"^step (\d+) ", self.output(0), re.MULTILINE)
    return int(steps[-1]) if steps else 0

  def resumed_at(self):
    """Returns the step of the checkpoint that this start resumed from; 0: none."""
    found = re.search(r"resuming from \S*step-(\d+)", self.output(0))
    return int(found[1]) if found else 0

  def code(self, rank):
    return self.processes[rank].poll()

  def ends(self, ranks):
    """Says how ranks ended."""
    return "; ".join("rank %d, exit code %s: %s" % (rank, self.code(rank), self.output(rank).strip()[-600:])
                     for rank in ranks)

  def await_end(self, ranks, seconds):
    """Waits for the end of ranks. Returns the seconds that it took, or None after `seconds`."""
    began = time.monotonic()
    while any(self.code(rank) is None for rank in ranks):
      if time.monotonic() > began + seconds:
        return None
      time.sleep(0.005)
    return time.monotonic() - began

  def signal(self, ranks, number):
    for rank in ranks:
      self.processes[rank].send_signal(number)

  def kill(self):
    for process in self.processes.values():
      process.kill()
      process.wait()


class Chaos:

  def __init__(self, options, folder, network):
    self.options, self.folder, self.network = options, folder, network
    self.draw = random.Random(options.seed)
    self.stream = Stream(self.path("incoming"))
    self.violations = self.starts = 0
    self.outcomes = []
    self.start_seconds = 0  # until the first step, of the last start that trained
    self.starting_codes = collections.Counter()  # of ranks that got SIGTERM while they started
    self.reached = 0  # the last step that was reported
    self.start = None
    self.stopped_at = None  # the step after which the start before was stopped
    self.frozen = None  # a process of an earlier start
    with open(self.path("job.textproto"), "w") as job:
      job.write(JOB % (BATCH, options.timeout, RENDEZVOUS))

  def path(self, *names):
    return os.path.join(self.folder, *names)

  def violate(self, text):
    self.violations += 1
    print("VIOLATION " + text, flush=True)

  # Starts.

  def begin(self, late=None):
    """Starts the ranks that the number of faults so far selects."""
    sizes = self.options.ranks
    ranks = sizes[min(len(self.outcomes), self.options.faults - 1) * len(sizes) // self.options.faults]
    self.starts += 1
    self.start = Start(self, self.starts, ranks, self.draw.randint(2, ranks),
                       late=self.draw.randrange(ranks) if late else None)

  def await_new_step(self):
    """Waits for a step after those that were reported. Starts again if a rank ends before."""
    self.stream.reach(self.reached + 1)
    until = time.monotonic() + START + self.options.slack
    starts = self.start.step() == 0
    while self.start.step() <= self.reached:
      ranks = list(self.start.processes)
      if any(self.start.code(rank) is not None for rank in ranks) or time.monotonic() > until:
        self.start.await_end(ranks, LIMIT)
        self.violate("start %d does not train: %s" % (self.starts, self.start.ends(ranks)))
        if self.violations > 20:
          raise RuntimeError("too many violations")
        self.start.kill()
        self.begin()
        until = time.monotonic() + START + self.options.slack
      time.sleep(0.005)
    if starts:
      self.start_seconds = time.monotonic() - self.start.began
    if self.stopped_at not in (None, self.start.resumed_at()):
      self.violate("start %d resumed from step %d, not %d" %
                   (self.starts, self.start.resumed_at(), self.stopped_at))
    self.stopped_at = None

  def end_start(self):
    """Kills what is left of a start, and mends hosts and links."""
    self.reached = max(self.reached, self.start.step())
    self.start.kill()
    self.network.heal()
    for host in self.network.hosts:
      host.set_link(True)
      left = [pid for pid in host.processes() if self.frozen is None or pid != self.frozen.pid]
      if left:
        self.violate("start %d: processes are left on %s: %s" % (self.starts, host.name, left))

  def check_stopped(self):
    """Checks the end of ranks that trained and got SIGTERM."""
    start = self.start
    step = self.stopped_at = start.step()
    steps = {}
    for rank in range(start.ranks):
      if start.code(rank) != AGAIN:
        self.violate("start %d got SIGTERM: %s" % (self.starts, start.ends([rank])))
      trace = "example_trace/rank-%d/from-%08d.jsonl" % (rank, start.resumed_at())
      with open(self.path("out", trace)) as file:
        steps[rank] = json.loads(file.readlines()[-1])["step"]
    if set(steps.values()) != {step}:
      self.violate("start %d stopped after step %d; ranks: %s" % (self.starts, step, steps))
    left = sorted(os.listdir(self.path("out", "checkpoints")))
    if left[-1] != "step-%08d" % step or not all(re.fullmatch(r"lock|step-\d{8}", name) for name in left):
      self.violate("start %d stopped after step %d and left %s" % (self.starts, step, left))

  def stop(self):
    """Stops a start that trains."""
    ranks = list(self.start.processes)
    self.start.signal(ranks, signal.SIGTERM)
    self.start.await_end(ranks, LIMIT + self.options.slack)
    self.check_stopped()
    self.end_start()

  # Faults.

  def cause(self, kind, victim):
    """Makes a fault that ends ranks. Returns the ranks that it ends, and those that may be accused."""
    start, host = self.start, self.start.host(victim)
    if kind == "SIGTERM":
      stopped = list(start.processes) if self.draw.random() < 0.5 else [victim]
      start.signal(stopped, signal.SIGTERM)
      return stopped, stopped
    if kind.startswith("SIG"):
      start.signal([victim], getattr(signal, kind))
      return [victim], [victim]
    here = [rank for rank in range(start.ranks) if start.host(rank) is host]
    if kind == "host dead":
      host.die()
      return here, here
    other = self.draw.choice([start.host(rank) for rank in range(start.ranks) if rank not in here])
    other.lose(host)
    if kind == "partition":
      host.lose(other)
    return [], here + [rank for rank in range(start.ranks) if start.host(rank) is other]

  def check_survivor(self, rank, fault, ended, accused):
    code, found = self.start.code(rank), host_failures.BLAMED.search(self.start.output(rank))
    if code != PEER and not (code is None and fault.starting and fault.kind not in SILENT):
      self.violate("start %d, %s: %s" % (self.starts, fault, self.start.ends([rank])))
    elif found and int(found[1]) not in accused:
      self.violate("start %d, %s: accuses a healthy rank: %s" % (self.starts, fault, self.start.ends([rank])))
    elif not found and ended and not fault.starting:
      self.violate("start %d, %s: names no rank: %s" % (self.starts, fault, self.start.ends([rank])))

  def end_ranks(self, fault, victim):
    """Causes a fault and checks the end of the ranks. Returns the seconds until they had left."""
    start = self.start
    ended, accused = self.cause(fault.kind, victim)
    if fault.starting and start.late not in ended:
      start.start_rank(start.late)
    stops = fault.kind == "SIGTERM" and not fault.starting
    survivors = [rank for rank in start.processes if stops or rank not in ended]
    limit = LIMIT + self.options.slack
    if fault.kind in SILENT:
      limit = (RENDEZVOUS + LIMIT if fault.starting else 2 * self.options.timeout) + self.options.slack
    elif fault.starting:
      start.await_end(ended, limit)
      limit = LIMIT  # an engine does not wait for ranks that wait for one that will not come
    left = start.await_end(survivors, limit)
    if stops:
      self.check_stopped()
      return left
    for rank in survivors:
      self.check_survivor(rank, fault, ended, accused)
    if fault.kind == "SIGTERM":
      self.starting_codes.update(map(start.code, ended))
      if not {AGAIN, -signal.SIGTERM}.issuperset(map(start.code, ended)):
        self.violate("start %d, %s: %s" % (self.starts, fault, start.ends(ended)))
    if fault.kind == "SIGSTOP" and victim != 0:
      self.frozen = start.processes.pop(victim)
    return left

  def take_link_down(self, victim):
    """Takes a link down for less than the time-out."""
    host = self.start.host(victim)
    host.set_link(False)
    time.sleep(self.options.timeout * self.draw.uniform(0.1, 0.8))
    host.set_link(True)
    if self.start.late is not None:
      self.start.start_rank(self.start.late)
    self.reached = max(self.reached, self.start.step())

  def thaw(self, starting):
    """Lets the frozen rank of the start before continue, which must end."""
    if self.frozen is None:
      return
    self.frozen.send_signal(signal.SIGCONT)
    # While it starts, it may not have looked for the store yet.
    limit = RENDEZVOUS + LIMIT if starting else LIMIT
    try:
      code = self.frozen.wait(limit + self.options.slack)
    except subprocess.TimeoutExpired:
      code = None
      self.frozen.kill()
      self.frozen.wait()
    if code != PEER:
      self.violate("start %d: a frozen rank of the start before ended with %s" % (self.starts, code))
    self.frozen = None

  def meet(self, fault):
    """Lets a fault happen to a start that trains, until it or the next start has made a new step."""
    if fault.starting:
      self.stop()
      self.begin(late=True)
      time.sleep(self.draw.uniform(0, min(2 * self.start_seconds, RENDEZVOUS / 2)))
    else:
      self.reached += self.draw.randint(0, 2 * STEPS)
      self.await_new_step()
      time.sleep(self.draw.uniform(0, 0.3))
    start, began, left = self.start, time.monotonic(), None
    victim = self.draw.choice(list(start.processes))
    if fault.kind == "link down":
      self.take_link_down(victim)
    else:
      left = self.end_ranks(fault, victim)
      self.end_start()
      self.begin()
    self.await_new_step()
    self.outcomes.append(Outcome(fault, left, time.monotonic() - began))
    self.thaw(fault.starting)
    print("%3d  %-12s rank %d of %d on %d hosts, %-15s  %s  %5.1f" % (
        len(self.outcomes), fault.kind, victim, start.ranks, start.host_count,
        "starting" if fault.starting else "after step %d" % start.step(),
        "    –" if left is None else "%5.1f" % left, self.outcomes[-1].trained), flush=True)

  def run(self):
    self.begin()
    try:
      self.await_new_step()
      kinds = [self.options.kinds[i % len(self.options.kinds)] for i in range(self.options.faults)]
      self.draw.shuffle(kinds)
      for i, kind in enumerate(kinds):
        self.meet(Fault(kind, i % STARTING == STARTING - 1))
      self.stream.add("_END", "")
      self.start.await_end(range(self.start.ranks), START + self.options.slack)
      for rank in range(self.start.ranks):
        if self.start.code(rank) != 0:
          self.violate("the last start: %s" % self.start.ends([rank]))
    finally:
      self.end_start()
    self.check_examples()
    if len(self.options.ranks) == 1:
      self.check_undisturbed()

  # Results.

  def millrace(self, *arguments):
    return subprocess.run([self.options.program, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

  def trained(self):
    """Returns the ids that the last checkpoint was trained on, sorted, by window (docs/windows.md)."""
    files = glob.glob(self.path("out", "example_trace", "rank-*", "from-*.jsonl"))
    begins = sorted({int(name[-14:-6]) for name in files})
    windows = collections.defaultdict(list)
    for name in files:
      end = min([begin for begin in begins if begin > int(name[-14:-6])], default=1 << 62)
      with open(name) as lines:
        for step in map(json.loads, lines):
          if step["step"] <= end:
            windows[step["window"]] += step["ids"]
    return {window: sorted(ids) for window, ids in windows.items()}

  def tensor(self, name):
    read = self.millrace("checkpoint", "read", "out", "--tensor", "table/c1/" + name, "--json")
    return json.loads(read.stdout)["values"]

  def check_examples(self):
    files = range(self.stream.files)
    trained = self.trained()
    produced = {file: list(range(file * ROWS, (file + 1) * ROWS)) for file in files}
    for window in {*trained, *produced}:
      if trained.get(window) != produced.get(window):
        self.violate("the examples of window %d were not trained on once" % window)
    with open(self.path("out", "windows.jsonl")) as lines:
      acknowledged = [json.loads(line)["window"] for line in lines]
    if acknowledged != list(files):
      self.violate("windows.jsonl has the windows %s" % acknowledged)
    counts = dict(collections.Counter(row % IDS for row in range(len(files) * ROWS)))
    frequencies = dict(zip(self.tensor("ids"), self.tensor("frequency")))
    if frequencies != counts:
      self.violate("the table has counted %s, not %s" % (frequencies, counts))

  def check_undisturbed(self):
    undisturbed = self.millrace("launch", "-n", str(self.options.ranks[0]), "--", "train", "job.textproto",
                                "--output_dir", "undisturbed")
    if undisturbed.returncode != 0:
      return self.violate("undisturbed: %s" % undisturbed.stderr)
    diff = self.millrace("checkpoint", "diff", "out", "undisturbed")
    print("checkpoint diff: exit code %d\n%s" % (diff.returncode, diff.stdout), flush=True)
    if diff.returncode != 0:
      self.violate("differs from an undisturbed run: %s" % diff.stderr)

  def print_table(self):
    def figures(values):
      return "%.1f | %.1f" % (statistics.median(values), max(values)) if values else "– | –"

    print("| | faults | left, median | worst | new step, median | worst |\n|---|---|---|---|---|---|")
    rows = [(kind, [outcome for outcome in self.outcomes if outcome.fault == Fault(kind, False)])
            for kind in self.options.kinds]
    rows.append(("while ranks start", [outcome for outcome in self.outcomes if outcome.fault.starting]))
    for name, outcomes in rows + [("all", self.outcomes)]:
      print("| %s | %d | %s | %s |" % (
          name, len(outcomes), figures([outcome.left for outcome in outcomes if outcome.left is not None]),
          figures([outcome.trained for outcome in outcomes])))
    print("%d faults, %d of them while ranks started, %d starts, %d windows; %d violations" % (
        len(self.outcomes), sum(outcome.fault.starting for outcome in self.outcomes), self.starts,
        self.stream.files, self.violations))
    if self.starting_codes:
      print("exit codes of ranks that got SIGTERM while they started: %s" % dict(self.starting_codes))


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--faults", type=int, default=50)
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--ranks", type=lambda text: list(map(int, text.split(","))), default=[4, 2, 3, 4])
  parser.add_argument("--kinds", type=lambda text: text.split(","), default=KINDS)
  parser.add_argument("--timeout", type=float, default=5)
  parser.add_argument("--slack", type=float, default=10)
  parser.add_argument("--program", default=os.path.join(ROOT, "bazel-bin/tools/millrace"))
  options = parser.parse_args()
  options.program = os.path.abspath(options.program)
  hosts.enter()
  folder = tempfile.mkdtemp(prefix="chaos-")
  try:
    with hosts.Network(max(options.ranks)) as network:
      chaos = Chaos(options, folder, network)
      chaos.run()
      chaos.print_table()
      return 1 if chaos.violations else 0
  finally:
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
  sys.exit(main())
