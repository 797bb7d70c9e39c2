#!/usr/bin/env python3
"""Runs deploy/train.sbatch on a real SLURM, and ends its ranks, steps, nodes and jobs in every way.

    ./bazelw test_setup slurm
    ./bazelw build //tools:millrace
    tests/campaigns/slurm.py [--steps N] [--limit_steps N] [--program FILE] [--keep DIRECTORY] [CASE...]

Starts munged, slurmctld and one slurmd on each of two hosts (network namespaces of tests/hosts/hosts.py),
and submits a job of four ranks, two per node, with a table and a checkpoint every 50 steps. The batch file
is used as it is; flags of `sbatch` set the sizes. The cases, by default all:

    finish    nothing happens: no restart
    rank      SIGKILL to a rank
    step      `scancel --signal=KILL` of the step
    term      `scancel --signal=TERM` of the step: all ranks save and end with 75
    limit     a time limit of one minute with `--signal=USR1@29`, for a job that needs longer: requeued as
              often as necessary; --limit_steps [2000] is its length
    preempt   a job of a partition with a higher priority takes both nodes
    node      the second host dies; SLURM requeues the job, and another slurmd is started on the host
    cancel    `scancel` of the job: not started again; a second `sbatch` of the same file resumes
    usage     a wrong field in the configuration: the job fails with 64 and is not started again

After each case but `usage` the newest checkpoint must equal that of a run of `launch -n 4` without a failure
(`millrace checkpoint diff`), SLURM must report the expected end and number of restarts, and no process of
a rank may be left. Prints for each case the seconds from the failure until rank 0 says that it
resumes (`resuming`) and until the first step after that is finished (`step`), the step from which the job
resumed, and the restarts. Exits with 1 if a case ends in another way, with 77 where the machine does not
allow network namespaces.
"""
import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "hosts"))
import hosts
import rank_processes

RANKS, NODES, CHECKPOINT, KILLED = 4, 2, 50, 120  # steps between checkpoints, and the step of the failure
SECONDS_OF_CASE = 900
SECONDS_OF_DAEMONS = 60  # until all nodes are idle
CONFIGURATION = """
ClusterName=millrace
SlurmctldHost=node1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# A machine with fewer CPUs is not refused.
SlurmdParameters=config_overrides
ReturnToService=2
# Looks for jobs to start every second.
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdTimeout=15
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=node[1-2] CPUs=2
PartitionName=normal Nodes=ALL Default=YES PriorityTier=1 GraceTime=30
PartitionName=urgent Nodes=ALL PriorityTier=2 PreemptMode=OFF
"""
JOB = """train {
  generated_data { directory: "%(data)s" rows: 20000 eval_rows: 2000 }
  train_data { batch_size: 32 shuffle_rows: 5000 }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..4}" }
  table { name: "c{1..4}" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [16] } }
  sparse_optimizer { learning_rate: 0.01 rowwise_adagrad {} }
  max_epochs: 1000
  max_steps: %(steps)d
  %(more)s
}
run {
  output_dir: "out"
  report { when { every_steps: 1 } }
  evaluation { enabled: false }
  checkpoint { when { every_steps: %(checkpoint)d } }
  distributed { collective_timeout_seconds: 20 }
}
"""
STEP = re.compile(r"^step (\d+)\b", re.M)
RESUMING = re.compile(r"resuming from \S*step-(\d+)")
Outcome = collections.namedtuple("Outcome", "state code restarts")
# Case -> the end as SLURM reports it. Restarts: None for at least one.
CASES = {
    "finish": Outcome("COMPLETED", "0:0", 0),
    "rank": Outcome("COMPLETED", "0:0", 1),
    "step": Outcome("COMPLETED", "0:0", 1),
    "term": Outcome("COMPLETED", "0:0", 1),
    "limit": Outcome("COMPLETED", "0:0", None),
    "preempt": Outcome("COMPLETED", "0:0", 1),
    "node": Outcome("COMPLETED", "0:0", 1),
    "cancel": Outcome("CANCELLED", None, 0),
    "usage": Outcome("FAILED", "64:0", 0),
}
# States of a job that SLURM does not start again. It also reports states on the way, such as SIGNALING.
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


class CaseError(Exception):
  """A case ended in another way than it had to."""


def wait_until(condition, seconds, what):
  """Returns the first result of `condition` that is true. Raises CaseError after `seconds`."""
  end = time.monotonic() + seconds
  while True:
    result = condition()
    if result:
      return result
    if time.monotonic() > end:
      raise CaseError("%s: not within %d s" % (what, seconds))
    time.sleep(0.05)


class Cluster:
  """SLURM on the hosts of a network, with its files in `folder`."""

  def __init__(self, network, folder):
    self.hosts, self.folder = network.hosts, folder
    self.daemons = []
    configuration = os.path.join(folder, "slurm.conf")
    os.mkdir(os.path.join(folder, "state"))
    with open(configuration, "w") as file:
      file.write(CONFIGURATION.format(folder=folder))
    os.environ["SLURM_CONF"] = configuration
    self._start_munge()
    self._start(self.hosts[0], "slurmctld", "-D")
    for host in self.hosts:
      self.start_node(host)
    wait_until(self.is_idle, SECONDS_OF_DAEMONS, "idle nodes")

  def _start_munge(self):
    path = os.path.join(self.folder, "munge.")
    with open(os.open(path + "key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
      key.write(os.urandom(1024))
    self._start(self.hosts[0], "munged", "--foreground", "--force", *(
        "--%s=%s%s" % (flag, path, flag.split("-")[0])
        for flag in ("key-file", "socket", "pid-file", "log-file", "seed-file")))
    wait_until(lambda: os.path.exists(path + "socket"), SECONDS_OF_DAEMONS, "munged")

  def _start(self, host, *command):
    self.daemons.append(host.start(list(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

  def start_node(self, host):
    os.makedirs(os.path.join(self.folder, "spool-" + host.name), exist_ok=True)
    self._start(host, "slurmd", "-D", "-N", host.name)

  def is_idle(self):
    try:
      return self.call("sinfo", "-h", "-p", "normal", "-o", "%D %t").split() == [str(NODES), "idle"]
    except RuntimeError:  # slurmctld does not listen yet
      return False

  def is_down(self, number):
    """Returns True if SLURM has noticed that a node does not answer, and has requeued its jobs."""
    return self.call("sinfo", "-h", "-p", "normal", "-n", "node%d" % number, "-o", "%t").startswith("down")

  def call(self, *command):
    return self.hosts[0].call(*command)

  def submit(self, folder, *flags):
    """Submits the job of a folder. Returns its number."""
    return self.call("env", "--chdir", folder, "sbatch", "--parsable", "--nodes=%d" % NODES,
                     "--ntasks-per-node=%d" % (RANKS // NODES), "--cpus-per-task=1", *flags,
                     os.path.join(ROOT, "deploy", "train.sbatch"), "job.textproto").strip()

  def outcome(self, job):
    """Returns how a job ended, None while it has not."""
    fields = dict(field.partition("=")[::2] for field in self.call("scontrol", "show", "job", job).split())
    if fields["JobState"] not in ENDED:
      return None
    return Outcome(fields["JobState"], fields["ExitCode"], int(fields["Restarts"]))


def ranks_that_run():
  """Returns {rank: process}."""
  found = {}
  for process in rank_processes.all_processes():
    if rank_processes.command_of(process)[:2] == [b"millrace", b"train"]:
      rank = rank_processes.variables_of(process).get(b"SLURM_PROCID")
      if rank is not None:
        found[int(rank)] = process
  return found


def act(case, cluster, job):
  """Does to a job that trains what the case is about."""
  if case == "rank":
    ranks = ranks_that_run()
    if RANKS - 1 not in ranks:
      raise CaseError("rank %d does not run; there are: %s" % (RANKS - 1, ranks))
    os.kill(ranks[RANKS - 1], signal.SIGKILL)
  elif case in ("step", "term"):
    cluster.call("scancel", "--signal=" + {"step": "KILL", "term": "TERM"}[case], job + ".0")
  elif case == "preempt":
    cluster.call("sbatch", "--partition=urgent", "--nodes=%d" % NODES, "--exclusive", "--output=/dev/null",
                 "--wrap=sleep 5")
  elif case == "node":
    cluster.hosts[1].die()
  elif case == "cancel":
    cluster.call("scancel", job)


class Case:
  """A job, its folder and its log."""

  def __init__(self, options, cluster, name):
    self.options, self.cluster, self.name = options, cluster, name
    self.folder = os.path.join(options.folder, name)
    self.seconds = {}  # of the marks
    self.begin = None  # the time of the failure
    self._before = 0  # length of the log then
    self._node_is_back = False

  def write_job(self):
    os.mkdir(self.folder)
    with open(os.path.join(self.folder, "job.textproto"), "w") as file:
      file.write(JOB % {"data": os.path.join(self.options.folder, "data"), "checkpoint": CHECKPOINT,
                        "steps": self.steps(), "more": "bach_size: 1" if self.name == "usage" else ""})

  def steps(self):
    return self.options.limit_steps if self.name == "limit" else self.options.steps

  def log(self):
    text = ""
    names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
    for name in sorted(names, key=lambda name: (len(name), name)):  # in the order of the jobs
      if name.endswith(".log"):
        with open(os.path.join(self.folder, name), errors="replace") as file:
          text += file.read()
    return text

  def run(self):
    """Runs the job to its end."""
    self.write_job()
    flags = ["--time=1", "--signal=USR1@29"] if self.name == "limit" else ["--time=60"]
    job = self.cluster.submit(self.folder, *flags)
    end = wait_until(lambda: self._watch(job), SECONDS_OF_CASE, "end of the job")
    expected = CASES[self.name]
    if (end.state != expected.state or expected.code not in (None, end.code) or
        (end.restarts != expected.restarts if expected.restarts is not None else end.restarts < 1)):
      raise CaseError("ended as %s, not as %s" % (end, expected))
    if self.name == "cancel":
      wait_until(lambda: not ranks_that_run(), SECONDS_OF_CASE, "end of the ranks")
      job = self.cluster.submit(self.folder, *flags)
      again = wait_until(lambda: self._watch(job), SECONDS_OF_CASE, "end of the second job")
      if again != CASES["finish"]:
        raise CaseError("the second job ended as %s" % (again,))
    if ranks_that_run():
      raise CaseError("ranks are left: %s" % ranks_that_run())
    return end

  def _watch(self, job):
    """Acts once the job trains, and records the seconds until marks. Returns the end of the job, if any."""
    log = self.log()
    steps = STEP.findall(log)
    if self.begin is None and self.name == "limit":
      if "stopping: signal SIGUSR1" in log:
        self._begin(log)
    elif self.begin is None and self.name not in ("finish", "usage") and steps and int(steps[-1]) >= KILLED:
      self._begin(log)
      act(self.name, self.cluster, job)
    elif self.begin is not None and "step" not in self.seconds:
      self._read_marks(log[self._before:])
    return self.cluster.outcome(job)

  def _begin(self, log):
    self.begin, self._before = time.monotonic(), len(log)

  def _read_marks(self, log):
    now = time.monotonic() - self.begin
    if self.name == "node" and not self._node_is_back and self.cluster.is_down(2):
      self.cluster.hosts[1].set_link(True)
      self.cluster.start_node(self.cluster.hosts[1])
      self._node_is_back = True
    found = RESUMING.search(log)
    if found:
      self.seconds.setdefault("resuming", now)
      if STEP.search(log, found.end()):
        self.seconds["step"] = now

  def resumed_from(self):
    return [int(step) for step in RESUMING.findall(self.log())]


def compare(options, case, reference):
  """Requires that the newest checkpoint of a case equals that of a run without a failure."""
  result = subprocess.run([options.program, "checkpoint", "diff", reference, os.path.join(case.folder, "out")],
                          text=True, capture_output=True)
  if result.returncode != 0 or result.stdout.split()[-1:] != ["equal"]:
    raise CaseError("not equal to a run without a failure:\n" + result.stdout + result.stderr)


def train_undisturbed(options, steps):
  """Trains the job without SLURM. Returns its output directory."""
  folder = os.path.join(options.folder, "reference-%d" % steps)
  os.mkdir(folder)
  with open(os.path.join(folder, "job.textproto"), "w") as file:
    file.write(JOB % {"data": os.path.join(options.folder, "data"), "checkpoint": CHECKPOINT, "steps": steps,
                      "more": ""})
  result = subprocess.run([options.program, "launch", "-n", str(RANKS), "--", "train", "job.textproto"],
                          cwd=folder, text=True, capture_output=True, stdin=subprocess.DEVNULL)
  if result.returncode != 0:
    raise CaseError("the run without a failure ended with %d:\n%s" % (result.returncode, result.stderr[-2000:]))
  return os.path.join(folder, "out")


def measure(options, cluster, name, references):
  """Runs a case and prints its row. Returns False if it failed."""
  case = Case(options, cluster, name)
  try:
    if name != "usage" and case.steps() not in references:
      references[case.steps()] = train_undisturbed(options, case.steps())
    wait_until(cluster.is_idle, SECONDS_OF_DAEMONS, "idle nodes")
    begin = time.monotonic()
    end = case.run()
    seconds = time.monotonic() - begin
    if name != "usage":
      compare(options, case, references[case.steps()])
    elif "bach_size" not in case.log():
      raise CaseError("the log does not name the field")
    if name not in ("finish", "usage") and not case.resumed_from():
      raise CaseError("no start resumed from a checkpoint")
  except CaseError as error:
    print("FAILED %s: %s\n%s" % (name, error, case.log()[-3000:]), flush=True)
    cluster.call("scancel", "--user=root")
    return False
  marks = ["%.1f" % case.seconds[mark] if mark in case.seconds else "-" for mark in ("resuming", "step")]
  print("%-10s%10s%10s%10s%10.1f  %s" % (name, *marks, end.restarts, seconds,
                                        ", ".join(map(str, case.resumed_from())) or "-"), flush=True)
  return True


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("cases", nargs="*", metavar="CASE", help="of " + ", ".join(CASES))
  parser.add_argument("--steps", type=int, default=400)
  parser.add_argument("--limit_steps", type=int, default=2000)
  parser.add_argument("--program", default=os.path.join(ROOT, "bazel-bin", "tools", "millrace"))
  parser.add_argument("--keep", metavar="DIRECTORY", help="move the jobs and the logs of SLURM there at the end")
  options = parser.parse_args()
  options.program = os.path.abspath(options.program)
  unknown = set(options.cases) - set(CASES)
  if unknown:
    parser.error("no case " + ", ".join(sorted(unknown)))
  return options


def main():
  options = parse()
  hosts.enter()
  missing = [each for each in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(each)]
  if missing:
    sys.exit("slurm.py: no %s: ./bazelw test_setup slurm" % ", ".join(missing))
  with tempfile.TemporaryDirectory(prefix="slurm-") as options.folder:
    programs = os.path.join(options.folder, "bin")
    os.mkdir(programs)
    os.symlink(options.program, os.path.join(programs, "millrace"))
    os.environ["PATH"] = programs + ":" + os.environ["PATH"]
    try:
      with hosts.Network(NODES) as network:
        cluster = Cluster(network, options.folder)
        print("%-10s%10s%10s%10s%10s  %s" % ("case", "resuming", "step", "restarts", "seconds",
                                             "resumed from step"), flush=True)
        references = {}
        failed = sum(not measure(options, cluster, name, references)
                     for name in options.cases or CASES)
    finally:
      if options.keep:
        os.makedirs(options.keep, exist_ok=True)
        for name in os.listdir(options.folder):
          if name in CASES or name.endswith(".log"):
            shutil.move(os.path.join(options.folder, name), options.keep)
  if failed:
    raise CaseError("%d cases failed" % failed)


if __name__ == "__main__":
  try:
    main()
  except (CaseError, RuntimeError) as error:
    sys.exit("slurm.py: %s" % error)
