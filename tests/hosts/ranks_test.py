#!/usr/bin/env python3
"""Ranks of `millrace train` on two hosts: how they meet, and what they do when a host or link fails.

  MILLRACE=FILE ranks_test.py [CLASS[.TEST]...]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import hosts

PROGRAM = os.path.abspath(os.environ.get("MILLRACE", "tools/millrace"))
JOB = """train {
  train_data { path: "%s/part-*.parquet" batch_size: 50 shuffle_rows: 1000 }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..3}" }
  table { name: "c{1..3}" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [8] } }
}
run { output_dir: "out" threads: 1 distributed { rendezvous_timeout_seconds: 60 } }
"""
PEER = 76
TIMEOUT = 2
# Seconds for the end of processes, at least, beyond what the case allows; twice the time of the
# start of the job, if that is more: a busy machine starts and ends processes slowly.
LEAST_SLACK = 5
PAUSE = 12  # seconds; longer than the kernel looks for a neighbour
STEPS_IN_FLIGHT = 10  # at most, that ranks finish or print after a link went down
BLAMED = r"rank %d on %s failed in [a-z ]+ of step \d+"
# All ranks live and reach the store; only messages between two of them are lost.
NOBODY = "though all ranks live and take part in it: is the network down"


class RanksTest(unittest.TestCase):
  """Ranks 0 and 1 on the hosts node1 and node2; rank 0 serves the store."""

  @classmethod
  def setUpClass(cls):
    cls.data = tempfile.mkdtemp(prefix="ranks-")
    cls.addClassCleanup(shutil.rmtree, cls.data)
    subprocess.run([PROGRAM, "generate", "--output_dir", cls.data, "--rows", "2000", "--files", "4"],
                   check=True, stdout=subprocess.DEVNULL)

  def setUp(self):
    self.folder = tempfile.mkdtemp(prefix="ranks-")
    self.addCleanup(shutil.rmtree, self.folder)
    with open(self.path("job.textproto"), "w") as job:
      job.write(JOB % self.data)

  def path(self, name):
    return os.path.join(self.folder, name)

  def start(self, network, settings=(), arguments=()):
    """Starts a rank on each host."""
    self.ranks = []
    settings = [argument for setting in settings for argument in ("--set", setting)]
    for rank, host in enumerate(network.hosts):
      environment = {"RANK": str(rank), "WORLD_SIZE": str(len(network.hosts)), "LOCAL_WORLD_SIZE": "1",
                     "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}
      with open(self.path("rank-%d" % rank), "w") as output:
        self.ranks.append(host.start([PROGRAM, "train", "job.textproto", *settings, *arguments],
                                     env=environment, cwd=self.folder, stdout=output, stderr=output))
      self.addCleanup(self.end, self.ranks[-1])

  @staticmethod
  def end(process):
    process.kill()
    process.wait()

  def output(self, rank):
    with open(self.path("rank-%d" % rank)) as file:
      return file.read()

  def outputs(self):
    return "\n".join(self.output(rank) for rank in range(len(self.ranks)))

  def digest(self, output):
    shown = subprocess.run([PROGRAM, "checkpoint", "show", self.path(output), "--json"], check=True,
                           stdout=subprocess.PIPE)
    return json.loads(shown.stdout)["content_digest"]


class RendezvousTest(RanksTest):
  """Ranks meet, and train what two ranks of one machine train."""

  def check_training(self, network, settings=()):
    self.start(network, settings)
    for process in self.ranks:
      self.assertEqual(process.wait(120), 0, self.outputs())
    subprocess.run([PROGRAM, "launch", "-n", "2", "--", "train", "job.textproto", "--output_dir", "one"],
                   cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    self.assertEqual(self.digest("out"), self.digest("one"))

  def test_own_name_at_127_0_1_1(self):
    with hosts.Network(2, debian=True) as network:
      self.check_training(network)

  def test_second_interface(self):
    with hosts.Network(2, interfaces=2) as network:
      self.check_training(network, ["run.distributed.interface=eth1"])
      received = [json.loads(network[1].call("ip", "-s", "-j", "link", "show", "eth%d" % interface))[0]
                  ["stats64"]["rx"]["bytes"] for interface in range(2)]
      self.assertGreater(received[1], 2 * received[0], "eth0 has the store alone")

  def test_ipv6_only(self):
    with hosts.Network(2, ipv4=False) as network:
      self.check_training(network)


class FailuresTest(RanksTest):
  """A host or link fails during training, which would never end."""

  def train(self, network, timeout=TIMEOUT):
    """Starts ranks, and returns when they have made some steps."""
    began = time.monotonic()
    self.start(network, ["run.distributed.collective_timeout_seconds=%d" % timeout,
                         "run.report.when={every_steps: 1}"], ["--max_epochs", "1000000"])
    self.await_steps(5)
    self.slack = max(LEAST_SLACK, 2 * (time.monotonic() - began))
    self.began = time.monotonic()  # of the failure that the caller causes next

  def steps(self):
    numbers = re.findall(r"^step (\d+) ", self.output(0), re.MULTILINE)
    return int(numbers[-1]) if numbers else 0

  def await_steps(self, count):
    until = time.monotonic() + 150
    while self.steps() < count:
      for process in self.ranks:
        self.assertIsNone(process.poll(), self.outputs())
      self.assertLess(time.monotonic(), until, self.outputs())
      time.sleep(0.01)

  def expect_accused(self, survivor, accused, limit):
    """Waits for a survivor, which must name one of the accused ranks in time."""
    code = self.ranks[survivor].wait(self.began + limit + self.slack - time.monotonic())
    self.assertEqual(code, PEER, self.outputs())
    self.assertRegex(self.output(survivor), "|".join(
        rank if rank == NOBODY else BLAMED % (rank, "node%d" % (rank + 1)) for rank in accused))

  def test_killed_rank(self):
    for victim in (0, 1):
      with self.subTest(victim=victim), hosts.Network(2) as network:
        self.train(network)
        self.ranks[victim].send_signal(signal.SIGKILL)
        self.expect_accused(1 - victim, [victim], 10)
        self.assertEqual(network[1 - victim].processes(), [])

  def test_dead_host(self):
    for victim in (0, 1):
      with self.subTest(victim=victim), hosts.Network(2) as network:
        self.train(network)
        network[victim].die()
        self.expect_accused(1 - victim, [victim], 2 * TIMEOUT)

  def test_frozen_host(self):
    for victim in (0, 1):
      with self.subTest(victim=victim), hosts.Network(2) as network:
        self.train(network)
        network[victim].freeze()
        self.expect_accused(1 - victim, [victim], 2 * TIMEOUT)
        network[victim].thaw()
        self.assertEqual(self.ranks[victim].wait(10 + self.slack), PEER, self.outputs())

  def test_partition(self):
    with hosts.Network(2) as network:
      self.train(network)
      network.partition(*network.hosts)
      for rank in (0, 1):
        self.expect_accused(rank, [0, 1], 2 * TIMEOUT)

  def test_one_way_loss(self):
    for receiver in (0, 1):
      with self.subTest(receiver=receiver), hosts.Network(2) as network:
        self.train(network)
        network[receiver].lose(network[1 - receiver])
        for rank in (0, 1):
          self.expect_accused(rank, [0, 1], 2 * TIMEOUT)

  def test_a_third_host_is_not_accused(self):
    with hosts.Network(3) as network:
      self.train(network)
      network.partition(network[1], network[2])
      for rank in (0, 1, 2):
        self.expect_accused(rank, [1, 2, NOBODY], 2 * TIMEOUT)

  def test_link_down_for_less_than_the_time_out(self):
    for victim in (0, 1):
      with self.subTest(victim=victim), hosts.Network(2) as network:
        self.train(network, timeout=60)
        network[victim].set_link(False)
        before = self.steps()
        time.sleep(PAUSE)
        self.assertLessEqual(self.steps() - before, STEPS_IN_FLIGHT)
        network[victim].set_link(True)
        self.await_steps(self.steps() + 5)

  def test_slow_and_lossy_link(self):
    with hosts.Network(2) as network:
      network[1].limit(20)
      network[1].delay(0.005)
      network[1].lose(network[0], 0.02)
      self.train(network, timeout=20)
      self.await_steps(self.steps() + 20)


if __name__ == "__main__":
  hosts.enter()
  unittest.main(verbosity=2)
