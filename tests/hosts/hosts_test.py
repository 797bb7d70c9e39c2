#!/usr/bin/env python3
"""Tests of hosts.py: each fault shows, and nothing is left."""
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

import hosts

PORT = 7000


class Echo:
  """A server on a host that returns what it receives, on one connection after another."""

  def __init__(self, host, family=socket.AF_INET):
    def listen():
      listener = socket.socket(family)
      listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
      listener.bind(("", PORT))
      listener.listen()
      return listener
    self._listener = host.inside(listen)
    threading.Thread(target=self._serve, daemon=True).start()

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self._listener.close()

  def _serve(self):
    while True:
      try:
        connection, _ = self._listener.accept()
      except OSError:
        return
      threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

  @staticmethod
  def _answer(connection):
    with connection:
      try:
        while data := connection.recv(1 << 20):
          connection.sendall(data)
      except OSError:
        pass


def connect(host, address, timeout=20):
  family = socket.AF_INET6 if ":" in address else socket.AF_INET

  def work():
    connection = socket.socket(family)
    connection.settimeout(timeout)
    try:
      connection.connect((address, PORT))
    except OSError:
      connection.close()
      raise
    return connection
  return host.inside(work)


def echoes(connection, count=1):
  """Returns the seconds until `count` bytes have come back; None if they do not in time."""
  began = time.monotonic()
  sender = threading.Thread(target=lambda: connection.sendall(bytes(count)))
  try:
    sender.start()
    received = 0
    while received < count:
      data = connection.recv(1 << 20)
      if not data:
        return None
      received += len(data)
    return time.monotonic() - began
  except OSError:
    return None
  finally:
    sender.join()


def reaches(host, address, timeout=20):
  try:
    with connect(host, address, timeout) as connection:
      return echoes(connection) is not None
  except OSError:
    return False


def is_cut(host, address):
  return not reaches(host, address, timeout=0.5)


def state_of(process):
  with open("/proc/%d/stat" % process.pid) as stat:
    return stat.read().rsplit(")", 1)[1].split()[0]


def wait_until(condition):
  while not condition():  # the time-out of the test ends it
    time.sleep(0.005)


class HostsTest(unittest.TestCase):

  def test_names_and_addresses(self):
    with hosts.Network(3, interfaces=2) as network:
      node1, node2, node3 = network.hosts
      self.assertEqual([host.call("uname", "-n") for host in network.hosts],
                       ["node1\n", "node2\n", "node3\n"])
      self.assertIn(node3.ipv4[0], node1.call("getent", "ahostsv4", "node3"))
      with Echo(node2, socket.AF_INET6):
        for address in (*node2.ipv4, *node2.ipv6):
          self.assertTrue(reaches(node1, address), address)
        self.assertTrue(is_cut(node1, node3.ipv4[0]))
    with hosts.Network(2, ipv4=False, debian=True) as network:
      self.assertIn("127.0.1.1", network[0].call("getent", "hosts", "node1"))
      self.assertIn(network[0].ipv6[0], network[1].call("getent", "hosts", "node1"))

  def test_partition_and_one_way_loss(self):
    with hosts.Network(3) as network:
      node1, node2, node3 = network.hosts
      with Echo(node2), Echo(node3):
        network.partition(node1, node2)
        self.assertTrue(is_cut(node1, node2.ipv4[0]))
        self.assertTrue(reaches(node1, node3.ipv4[0]))
        self.assertTrue(reaches(node3, node2.ipv4[0]))
        network.heal()
        self.assertTrue(reaches(node1, node2.ipv4[0]))
        with connect(node1, node2.ipv4[0]) as connection:
          node1.lose(node2)  # requests arrive, answers do not
          connection.settimeout(0.5)
          self.assertIsNone(echoes(connection))
          sent = node2.call("nft", "list", "ruleset")
          self.assertNotIn("drop", sent)

  def test_loss_of_a_share(self):
    with hosts.Network(2) as network:
      node1, node2 = network.hosts
      node2.lose(node1, 0.3)
      receiver = node2.inside(lambda: socket.socket(type=socket.SOCK_DGRAM))
      receiver.bind(("", PORT))
      sender = node1.inside(lambda: socket.socket(type=socket.SOCK_DGRAM))
      receiver.settimeout(0.2)
      received = 0
      for _ in range(5):  # few at a time: the receiver's queue is short
        for _ in range(100):
          sender.sendto(b"x", (node2.ipv4[0], PORT))
        try:
          while True:
            receiver.recv(10)
            received += 1
        except socket.timeout:
          pass
      receiver.close()
      sender.close()
      self.assertTrue(280 < received < 420, received)

  def test_link_down(self):
    with hosts.Network(2, interfaces=2) as network:
      node1, node2 = network.hosts
      with Echo(node2), connect(node1, node2.ipv4[0]) as connection:
        node2.set_link(False)
        self.assertTrue(is_cut(node1, node2.ipv4[0]))
        self.assertTrue(reaches(node1, node2.ipv4[1]))
        node2.set_link(True)
        self.assertIsNotNone(echoes(connection))

  def test_bandwidth_and_delay(self):
    with hosts.Network(2) as network:
      node1, node2 = network.hosts
      with Echo(node2), connect(node1, node2.ipv4[0]) as connection:
        node2.limit(80)
        self.assertGreater(echoes(connection, 1 << 20), 0.08)  # 0.105 s less the bursts
        quick = min(echoes(connection) for _ in range(3))
        node2.delay(0.05)
        self.assertGreaterEqual(echoes(connection), 0.1)
        node2.delay(0.02)
        slow = min(echoes(connection) for _ in range(3))
        self.assertGreaterEqual(slow, 0.04)
        self.assertLess(quick, slow)
        self.assertIsNotNone(echoes(connection, 1 << 22))  # large frames pass, too

  def test_frozen_host(self):
    with hosts.Network(2) as network:
      # A process without children: a shell that is stopped while it waits for the exec of a child
      # that is stopped, too, does not reach state T.
      ticks = network[0].start(["yes"], stdout=subprocess.PIPE)
      ticks.stdout.read(1)
      network[0].freeze()
      wait_until(lambda: state_of(ticks) == "T")
      network[0].thaw()
      wait_until(lambda: state_of(ticks) != "T")
      self.assertIsNone(ticks.poll())
      network[0].die()
      self.assertEqual(ticks.wait(), -signal.SIGKILL)
      ticks.stdout.close()

  def test_dead_host_sends_no_reset(self):
    server = ("import socket; s = socket.socket(); s.bind(('', %d)); s.listen(); print('up', flush=True)\n"
              "c, _ = s.accept()\nwhile True: c.sendall(c.recv(9))" % PORT)
    for silent in (True, False):
      with hosts.Network(2) as network:
        node1, node2 = network.hosts
        process = node2.start(["/usr/bin/python3", "-c", server], stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"up\n")
        with connect(node1, node2.ipv4[0]) as connection:
          self.assertIsNotNone(echoes(connection))
          if silent:
            node2.die()
          else:
            process.kill()
          process.wait()
          process.stdout.close()
          connection.settimeout(0.3)
          if silent:
            with self.assertRaises(socket.timeout):
              connection.recv(1)
          else:
            self.assertEqual(connection.recv(1), b"")
        self.assertEqual(node2.processes(), [])

  def test_probe_needs_links_filters_and_queues(self):
    self.assertIsNotNone(hosts.unshare_command())
    for program in ("ip", "nft", "tc"):
      with self.subTest(program), tempfile.TemporaryDirectory() as folder:
        os.symlink("/bin/false", os.path.join(folder, program))
        with mock.patch.dict(os.environ, PATH=folder + ":" + os.environ["PATH"]):
          self.assertIsNone(hosts.unshare_command())

  def test_all_is_removed_after_a_failure(self):
    with self.assertRaises(ZeroDivisionError):
      with hosts.Network(2) as network:
        network[0].delay(0.01)
        network[0].start(["sleep", "1000"])
        1 / 0
    self.assertEqual([pid for pid in os.listdir("/proc") if pid.isdigit() and pid != "1"], [])
    names = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout
    self.assertEqual(len(names.splitlines()), 1, names)


if __name__ == "__main__":
  hosts.enter()
  unittest.main(verbosity=2)
