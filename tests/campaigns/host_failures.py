#!/usr/bin/env python3
"""Failures of ranks, hosts and networks in every phase of a job of four ranks on two to four hosts.

    ./bazelw build //tests/campaigns:host_rank
    tests/campaigns/host_failures.py [--sample N] [--shard I/N] [--timeout SECONDS]
                                     [--slack SECONDS|measured] [--parallel N] [--program FILE]

Runs the job of tests/ranks/failing_rank.h once for each case: every phase of a step, window wait,
evaluation, save and rendezvous × {SIGKILL, SIGSTOP, SIGSEGV, exit, host dead, partition, one-way
loss} × {rank 0, another rank}. --sample runs the first N cases, in which all phases and kinds occur
equally often; --shard each N-th case, from number I. Checks of each case:

* The failure happens, and every survivor ends with 76: within 10 s, after a failure that no reset
  announces within twice the time-out [5 s]. --slack [0] is added, for busy machines;
  `--slack measured` is twice the time from the start of a case to its failure, at least 10 s.
* Every survivor names the failed rank, its host and its phase. For a partition and for one-way loss
  it names a rank at either end of the cut, or none if all ranks live and reach the store; no
  other rank is ever named. The last line counts the cases in which a survivor names none.
* No process and no lock is left.

Prints a line for each violation and a table; exits with 1 if there is a violation. Hosts are network
namespaces (tests/hosts/hosts.py); it exits with 77 where the machine does not allow them.
"""
import argparse
import collections
import concurrent.futures
import fcntl
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "hosts"))
import hosts

RANKS = 4
PEER = 76
LIMIT = 10  # seconds until survivors have left
LEAST_SLACK = 10  # seconds, if it is measured
# Phase of FailurePhase -> as other ranks name it, and hits on each rank (failure_phases()).
PHASES = {
    "fetch": ("data", 12),
    "ids": ("lookup", 24),
    "rows": ("lookup", 24),
    "forward": ("forward", 12),
    "backward": ("backward", 12),
    "sums": ("commit", 24),
    "vector": ("commit", 24),
    "update": ("update", 12),
    "eviction": ("update", 24),
    "save": ("checkpoint", 44),
    "evaluation": ("evaluation", 16),
    "window wait": ("window wait", 6),
    "rendezvous": ("rendezvous", 2),
}
# Kind -> whether only a time-out shows it.
KINDS = {"SIGKILL": False, "SIGSTOP": True, "SIGSEGV": False, "exit": False, "host dead": True,
         "partition": True, "one-way loss": True}
OF_PROCESS = ("SIGKILL", "SIGSTOP", "SIGSEGV", "exit")
NOBODY = "though all ranks live and take part in it"
BLAMED = re.compile(r"rank (\d+)(?: on (\S+))? failed in ([a-z ]+) of step (\d+)")

Case = collections.namedtuple("Case", "phase kind rank hosts ordinal")


def all_cases():
  """Returns all cases. Each prefix has phases and kinds in turn, since their numbers are coprime."""
  cases = []
  for round in range(2):
    for i in range(len(PHASES) * len(KINDS)):
      phase = list(PHASES)[i % len(PHASES)]
      rank = i % RANKS
      if round == 1:
        rank = 0 if rank > 0 else 1 + i // RANKS % (RANKS - 1)
      hits = PHASES[phase][1]
      ordinal = 2 if phase == "rendezvous" else 1 + (5 * i + round) % hits
      cases.append(Case(phase, list(KINDS)[i % len(KINDS)], rank, 2 + i % 3, ordinal))
  return cases


class Record:
  """The file of a FailureRecord."""
  RANK = struct.Struct("qi4xqqq")  # failed at, phase, step, ended at, released

  def __init__(self, path):
    with open(path, "w+b") as file:
      file.truncate(8 * self.RANK.size)
      self._memory = mmap.mmap(file.fileno(), 0)

  def failed_at(self, rank):
    return self.RANK.unpack_from(self._memory, rank * self.RANK.size)[0]

  def step(self, rank):
    return self.RANK.unpack_from(self._memory, rank * self.RANK.size)[2]

  def release(self, rank):
    struct.pack_into("q", self._memory, (rank + 1) * self.RANK.size - 8, 1)


class Job:
  """The ranks of a case, from their start until the checks."""

  def __init__(self, case, network, folder, options):
    self.case, self.network, self.folder, self.options = case, network, folder, options
    self.violations = []
    self.took = 0
    self.unnamed = False  # a survivor names no rank, which is allowed
    self.record = Record(os.path.join(folder, "record"))
    self.slack = options.slack
    self.started = time.monotonic()
    # Ranks that are not there yet keep the others in the rendezvous.
    late = RANKS - 1 if case.rank != RANKS - 1 else RANKS - 2
    self.ranks = [rank for rank in range(RANKS) if case.phase != "rendezvous" or rank != late]
    self.outputs = {rank: open(os.path.join(folder, "rank-%d" % rank), "w+") for rank in self.ranks}
    self.processes = {rank: self.start(rank) for rank in self.ranks}

  def host_number(self, rank):
    return rank * self.case.hosts // RANKS

  def host(self, rank):
    return self.network[self.host_number(rank)]

  def start(self, rank):
    case = self.case
    here = [other for other in range(RANKS) if self.host_number(other) == self.host_number(rank)]
    environment = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": str(here.index(rank)),
                   "LOCAL_WORLD_SIZE": str(len(here)), "MASTER_ADDR": "node1", "MASTER_PORT": "29500",
                   "OMP_NUM_THREADS": "1", "GLOG_minloglevel": "2"}
    kind = case.kind if case.kind in OF_PROCESS else "pause"
    command = [self.options.program, os.path.join(self.folder, "checkpoints"),
               os.path.join(self.folder, "record"), str(self.options.timeout), case.phase, kind,
               str(case.rank), str(case.ordinal)]
    return self.host(rank).start(command, env=environment, cwd=self.folder,
                                 stdout=self.outputs[rank], stderr=subprocess.STDOUT)

  def violate(self, text):
    self.violations.append("%s: %s" % (self.case, text))

  def output(self, rank):
    self.outputs[rank].flush()
    with open(os.path.join(self.folder, "rank-%d" % rank)) as file:
      return file.read().strip()

  def run(self):
    try:
      if self.await_failure():
        self.cause_failure()
        self.check_survivors()
      self.check_remains()
    finally:
      for process in self.processes.values():
        process.kill()
        process.wait()
      for output in self.outputs.values():
        output.close()

  def await_failure(self):
    until = self.started + 60 + (30 if self.slack is None else self.slack)
    while self.record.failed_at(self.case.rank) == 0:
      ended = [rank for rank in self.ranks if self.processes[rank].poll() is not None]
      if ended or time.monotonic() > until:
        self.violate("did not happen; " + "; ".join(
            "rank %d: %s" % (rank, self.output(rank)) for rank in ended or self.ranks))
        return False
      time.sleep(0.005)
    if self.slack is None:
      self.slack = max(LEAST_SLACK, 2 * (time.monotonic() - self.started))
    return True

  def cause_failure(self):
    """Makes the host or the network fail, if the rank itself does not. Sets who has failed."""
    case, host = self.case, self.host(self.case.rank)
    # Another host, with ranks that have come.
    other = next(self.host(rank) for rank in self.ranks if self.host(rank) is not host)
    self.accused = [case.rank]
    self.ended = [case.rank]
    if case.kind == "host dead":
      self.accused = self.ended = [rank for rank in self.ranks if self.host(rank) is host]
      host.die()
    elif case.kind not in OF_PROCESS:
      self.accused = [rank for rank in self.ranks if self.host(rank) in (host, other)]
      self.ended = []
      other.lose(host)
      if case.kind == "partition":
        host.lose(other)
      self.record.release(case.rank)
    self.began = time.monotonic()

  def check_survivors(self):
    silent = KINDS[self.case.kind]
    limit = (2 * self.options.timeout if silent else LIMIT) + self.slack
    survivors = [rank for rank in self.ranks if rank not in self.ended]
    hangs = self.began + max(limit, LIMIT) + 20
    while any(self.processes[rank].poll() is None for rank in survivors) and time.monotonic() < hangs:
      time.sleep(0.005)
    self.took = time.monotonic() - self.began
    for rank in survivors:
      self.check_survivor(rank)
    if self.took > limit:
      self.violate("survivors left after %.1f s, not %.1f s" % (self.took, limit))

  def check_survivor(self, rank):
    code = self.processes[rank].poll()
    if code != PEER:
      return self.violate("rank %d: exit code %s: %s" % (rank, code, self.output(rank)))
    found = BLAMED.search(self.output(rank))
    if found is None and not self.ended and NOBODY in self.output(rank):
      self.unnamed = True
      return
    if found is None:
      return self.violate("rank %d names no rank: %s" % (rank, self.output(rank)))
    blamed, host, phase = int(found[1]), found[2], found[3]
    if blamed not in self.accused:
      self.violate("rank %d accuses a healthy rank: %s" % (rank, self.output(rank)))
    # A rank that has not read a sign of life of rank 0 knows the address of its machine alone.
    elif host != self.host(blamed).name and self.host(blamed).ipv4[0] not in self.output(rank):
      self.violate("rank %d names another host: %s" % (rank, self.output(rank)))
    elif blamed in self.ended and blamed == self.case.rank and phase != PHASES[self.case.phase][0]:
      self.violate("rank %d names another phase: %s" % (rank, self.output(rank)))

  def check_remains(self):
    for process in self.processes.values():
      if process.poll() is None:
        process.kill()  # a frozen rank
      process.wait()
    for host in self.network.hosts:
      if host.processes():
        self.violate("processes are left on %s" % host.name)
    lock = os.path.join(self.folder, "checkpoints", "lock")
    if os.path.exists(lock):
      with open(lock) as file:
        try:
          fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
          self.violate("the folder of checkpoints is locked")


def run_case(case, options):
  folder = tempfile.mkdtemp(prefix="host-failures-")
  try:
    with hosts.Network(case.hosts) as network:
      job = Job(case, network, folder, options)
      job.run()
      return job
  finally:
    shutil.rmtree(folder, ignore_errors=True)


def print_table(jobs):
  """Prints the longest time of survivors for each phase and kind, as Markdown."""
  longest = {}
  for job in jobs:
    key = job.case.phase, job.case.kind
    longest[key] = max(longest.get(key, 0), job.took)
  print("| | %s |\n|---|%s" % (" | ".join(KINDS), "---|" * len(KINDS)))
  for phase in PHASES:
    print("| %s | %s |" % (phase, " | ".join(
        "%.1f" % longest[phase, kind] if (phase, kind) in longest else "–" for kind in KINDS)))


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--sample", type=int, default=0)
  parser.add_argument("--shard", default="0/1")
  parser.add_argument("--timeout", type=float, default=5)
  parser.add_argument("--slack", default=0,  # None: measured
                      type=lambda text: None if text == "measured" else float(text))
  parser.add_argument("--parallel", type=int, default=1)
  parser.add_argument("--only", default="", help="text that the description of a case has")
  parser.add_argument("--program", default=os.path.join(ROOT, "bazel-bin/tests/campaigns/host_rank"))
  options = parser.parse_args()
  options.program = os.path.abspath(options.program)
  hosts.enter()
  cases = all_cases()
  cases = cases[:options.sample or len(cases)]
  shard, shards = map(int, options.shard.split("/"))
  cases = [case for case in cases[shard::shards] if options.only in str(case)]
  jobs = []
  with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
    for job in pool.map(lambda case: run_case(case, options), cases):
      jobs.append(job)
      print("%5.1f s  %s" % (job.took, job.case), flush=True)
      for violation in job.violations:
        print("VIOLATION " + violation, flush=True)
  print_table(jobs)
  violations = sum(len(job.violations) for job in jobs)
  print("%d cases, %d violations; in %d cases a survivor names no rank" %
        (len(jobs), violations, sum(job.unnamed for job in jobs)))
  return 1 if violations else 0


if __name__ == "__main__":
  sys.exit(main())
