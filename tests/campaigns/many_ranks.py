#!/usr/bin/env python3
"""Measures what many ranks cost, and compares it with the formulas of docs/scaling.md.

    ./bazelw build //tools:millrace
    tests/campaigns/many_ranks.py [--ranks 2,4,16,32] [--steps N] [--restore N] [--kill N] [--program FILE]

For each number of ranks: trains a DeepFM with two tables for --steps [50] steps on one machine by
`millrace launch`, and saves. All ranks are stopped (SIGSTOP) for an instant after a fifth and after
four fifths of the steps, and the counters of the kernel for their sockets (`ss -i`) are read. Then
resumes the last checkpoint at --restore [7] ranks and trains ten more steps; kills the last rank of
a job of --kill [32] ranks and measures the seconds until all others have left.

Prints for each quantity the value measured, the value of the formula and the tolerance; exits with 1
if one differs by more, or if a job does not do what it should. Needs `ss` (iproute2), about 0.1 GB of
memory for each rank. Runs in a folder under $TMPDIR.
"""
import argparse
import collections
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import rank_processes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCH, IDS, TABLES, DIM, HIDDEN = 64, 4, 2, 32, 64
NUMBERS = DIM + 1  # of a row: DeepFM adds a first-order weight
JOB = """train {
  train_data { path: "ids.csv" csv { list_delimiter: "|" } batch_size: %d }
  metric: "logloss"
  feature { name: "label" kind: LABEL }
  feature { name: "a" }
  feature { name: "b" }
  table { name: "a" dim: %d }
  table { name: "b" dim: %d }
  model { name: "deepfm" [millrace.deepfm] { hidden: [%d] } }
  sparse_optimizer { learning_rate: 0.01 rowwise_adagrad {} }
}
run { distributed { collective_timeout_seconds: 120 } evaluation { enabled: false } }
""" % (BATCH, DIM, DIM, HIDDEN)
CHANNELS = ("control", "tables", "data")
# Bytes of a manifest: of this job without files, of the entry of a file, and of one of a table.
MANIFEST_BYTES, FILE_BYTES, TABLE_FILE_BYTES = 4120, 160, 960
OWN_FILES = 12  # of a rank, without its connections to other ranks
RING_BYTES, RING_SEGMENTS = 430, 6.8  # of Gloo's headers and notices, for each hop of a sum
LIMIT = 600  # seconds for a job to reach its next line
PEER = 76


class Counter:
  """Bytes and segments with data that one end of a connection has sent."""

  def __init__(self, sent=0, segments=0, received=0):
    self.sent, self.segments, self.received = sent, segments, received

  def add(self, other, sign=1):
    self.sent += sign * other.sent
    self.segments += sign * other.segments
    self.received += sign * other.received

  def since(self, before):
    result = Counter(self.sent, self.segments, self.received)
    result.add(before, -1)
    return result


class Snapshot:
  """The sockets of all ranks at one time."""

  def __init__(self, ranks, port):
    self.time = time.monotonic()
    self.channels = {rank: {name: Counter() for name in CHANNELS} for rank in ranks}
    self.sockets = collections.Counter()  # connections of a rank to other ranks
    self.store_sockets = collections.Counter()
    self.calls = {}  # of the store, by the supervision and the rendezvous
    self.gloo_requests = {}  # segments to the store for Gloo's rendezvous
    self.files = {rank: len(os.listdir("/proc/%d/fd" % pid)) for rank, pid in ranks.items()}
    self.resident = {rank: resident_bytes(pid) for rank, pid in ranks.items()}
    self.read = {rank: read_bytes(pid) for rank, pid in ranks.items()}
    owner = {inode: rank for rank, pid in ranks.items() for inode in inodes(pid)}
    listening, ends, to_store = set(), {}, collections.defaultdict(list)
    for local, peer, inode, counter in sockets():
      rank = owner.get(inode)
      if rank is None:
        continue
      if peer is None:
        listening.add(local)
      elif peer == port:
        to_store[rank].append(counter)
        self.store_sockets[rank] += 1
      elif local != port:
        ends[local, peer] = rank, counter
    pairs = collections.defaultdict(list)
    for (local, peer), (rank, counter) in ends.items():
      if (peer, local) in ends:
        other = ends[peer, local][0]
        self.sockets[rank] += 1
        pairs[min(rank, other), max(rank, other)].append((local, peer))
    for connections in pairs.values():
      self._add_pair(set((min(c), max(c)) for c in connections), ends, listening)
    for rank, counters in to_store.items():
      self._add_store(rank, counters)

  def _add_pair(self, connections, ends, listening):
    """Gloo keeps its listener. Of the other two connections the tables have more bytes."""
    data = [c for c in connections if listening & set(c)]
    other = sorted((c for c in connections if not listening & set(c)), key=lambda c: ends[c][1].sent)
    if len(data) != 1 or len(other) != 2:
      raise RuntimeError("two ranks have %d and %d connections" % (len(data), len(other)))
    for name, (a, b) in zip(CHANNELS, other + data):
      for end in ((a, b), (b, a)):
        self.channels[ends[end][0]][name].add(ends[end][1])

  def _add_store(self, rank, counters):
    """Before each call a rank asks 5 bytes on a connection of its own and gets 4."""
    probes = [c for c in counters if abs(c.sent - 5 * (c.received // 4 + 1)) <= 5]
    probe = max(probes, key=lambda c: c.received)
    self.calls[rank] = probe.received // 4
    rest = sorted((c for c in counters if c not in probes), key=lambda c: c.sent)
    self.gloo_requests[rank] = rest[0].segments


def sockets():
  """Yields (local port, peer port or None, inode, Counter) for every TCP socket."""
  lines = subprocess.run(["ss", "-atineHO"], stdout=subprocess.PIPE, text=True, check=True).stdout
  for line in lines.splitlines():
    fields = line.split(None, 5)
    values = dict(re.findall(r"(\w+):(\d+)", line))
    port = [int(f.rsplit(":", 1)[1]) if f[-1] != "*" else None for f in fields[3:5]]
    # What the application has written counts, not what TCP repeated or has not sent yet.
    sent = sum(int(values.get(k, 0)) * s for k, s in
               (("bytes_sent", 1), ("bytes_retrans", -1), ("notsent", 1)))
    yield port[0], port[1], values.get("ino"), Counter(
        sent, int(values.get("data_segs_out", 0)), int(values.get("bytes_received", 0)))


def inodes(pid):
  for name in os.listdir("/proc/%d/fd" % pid):
    try:
      target = os.readlink("/proc/%d/fd/%s" % (pid, name))
    except OSError:
      continue
    if target.startswith("socket:["):
      yield target[8:-1]


def field(path, name):
  with open(path) as file:
    for line in file:
      if line.startswith(name + ":"):
        return int(line.split()[1])
  raise RuntimeError("%s has no %s" % (path, name))


def resident_bytes(pid):
  return 1024 * field("/proc/%d/smaps_rollup" % pid, "Pss")


def read_bytes(pid):
  return field("/proc/%d/io" % pid, "rchar")


class Job:
  """A launcher and its ranks."""

  def __init__(self, options, folder, ranks, name, steps, every, *arguments):
    self.output = os.path.join(folder, name)
    self.world_size = ranks
    self.started = time.monotonic()
    self.lines = []
    self.arrived = threading.Condition()
    command = [options.program, "launch", "-n", str(ranks), "--", "train", "job.textproto",
               "--output_dir", name, "--set", "train.max_steps=%d" % steps,
               "--set", "run.report.when={every_steps: %d}" % every, *arguments]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    self.launcher = subprocess.Popen(command, cwd=folder, env=environment, text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE)
    self.reader = threading.Thread(target=self._read)
    self.reader.start()

  def _read(self):
    for line in self.launcher.stderr:
      with self.arrived:
        self.lines.append(line.rstrip())
        self.arrived.notify_all()
    with self.arrived:
      self.lines.append(None)
      self.arrived.notify_all()

  def await_line(self, text):
    """Waits for a line that begins with `text`. Raises RuntimeError if none comes."""
    def there():
      return any(line is None or line.startswith(text) for line in self.lines)
    with self.arrived:
      self.arrived.wait_for(there, LIMIT)
      if not any(line is not None and line.startswith(text) for line in self.lines):
        raise RuntimeError("no line \"%s\": %s" % (text, "\n".join(l or "" for l in self.lines[-20:])))

  def ranks(self):
    """Returns the process of each rank."""
    found = rank_processes.ranks_of(self.launcher.pid)
    for process in found.values():
      self.port = int(rank_processes.variables_of(process)[b"MASTER_PORT"])
    if len(found) != self.world_size:
      raise RuntimeError("%d of %d ranks run" % (len(found), self.world_size))
    return found

  def snapshot(self):
    ranks = self.ranks()
    for pid in ranks.values():
      os.kill(pid, signal.SIGSTOP)
    try:
      return Snapshot(ranks, self.port)
    finally:
      for pid in ranks.values():
        os.kill(pid, signal.SIGCONT)

  def wait(self):
    """Returns the exit code of the launcher."""
    self.reader.join(LIMIT)
    return self.launcher.wait(LIMIT)

  def end(self):
    self.launcher.terminate()
    self.wait()


class Table:
  """Measured values beside those of formulas."""

  def __init__(self):
    self.failures = 0

  def note(self, ranks, what, measured):
    print("%5d  %-42s %14s" % (ranks, what, number(measured)), flush=True)

  def check(self, ranks, what, measured, computed, tolerance=0.0, at_most=False):
    """`tolerance` is relative. If `at_most`, the formula is an upper bound."""
    low = 0 if at_most else computed * (1 - tolerance)
    fits = low <= measured <= computed * (1 + tolerance)
    self.failures += not fits
    print("%5d  %-42s %14s %s %14s  ±%.0f %%%s" % (
        ranks, what, number(measured), "≤" if at_most else "=", number(computed), 100 * tolerance,
        "" if fits else "  DIFFERS"), flush=True)


def number(value):
  return "%d" % value if value == int(value) else "%.2f" % value


def write_data(folder, examples):
  with open(os.path.join(folder, "job.textproto"), "w") as file:
    file.write(JOB)
  draw = random.Random(1)
  with open(os.path.join(folder, "ids.csv"), "w") as file:
    file.write("label,a,b\n")
    for _ in range(examples):
      ids = ["|".join(str(draw.randrange(1 << 30)) for _ in range(IDS)) for _ in range(TABLES)]
      file.write("%d,%s\n" % (draw.randrange(2), ",".join(ids)))


def mean(values):
  values = list(values)
  return sum(values) / len(values)


def check_traffic(table, job, first, last, steps, dense):
  """Compares messages and bytes of a step. `dense`: numbers of the dense gradient."""
  w = job.world_size
  sent = {name: [last.channels[r][name].since(first.channels[r][name]) for r in range(w)]
          for name in CHANNELS}
  # All ids differ, so that a message asks for an even share of them.
  ids = BATCH * IDS / w
  bits = 8 * math.ceil(ids / 64)
  message = 24 + 8 + 16
  tables = 3 * message + TABLES * (3 * 8 + 2 * bits + ids * (8 + 4 * NUMBERS + 4 + 4 * NUMBERS))
  # The ranks are not stopped right at the report.
  done = mean(c.sent for c in sent["tables"]) / (w - 1) / tables
  table.check(w, "steps, by bytes of the channel of tables", done, steps, 0.1)
  # A step has two exchanges on the control channel, and a report two more.
  control = 16 + 8 * (13 + 1 + TABLES) + 16 + 8 * (5 + 1 + 1 + 2 * TABLES)
  table.check(w, "control: bytes of a rank and step", mean(c.sent for c in sent["control"]) / done,
              (w - 1) * control * (1 + 3 / steps), 0.1)
  table.check(w, "tables: segments of a rank and step",
              mean(c.segments for c in sent["tables"]) / done, 3 * (w - 1), 0.2)
  table.check(w, "data: bytes of a rank and step", mean(c.sent for c in sent["data"]) / done,
              2 * (w - 1) * (4 * dense / w + RING_BYTES), 0.1)
  table.check(w, "data: segments of a rank and step", mean(c.segments for c in sent["data"]) / done,
              2 * (w - 1) * RING_SEGMENTS, 0.1)


def check_sockets(table, job, first, last):
  w = job.world_size
  table.check(w, "sockets of a rank to other ranks", max(last.sockets.values()), 3 * (w - 1))
  table.check(w, "sockets of a rank to the store", last.store_sockets[1], 3)
  table.check(w, "open files of rank 0, of the store included", last.files[0],
              OWN_FILES + 19 + 6 * (w - 1), 0.1)
  table.check(w, "open files of another rank", last.files[1], OWN_FILES + 3 * (w - 1), 0.1)
  seconds = last.time - first.time
  wake = max(0.05, 0.0005 * w)
  calls = 2 / wake + 2 / max(0.5, 2 * wake) + 1 / max(0.5, 0.001 * w)
  table.check(w, "store: calls of a rank and second",
              mean(last.calls[r] - first.calls[r] for r in range(w)) / seconds, calls, 0.1, at_most=True)
  table.note(w, "store: calls of a rank until step 10", mean(first.calls.values()))
  table.check(w, "store: requests of a rank for Gloo", mean(last.gloo_requests.values()), 3 * w + 3, 0.1)
  table.note(w, "resident bytes of a rank (PSS)", mean(last.resident.values()))


def checkpoint(options, folder, job):
  path = os.path.join(job.output, "checkpoints")
  path = os.path.join(path, sorted(n for n in os.listdir(path) if n.startswith("step-"))[-1])
  shown = subprocess.run([options.program, "checkpoint", "show", "--json", path], text=True, check=True,
                         stdout=subprocess.PIPE).stdout
  return path, json.loads(shown)


def dense_numbers(shown):
  return sum(math.prod(t["shape"]) for t in shown["tensors"]
             if t["dtype"] == "F32" and t["file"].startswith("dense") and
             not t["name"].startswith("optimizer/"))


def check_checkpoint(table, job, path, shown):
  w = job.world_size
  kinds = collections.Counter(f["kind"] for f in shown["files"])
  table.check(w, "files of a checkpoint", sum(kinds.values()) + 1, 2 + w * (2 + TABLES))
  table.check(w, "manifest: bytes", os.path.getsize(os.path.join(path, "manifest.json")),
              MANIFEST_BYTES + w * (2 * FILE_BYTES + TABLES * TABLE_FILE_BYTES), 0.05)


def due_reads(path, shown, ranks):
  """Returns the bytes and table files that each of `ranks` ranks reads of a checkpoint."""
  first = [((r * 1024 + ranks - 1) // ranks) << 54 for r in range(ranks + 1)]
  rows = sum(t["rows"] for t in shown["tables"].values())
  of_rows = sum(f["size"] for f in shown["files"] if f["kind"] == "table_file")
  due, files = [], []
  for rank in range(ranks):
    read = [f for f in shown["files"] if f["kind"] == "table_file" and
            f["first_hash"] < first[rank + 1] and f["last_hash"] >= first[rank]]
    # The ids are read before the rest, too.
    size = sum(f["size"] for f in read)
    due.append(os.path.getsize(os.path.join(path, "manifest.json")) + size + 8 * rows * size / of_rows +
               sum(f["size"] for f in shown["files"] if f["kind"] == "dense_file"))
    files.append(len(read))
  return due, files


def restore(options, folder, table, job, path, shown):
  """Resumes at another number of ranks."""
  ranks = options.restore
  name = "restore-%d" % job.world_size
  end = options.steps + 10
  due, files = due_reads(path, shown, ranks)
  reads = {}
  for resumed in (False, True):
    if resumed:
      os.rename(job.output, os.path.join(folder, name))
    again = Job(options, folder, ranks, name if resumed else name + "-fresh", end if resumed else 10, 5)
    again.await_line("[0] step %d/" % (end - 5 if resumed else 5))
    reads[resumed] = again.snapshot().read
    if again.wait() != 0:
      raise RuntimeError("%s: %s" % (name, "\n".join(l or "" for l in again.lines)))
    if resumed and not any("resuming from" in (line or "") for line in again.lines):
      raise RuntimeError("the job did not resume")
  # A rank reads the data up to its position, too, which the formula omits.
  table.check(ranks, "restore of %d ranks: bytes read by all" % job.world_size,
              sum(reads[True].values()) - sum(reads[False].values()), sum(due), 0.2)
  table.check(ranks, "restore: table files that overlap", sum(files),
              TABLES * (job.world_size + ranks - math.gcd(job.world_size, ranks)), 0.1)


def run(options, folder, table, ranks):
  begin, end = options.steps // 5, options.steps // 5 * 4
  job = Job(options, folder, ranks, "train-%d" % ranks, options.steps, begin)
  try:
    job.await_line("[0] step %d/" % begin)
    table.note(ranks, "seconds until step %d" % begin, time.monotonic() - job.started)
    first = job.snapshot()
    job.await_line("[0] step %d/" % end)
    last = job.snapshot()
    table.note(ranks, "milliseconds of a step", 1000 * (last.time - first.time) / (end - begin))
    if job.wait() != 0:
      raise RuntimeError("\n".join(line or "" for line in job.lines[-20:]))
  finally:
    job.end()
  path, shown = checkpoint(options, folder, job)
  check_sockets(table, job, first, last)
  check_traffic(table, job, first, last, end - begin, dense_numbers(shown))
  check_checkpoint(table, job, path, shown)
  if options.restore:
    restore(options, folder, table, job, path, shown)


def kill(options, folder, table):
  """Kills a rank. Measures until all others have left."""
  job = Job(options, folder, options.kill, "kill", 1000000, 10)
  try:
    job.await_line("[0] step 10/")
    ranks = job.ranks()
    began = time.monotonic()
    os.kill(ranks[options.kill - 1], signal.SIGKILL)
    while any(is_alive(pid) for pid in ranks.values()):
      if time.monotonic() - began > LIMIT:
        raise RuntimeError("ranks did not leave after a kill")
      time.sleep(0.02)
    took = time.monotonic() - began
    code = job.wait()
  finally:
    job.end()
  named = sum("rank %d failed in " % (options.kill - 1) in (line or "") for line in job.lines)
  table.check(options.kill, "seconds until survivors of a kill have left", took,
              10 + 0.5 * options.kill, at_most=True)
  table.note(options.kill, "exit code of the launcher after it", code)
  table.note(options.kill, "lines that name the killed rank", named)
  if not named:
    table.failures += 1


def is_alive(pid):
  try:
    with open("/proc/%d/stat" % pid) as file:
      return file.read().rsplit(")", 1)[1].split()[0] != "Z"
  except OSError:
    return False


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--ranks", default="2,4,16,32")
  parser.add_argument("--steps", type=int, default=50)
  parser.add_argument("--restore", type=int, default=7, help="0: none")
  parser.add_argument("--kill", type=int, default=32, help="0: none")
  parser.add_argument("--program", default=os.path.join(ROOT, "bazel-bin", "tools", "millrace"))
  options = parser.parse_args()
  options.program = os.path.abspath(options.program)
  table = Table()
  counts = [int(ranks) for ranks in options.ranks.split(",") if ranks]
  with tempfile.TemporaryDirectory() as folder:
    most = max(counts + [options.restore, options.kill])
    write_data(folder, most * BATCH * (options.steps + 20))
    for ranks in counts:
      run(options, folder, table, ranks)
      for name in os.listdir(folder):
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    if options.kill:
      kill(options, folder, table)
  return 1 if table.failures else 0


if __name__ == "__main__":
  try:
    sys.exit(main())
  except RuntimeError as error:
    sys.exit("many_ranks.py: %s" % error)
