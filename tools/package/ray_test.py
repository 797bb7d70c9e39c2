#!/usr/bin/python3 -B
"""Tests what millrace.ray decides, and the process of a rank, without Ray (tests/campaigns/ray_ranks.py has it)."""
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
# pylint: disable=wrong-import-position
from millrace import _rank_process, _ranks
from millrace._ranks import Action, RankEnd

GUARD = os.path.join(FOLDER, "millrace", "_rank_guard.py")
LIMIT_SECONDS = 30


class EndsTest(unittest.TestCase):

  def test_action_after_each_code(self):
    for code, unasked, requested in (
        (0, Action.FINISH, Action.FINISH),
        (75, Action.RESTART, Action.STOP),
        (76, Action.RESTART, Action.STOP),
        (None, Action.RESTART, Action.STOP),
        (128 + signal.SIGKILL, Action.RESTART, Action.STOP),
        (128 + signal.SIGSEGV, Action.RESTART, Action.STOP),
        (64, Action.FAIL, Action.FAIL),
        (80, Action.FAIL, Action.FAIL),
        (127, Action.FAIL, Action.FAIL),
        (255, Action.FAIL, Action.FAIL),
    ):
      self.assertEqual(_ranks.action_after(code, False), unasked, code)
      self.assertEqual(_ranks.action_after(code, True), requested, code)

  def test_the_end_that_decides(self):
    for decides, ends in (
        (0, [(0, 0), (1, 0)]),
        (1, [(0, 76), (1, 65)]),
        (1, [(0, 76), (1, None), (2, 65)]),
        (0, [(0, 76), (1, 137, True)]),
        (1, [(0, 76), (1, 75)]),
        (0, [(0, 76), (1, 75, True)]),
        (1, [(0, 0), (1, 76)]),
    ):
      self.assertEqual(_ranks.deciding_end([RankEnd(*end) for end in ends]).rank, decides, ends)

  def test_restarts_without_a_newer_checkpoint_are_limited(self):
    for most, allowed in ((0, [(-1, False), (50, False)]),
                          (1, [(50, True), (100, True), (100, True), (100, False)]),
                          (2, [(-1, True), (-1, True), (-1, False)])):
      restarts = _ranks.Restarts(most, -1)
      self.assertEqual([(step, restarts.allow(step)) for step, _ in allowed], allowed, most)
      self.assertEqual(restarts.total, sum(allow for _, allow in allowed))


class PlacesTest(unittest.TestCase):

  def test_ranks_of_a_machine_have_numbers_in_a_row(self):
    places = _ranks.place_ranks(["a", "b", "a"])
    self.assertEqual([tuple(place) for place in places], [(0, "a", 0, 2), (2, "a", 1, 2), (1, "b", 0, 1)])
    variables = _ranks.rank_environment(places, 1, 29500, 4)
    self.assertEqual({name: value for name, value in variables.items() if value is not None}, {
        "RANK": "1", "WORLD_SIZE": "3", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "a",
        "MASTER_PORT": "29500", "TORCHELASTIC_RESTART_COUNT": "4"})
    self.assertIsNone(variables["TORCHELASTIC_USE_AGENT_STORE"])

  def test_threads_are_the_cpus_unless_they_are_given(self):
    for arguments, threads in (([], ["--threads", "8"]), (["--threads=2"], []), (["--threads", "2"], []),
                               (["--set", "run.threads=2"], []), (["--set=run.threads = 2"], []),
                               (["--set", "run.seed=2"], ["--threads", "8"])):
      self.assertEqual(_ranks.rank_arguments("train", "job", 8.5, arguments), ["train", "job"] + threads + arguments)

  def test_output_directory(self):
    for text, arguments, directory in (
        ("train {}", [], "out"),
        ('run { output_dir: "a" } # output_dir: "b"', [], "a"),
        ('train { note: "# \\" " } run { output_dir:\'a\' }', [], "a"),
        ('run { output_dir: "a" }', ["--set", 'run.output_dir="c"'], "c"),
        ('run { output_dir: "a" }', ["--set", "run.output_dir=c", "--output_dir", "d"], "d"),
    ):
      self.assertEqual(_ranks.output_dir_of(text, arguments), directory, text)

  def test_newest_step(self):
    with tempfile.TemporaryDirectory() as folder:
      self.assertEqual(_rank_process.newest_step(folder), -1)
      for name in ("step-00000050", "step-00000100", "step-00000150.tmp", "other"):
        os.makedirs(os.path.join(folder, "checkpoints", name))
      self.assertEqual(_rank_process.newest_step(folder), 100)


class RankProcessTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name
    with open(GUARD, encoding="utf-8") as file:
      self.rank = _rank_process.RankProcess(file.read())

  def start(self, script, *arguments, summary=None):
    environment = {"RANK": "1", "HOME": None}
    self.rank.start(["/bin/sh", "-c", script, "sh"], list(arguments), environment, self.folder, summary)

  def events(self, until):
    """Returns the events up to one of the kind `until`."""
    found, end = [], time.monotonic() + LIMIT_SECONDS
    while not found or found[-1][0] != until:
      self.assertLess(time.monotonic(), end, found)
      found += self.rank.events(1)
    return found

  def test_passes_on_output_and_code(self):
    self.start('echo "$RANK ${HOME-none} $1 $(pwd -P)"; echo wrong >&2; cat; exit 65', "a b")
    self.assertEqual(sorted(self.events("end")), [
        ("end", 65), ("err", "wrong"), ("out", "1 none a b " + os.path.realpath(self.folder))])

  def test_codes(self):
    for script, code in (("exit 0", 0), ("kill -9 $$", 137), ("exec /no/such/program", 127)):
      self.start(script)
      self.assertEqual(self.events("end")[-1], ("end", code), script)

  def test_signals_reach_the_rank_and_what_it_started(self):
    self.start('trap "wait; echo stopped; exit 75" TERM; (trap "echo child; exit" TERM; echo ready; '
               'while :; do sleep 0.1; done) & wait')
    self.assertEqual(self.events("out"), [("out", "ready")])
    self.rank.signal(signal.SIGTERM)
    self.assertEqual([event for event in self.events("end") if event[0] != "err"],
                     [("out", "child"), ("out", "stopped"), ("end", 75)])
    self.rank.signal(signal.SIGTERM)  # does nothing

  def test_summary(self):
    self.start('echo "{\\"steps\\": 7}" > "$2"', summary="")
    self.assertEqual(self.events("end"), [("end", 0)])
    self.assertEqual(self.rank.summary(), {"steps": 7})
    self.start("exit 0", "--summary", "none", summary="none")
    self.events("end")
    self.assertIsNone(self.rank.summary())

  def test_nothing_is_left_when_the_owner_or_the_guard_is_killed(self):
    script = 'trap "" TERM; sleep 1000 & echo $$ $!; wait'
    for killed in ("owner", "guard"):
      with self.subTest(killed):
        owner = subprocess.Popen(
            [sys.executable, "-Bc", "import sys; sys.path.insert(0, sys.argv[1])\n"
             "from millrace._rank_process import RankProcess\n"
             "rank = RankProcess(open(sys.argv[2]).read())\n"
             "rank.start(['/bin/sh', '-c', sys.argv[3]], [], {}, '/', None)\n"
             "while 1:\n  for event in rank.events(1): print(rank._process.pid, event[1], flush=True)",
             FOLDER, GUARD, script], stdout=subprocess.PIPE, text=True)
        guard, rank, child = map(int, owner.stdout.readline().split())
        os.kill(owner.pid if killed == "owner" else guard, signal.SIGKILL)
        self.wait_for_end(rank)
        if killed == "owner":
          self.wait_for_end(child)
        else:
          os.kill(child, signal.SIGKILL)
        owner.kill()
        owner.communicate()

  def wait_for_end(self, process):
    """Waits until a process has ended, or is a zombie of another parent."""
    end = time.monotonic() + LIMIT_SECONDS
    while True:
      try:
        with open("/proc/%d/stat" % process, encoding="utf-8") as file:
          if file.read().rsplit(")", 1)[1].split()[0] == "Z":
            return
      except OSError:
        return
      self.assertLess(time.monotonic(), end, process)
      time.sleep(0.01)


class ImportTest(unittest.TestCase):

  def test_without_ray_and_with_an_old_one_one_line_says_what_to_install(self):
    old = types.ModuleType("ray")
    old.__version__ = "2.39.0"
    for module, text in ((None, "needs Ray: pip install 'ray>=2.40'"),
                         (old, "needs Ray 2.40 or newer, and this is 2.39.0: pip install 'ray>=2.40'")):
      with mock.patch.dict(sys.modules, {"ray": module}), self.assertRaises(ImportError) as raised:
        importlib.import_module("millrace.ray")
      self.assertEqual(str(raised.exception), "millrace.ray " + text)


if __name__ == "__main__":
  unittest.main()
