#!/usr/bin/python3 -B
"""Tests millrace.ray without Ray, and with processes in place of ranks; tests/campaigns/ray_ranks.py has both."""
import contextlib
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from concurrent import futures
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
                          (1, [(50, True), (-1, True), (50, False)]),  # no process saw the directory
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

  def test_a_signal_right_after_the_start_is_not_lost(self):
    self.start("sleep 1000")
    self.rank.signal(signal.SIGTERM)
    self.assertEqual(self.events("end")[-1], ("end", 128 + signal.SIGTERM))

  def test_summary(self):
    self.start('echo "{\\"steps\\": 7}" > "$2"', summary="")
    self.assertEqual(self.events("end"), [("end", 0)])
    self.assertEqual(self.rank.summary(), {"steps": 7})
    self.start("exit 0", "--summary", "none", summary="none")
    self.events("end")
    self.assertIsNone(self.rank.summary())

  def test_the_summary_of_an_earlier_start_is_ignored(self):
    with open(os.path.join(self.folder, "summary"), "w", encoding="utf-8") as file:
      file.write('{"steps": 6}')
    for script, summary in (("exit 65", None), ('echo "{\\"steps\\": 7}" > "$2"', {"steps": 7})):
      self.start(script, "--summary", "summary", summary="summary")
      self.events("end")
      self.assertEqual(self.rank.summary(), summary)

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


class FakeActor:
  """An object whose methods run in threads; its end is that of its rank."""

  def __init__(self, owned, silent):
    self.owned, self.silent, self.calls, self.dead = owned, silent, [], False

  def __getattr__(self, name):
    return types.SimpleNamespace(remote=lambda *arguments: self.call(name, arguments))

  def call(self, name, arguments):
    result = futures.Future()
    self.calls.append(result)

    def answer():
      value = getattr(self.owned, name)(*arguments)
      with contextlib.suppress(futures.InvalidStateError):
        result.set_result(value)

    if self.dead:
      result.set_exception(FakeRay.RayActorError())
    elif name == self.silent:
      result.silent = True
    else:
      threading.Thread(target=answer, daemon=True).start()
    return result

  def end(self):
    self.dead = True
    self.owned.signal(signal.SIGKILL)
    for call in self.calls:
      with contextlib.suppress(futures.InvalidStateError):
        call.set_exception(FakeRay.RayActorError())


class FakeRay:
  """As much of Ray as millrace.ray uses, with actors of this process."""

  class RayError(Exception):
    pass

  class RayActorError(RayError):
    pass

  class GetTimeoutError(RayError, TimeoutError):
    pass

  def __init__(self, cpus):
    self.cpus, self.actors = cpus, []
    self.silent = {}  # number of an actor: its method that never answers

  def modules(self):
    module = types.ModuleType("ray")
    module.__version__, module.ObjectRef = "2.40.0", futures.Future
    module.cloudpickle = mock.Mock()
    module.exceptions = types.SimpleNamespace(RayError=self.RayError, RayActorError=self.RayActorError,
                                              GetTimeoutError=self.GetTimeoutError, RayTaskError=())
    module.is_initialized = lambda: True
    module.available_resources = lambda: {"CPU": self.cpus}
    module.remote = lambda kind: types.SimpleNamespace(
        options=lambda **_: types.SimpleNamespace(remote=lambda *arguments: self.make(kind(*arguments))))
    module.get = self.get
    module.wait = self.wait
    module.kill = FakeActor.end
    module.util = types.SimpleNamespace(get_node_ip_address=lambda: "127.0.0.1")
    groups = types.SimpleNamespace(PlacementGroup=object, placement_group=self.group,
                                   remove_placement_group=lambda _: None)
    return {"ray": module, "ray.util": module.util, "ray.util.placement_group": groups,
            "ray.util.scheduling_strategies": mock.Mock()}

  def make(self, owned):
    self.actors.append(FakeActor(owned, self.silent.get(len(self.actors))))
    return self.actors[-1]

  def group(self, bundles, strategy):
    del strategy
    ready = futures.Future()
    if sum(bundle["CPU"] for bundle in bundles) <= self.cpus:
      ready.set_result(None)
    return types.SimpleNamespace(ready=lambda: ready)

  def get(self, calls, timeout=None):
    if isinstance(calls, list):
      return [self.get(call, timeout) for call in calls]
    if hasattr(calls, "silent"):  # without the wait
      raise self.GetTimeoutError()
    try:
      return calls.result(timeout)
    except futures.TimeoutError:
      raise self.GetTimeoutError() from None

  @staticmethod
  def wait(calls, num_returns, timeout, fetch_local=True):
    del fetch_local
    every = num_returns == len(calls)
    done, _ = futures.wait(calls, timeout, futures.ALL_COMPLETED if every else futures.FIRST_COMPLETED)
    return list(done)[:num_returns], []


class JobTest(unittest.TestCase):

  def setUp(self):
    self.ray = FakeRay(cpus=2)
    patch = mock.patch.dict(sys.modules, self.ray.modules())
    patch.start()
    self.addCleanup(patch.stop)
    sys.modules.pop("millrace.ray", None)
    self.module = importlib.import_module("millrace.ray")
    self.addCleanup(sys.modules.pop, "millrace.ray")

  def start(self, script, **options):
    script = "R=$TORCHELASTIC_RESTART_COUNT; " + script
    return self.module.start("job", 2, program=["/bin/sh", "-c", script, "sh"], folder="/", restart_seconds=0.1,
                             **options)

  def test_ends(self):
    for script, code, restarts, ranks in (
        ("exit 0", 0, 0, 2),
        ("[ $R = 1 ] && exit 0; [ $RANK = 1 ] && kill -9 $$; sleep 1000", 0, 1, 2),
        ("[ $R = 1 ] && exit 0; exit 75", 0, 1, 2),
        ("[ $R = 2 ] && exit 0; exit 76", 0, 2, 2),
    ):
      with self.subTest(script):
        result = self.start(script).wait(LIMIT_SECONDS)
        self.assertEqual((result.exit_code, result.restarts, result.ranks), (code, restarts, ranks))

  def test_errors(self):
    for script, restarts, options, text in (
        ("[ $RANK = 0 ] && exit 76; echo millrace: wrong >&2; exit 64", 0, {}, "rank 1 exited with code 64: wrong"),
        ("exit 76", 2, {"max_restarts": 2}, "exited with code 76"),
        ("exit 75", 0, {"max_restarts": 0}, "exited with code 75"),
    ):
      with self.subTest(script), self.assertRaisesRegex(self.module.MillraceError, text) as raised:
        self.start(script, **options).wait(LIMIT_SECONDS)
      self.assertEqual(raised.exception.restarts, restarts)

  def test_a_lost_actor_and_its_room_leave_fewer_ranks(self):
    job = self.start("[ $WORLD_SIZE = 1 ] && exit 0; sleep 1000")
    self.wait_for(job, "running")
    self.ray.cpus = 1
    self.ray.actors[1].end()
    result = job.wait(LIMIT_SECONDS)
    self.assertEqual((result.exit_code, result.restarts, result.ranks), (0, 1, 1))

  def test_an_actor_that_does_not_answer_at_the_start_is_lost(self):
    for method in ("free_port", "start"):
      for silent in range(1 if method == "free_port" else 2):
        with self.subTest(method, silent=silent):
          self.ray.silent = {len(self.ray.actors) + silent: method}
          result = self.start("[ $R = 1 ] && exit 0; sleep 1000", grace_seconds=0.1).wait(LIMIT_SECONDS)
          self.assertEqual((result.exit_code, result.restarts, result.ranks), (0, 1, 2))

  def test_several_ranks_with_gpus_need_a_node_each(self):
    for ranks, options, refused in ((2, {"gpus": 1}, True), (2, {"gpus": 0.5, "strategy": "SPREAD"}, True),
                                    (2, {"gpus": 1, "strategy": "STRICT_SPREAD"}, False),
                                    (1, {"gpus": 1}, False)):
      with self.subTest(ranks=ranks, **options):
        program = ["/bin/sh", "-c", "exit 0"]
        if refused:
          with self.assertRaisesRegex(ValueError, "one rank per node"):
            self.module.start("job", ranks, program=program, folder="/", **options)
        else:
          result = self.module.start("job", ranks, program=program, folder="/", **options).wait(LIMIT_SECONDS)
          self.assertEqual(result.exit_code, 0)

  def test_nothing_is_started_again_after_a_stop(self):
    for options in ({}, {"kill": True}):
      job = self.start("trap 'exit 75' TERM; while :; do sleep 0.1; done")
      self.wait_for(job, "running")
      job.stop(**options)
      result = job.wait(LIMIT_SECONDS)
      self.assertEqual((result.exit_code, result.restarts), (75, 0))

  def test_without_room_it_says_what_it_needs(self):
    self.ray.cpus = 1
    with self.assertRaisesRegex(TimeoutError, "no room for 2 ranks of {'CPU': 1}"):
      self.start("exit 0", start_seconds=0.1).wait(LIMIT_SECONDS)

  def wait_for(self, job, state):
    end = time.monotonic() + LIMIT_SECONDS
    while job.status().state != state:
      self.assertLess(time.monotonic(), end)
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
