"""Runs the ranks of a Millrace job on a Ray cluster.

    import millrace.ray
    result = millrace.ray.run("job.textproto", ranks=4, cpus=8)
    print(result.summary["eval"])

Each rank is a process that an actor owns, in one placement group. A job that lost a rank, or was stopped by
nobody's request, is started again from its newest checkpoint, with the ranks for which there is room. See
docs/distributed.md, section Ray. Requires Ray 2.40 or newer on all nodes. The job, its data and its output
directory must have the same paths on all nodes.
"""
from __future__ import annotations

try:
  import ray
except ImportError:
  raise ImportError("millrace.ray needs Ray: pip install 'ray>=2.40'") from None
if tuple(map(int, ray.__version__.split(".")[:2])) < (2, 40):
  raise ImportError("millrace.ray needs Ray 2.40 or newer, and this is %s: pip install 'ray>=2.40'" %
                    ray.__version__)

# pylint: disable=wrong-import-position
import contextlib
import dataclasses
import os
import re
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ray import cloudpickle
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from millrace import _rank_process, _ranks
from millrace._ranks import Action, RankEnd

__all__ = ["Job", "MillraceError", "Result", "Status", "run", "start"]

MOST_RANKS = 1024  # of a job
STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
POLL_SECONDS = 1.0  # after which an actor answers although its rank wrote nothing
SILENT_SECONDS = 5.0  # after which an actor is lost that does not answer while the others leave
LOOK_SECONDS = 0.2  # between looks at requests to stop
CALL_SECONDS = 10.0  # for an answer of an actor that has nothing to wait for
FEWER_SECONDS = 5.0  # to place fewer ranks, after there was no room for all
ACTOR_SECONDS = 60.0  # at least, to start the actors of a group that has its place
STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
PROGRESS = re.compile(r"I\d{8} ")  # a line of the log that explains no end

# Nodes need no wheel if `program` is given.
cloudpickle.register_pickle_by_value(_rank_process)


class MillraceError(RuntimeError):
  """A job failed, and starting it again would not help or is not allowed any more.

  Attributes:
    exit_code: of the rank that decides (docs/exit_codes.md): 128 + S if signal S killed it, 76 also if it was
      lost with its actor or node.
    summary: what rank 0 wrote for `--summary`; None if it ended before.
    restarts: number of restarts before.
  """

  def __init__(self, message: str, exit_code: int, summary: dict[str, Any] | None, restarts: int) -> None:
    super().__init__(message)
    self.exit_code = exit_code
    self.summary = summary
    self.restarts = restarts


@dataclasses.dataclass(frozen=True)
class Result:
  """The end of a job that finished or was stopped on request.

  Attributes:
    exit_code: 0: finished; 75: stopped on request, the same call resumes.
    summary: what rank 0 wrote for `--summary` (docs/metrics.md); None if it was stopped before it trained.
    restarts: number of restarts.
    ranks: number of ranks of the last start; 0 if there was none.
  """
  exit_code: int
  summary: dict[str, Any] | None
  restarts: int
  ranks: int


@dataclasses.dataclass(frozen=True)
class Status:
  """A job at one time.

  Attributes:
    state: `waiting` for resources, `running`, `stopping` on request, `leaving` after a rank failed, `ended`.
    restarts: number of restarts so far.
    addresses: the machine of each rank of the current start.
  """
  state: str
  restarts: int
  addresses: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class _Options:
  """The arguments of start()."""
  arguments: list[str]  # of each rank
  summary: str  # as in RankProcess.start
  output_dir: str
  folder: str
  program: list[str] | None
  ranks: int
  min_ranks: int
  max_restarts: int
  bundle: dict[str, float]
  strategy: str
  environment: dict[str, str]
  grace_seconds: float
  stop_seconds: float
  start_seconds: float
  restart_seconds: float


class _Rank:
  """A rank and its actor, as the driver sees them."""

  def __init__(self, number: int, actor: Any) -> None:
    self.number = number
    self.actor = actor
    self.poll: ray.ObjectRef | None = None
    self.answered = time.monotonic()
    self.last_line = ""  # of its standard error
    self.code: int | None = None

  def ask(self) -> None:
    self.poll = self.actor.events.remote(POLL_SECONDS)


class _Team:
  """The actors of one start, in a placement group."""

  def __init__(self, group: PlacementGroup, actors: list[Any], addresses: list[str]) -> None:
    self.group = group
    self.places = _ranks.place_ranks(addresses)
    self.ranks = [_Rank(number, actors[place.bundle]) for number, place in enumerate(self.places)]

  def answer(self, method: str, *arguments: Any) -> Any:
    """Returns the answer of the first rank whose actor lives, None if none does."""
    for rank in self.ranks:
      with contextlib.suppress(ray.exceptions.RayError):
        return ray.get(getattr(rank.actor, method).remote(*arguments), timeout=CALL_SECONDS)
    return None

  def close(self) -> None:
    """Ends the actors, and with them the ranks that still run."""
    _release(self.group, [rank.actor for rank in self.ranks])


def _release(group: PlacementGroup, actors: Sequence[Any]) -> None:
  with contextlib.suppress(ray.exceptions.RayError):
    for actor in actors:
      ray.kill(actor)
    remove_placement_group(group)


def _say(text: str, stream: Any = None) -> None:
  """Prints a line; an output without a reader ends no job."""
  with contextlib.suppress(OSError, ValueError):
    print(text, file=stream or sys.stderr, flush=True)


class _Stage:
  """How far the ranks of a start are told to leave, in this order."""
  RUNNING, LEAVING, TOLD, KILLED = range(4)


class Job:
  """A job that runs on Ray; start() makes it. Its methods may be called by any thread.

  The job belongs to this driver: if the driver ends, all ranks are killed.
  """

  def __init__(self, options: _Options) -> None:
    self._options = options
    self._stop = threading.Event()
    self._kill = threading.Event()
    self._ended = threading.Event()
    self._result: Result | None = None
    self._error: BaseException | None = None
    self._status = Status("waiting", 0, ())
    self._restarts: _ranks.Restarts | None = None  # None: before the first start
    threading.Thread(target=self._run, name="millrace.ray", daemon=True).start()

  def wait(self, timeout: float | None = None) -> Result:
    """Waits until the job has ended; None: without limit.

    Returns: how it ended.
    Raises:
      MillraceError: the job failed.
      TimeoutError: it has not ended after `timeout` seconds, and continues; or Ray had no room for its ranks.
      OSError: a node has no such working directory, or can start no process.
      ray.exceptions.RayError: Ray itself failed.
    """
    if not self._ended.wait(timeout):
      raise TimeoutError("the job has not ended within %g s" % timeout)
    if self._error is not None:
      raise self._error
    assert self._result is not None
    return self._result

  def stop(self, kill: bool = False) -> None:
    """Requests that the job stops; nothing is started again. Returns at once: see wait().

    Each rank gets SIGTERM: all finish the step, save and end, and wait() returns a result with code 75. Ranks
    that still run after `stop_seconds`, and with `kill` all at once, get SIGKILL.
    """
    if kill:
      self._kill.set()
    self._stop.set()

  def status(self) -> Status:
    """Returns the state of the job, without asking the ranks."""
    return self._status

  def _run(self) -> None:
    try:
      self._result = self._start_until_end()
    except BaseException as error:  # pylint: disable=broad-exception-caught
      self._error = error
    finally:
      self._set_state("ended")
      self._ended.set()

  def _set_state(self, state: str, team: _Team | None = None) -> None:
    addresses = self._status.addresses if state != "waiting" else ()
    if team:
      addresses = tuple(place.address for place in team.places)
    self._status = Status(state, self._total_restarts(), addresses)

  def _total_restarts(self) -> int:
    return self._restarts.total if self._restarts else 0

  def _start_until_end(self) -> Result:
    ranks = 0
    while True:
      team = self._gather()
      if team is None:
        return Result(_ranks.STOPPED, None, self._total_restarts(), ranks)
      ranks = len(team.ranks)
      try:
        decision = self._start_once(team)
      finally:
        team.close()
      if decision is not None:
        return decision
      self._set_state("waiting")

  def _start_once(self, team: _Team) -> Result | None:
    """Runs the ranks once. Returns how the job ended, None if it is to be started again."""
    options = self._options
    if self._restarts is None:
      self._restarts = _ranks.Restarts(options.max_restarts, self._newest_step(team))
    self._set_state("running", team)
    self._start_ranks(team)
    end = _ranks.deciding_end(_Supervision(team, options, self._stop, self._kill, self._set_state,
                                           self._may_restart).run())
    summary = self._summary(team)
    reason = "rank %d %s" % (end.rank, _ranks.describe_end(end.code))
    action = _ranks.action_after(end.code, self._stop.is_set())
    if action in (Action.FINISH, Action.STOP):
      code = _ranks.FINISHED if action == Action.FINISH else _ranks.STOPPED
      return Result(code, summary, self._restarts.total, len(team.ranks))
    if action == Action.RESTART and self._restarts.allow(self._newest_step(team)):
      left = options.max_restarts - self._restarts.without_progress
      _say("millrace: %s; starting all ranks again, restarts left without a newer checkpoint: %d" %
           (reason, left))
      return None
    line = (summary or {}).get("error") or team.ranks[end.rank].last_line
    raise MillraceError(reason + (": " + line if line else ""),
                        _ranks.PEER_FAILED if end.code is None else end.code, summary,
                        self._restarts.total)

  def _may_restart(self) -> bool:
    return self._options.max_restarts > 0 and not self._stop.is_set()

  def _newest_step(self, team: _Team) -> int:
    folder = os.path.join(self._options.folder, self._options.output_dir)
    step = team.answer("newest_step", folder)
    return _rank_process.newest_step(folder) if step is None else step

  def _start_ranks(self, team: _Team) -> None:
    """Starts the process of each rank. Kills actors that do not answer, so that their ranks count as lost."""
    options = self._options
    first = team.ranks[0]
    asked = [first.actor.free_port.remote()]
    try:
      port = ray.get(asked[0], timeout=CALL_SECONDS)
      secret = secrets.token_hex(32)
      asked = [
          rank.actor.start.remote(
              options.program, options.arguments,
              {**_ranks.rank_environment(team.places, rank.number, port, self._total_restarts()),
               "MILLRACE_JOB_SECRET": secret, **options.environment},
              options.folder, options.summary if rank is first else None)
          for rank in team.ranks
      ]
      ray.get(asked, timeout=CALL_SECONDS + len(asked))
    except ray.exceptions.RayActorError:
      pass  # the poll of this actor fails too, which ends its rank
    except ray.exceptions.GetTimeoutError:
      answered, _ = ray.wait(asked, num_returns=len(asked), timeout=0)
      for rank, call in zip(team.ranks, asked):
        if call not in answered:
          ray.kill(rank.actor)
    except ray.exceptions.RayTaskError as error:
      raise error.as_instanceof_cause() from None

  def _summary(self, team: _Team) -> dict[str, Any] | None:
    with contextlib.suppress(ray.exceptions.RayError):
      return ray.get(team.ranks[0].actor.summary.remote(), timeout=CALL_SECONDS)
    return None

  def _gather(self) -> _Team | None:
    """Makes the actors of a start. Returns None if the job is to stop.

    Raises: TimeoutError if there is no room for the fewest ranks that may run.
    """
    options = self._options
    first = self._restarts is None
    fewest = options.ranks if first else options.min_ranks
    seconds = options.start_seconds if first else options.restart_seconds
    count = options.ranks
    while not self._stop.is_set():
      team = self._gather_ranks(count, seconds)
      if team is not None:
        return team
      if count == fewest and not self._stop.is_set():
        raise TimeoutError("Ray had no room for %d ranks of %s (%s) within %g s; ray status shows what it has" %
                           (fewest, options.bundle, options.strategy, seconds))
      count = max(fewest, min(count - 1, self._room()))
      seconds = min(seconds, FEWER_SECONDS)
    return None

  def _room(self) -> int:
    """Returns an upper bound of the ranks for which Ray has room."""
    free = ray.available_resources()
    return min(int(free.get(name, 0) / amount) for name, amount in self._options.bundle.items() if amount > 0)

  def _gather_ranks(self, count: int, seconds: float) -> _Team | None:
    """Makes this number of actors. Returns None if they did not answer within `seconds`."""
    options = self._options
    end = time.monotonic() + seconds
    group = placement_group([options.bundle] * count, strategy=options.strategy)
    actors: list[Any] = []
    try:
      if self._wait_for([group.ready()], end):
        guard = _guard()
        actors += [_actor_class(options, group, bundle).remote(guard) for bundle in range(count)]
        asked = [actor.address.remote() for actor in actors]
        if self._wait_for(asked, max(end, time.monotonic() + ACTOR_SECONDS)):
          return _Team(group, actors, ray.get(asked))
    except ray.exceptions.RayError as error:  # a node ended, or starts no process
      _say("millrace: %s" % error)
    except BaseException:
      _release(group, actors)
      raise
    _release(group, actors)
    return None

  def _wait_for(self, objects: list[ray.ObjectRef], end: float) -> bool:
    """Returns True once all are there; False at the time `end`, or if the job is to stop."""
    while not self._stop.is_set():
      ready, _ = ray.wait(objects, num_returns=len(objects), timeout=LOOK_SECONDS)
      if len(ready) == len(objects):
        return True
      if time.monotonic() >= end:
        return False
    return False


def _guard() -> str:
  path = os.path.join(os.path.dirname(os.path.abspath(_rank_process.__file__)), "_rank_guard.py")
  with open(path, encoding="utf-8") as file:
    return file.read()


def _actor_class(options: _Options, group: PlacementGroup, bundle: int) -> Any:
  """Returns the class of the actor of a bundle; it answers while it waits for events."""
  others = {name: amount for name, amount in options.bundle.items() if name not in ("CPU", "GPU", "memory")}
  return ray.remote(_rank_process.RankProcess).options(
      num_cpus=options.bundle["CPU"], num_gpus=options.bundle.get("GPU", 0),
      memory=options.bundle.get("memory"), resources=others,
      max_concurrency=4, max_restarts=0, max_task_retries=0,
      scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle))


class _Supervision:
  """Waits for the ranks of a start, prints their output, and ends them as `millrace launch` does."""

  def __init__(self, team: _Team, options: _Options, stop: threading.Event, kill: threading.Event,
               set_state: Callable[[str], None], may_restart: Callable[[], bool]) -> None:
    self._team = team
    self._options = options
    self._stop = stop
    self._kill = kill
    self._set_state = set_state
    self._may_restart = may_restart
    self._ends: list[RankEnd] = []
    self._running = list(team.ranks)
    self._stage = _Stage.RUNNING
    self._deadline = float("inf")  # of the stage
    self._stopping = False  # SIGTERM was sent since the job is to stop

  def run(self) -> list[RankEnd]:
    """Returns the ends of all ranks, in their order."""
    for rank in self._running:
      rank.answered = time.monotonic()
      rank.ask()
    while self._running:
      ready, _ = ray.wait([rank.poll for rank in self._running], num_returns=1, timeout=LOOK_SECONDS,
                          fetch_local=True)
      # All answers that are there, so that no rank waits for those before it.
      if ready:
        ready, _ = ray.wait([rank.poll for rank in self._running], num_returns=len(self._running), timeout=0)
      arrived = set(ready)
      for rank in [rank for rank in self._running if rank.poll in arrived]:
        self._take_events(rank)
      self._obey()
      self._press_on()
    return self._ends

  def _take_events(self, rank: _Rank) -> None:
    try:
      events = ray.get(rank.poll)
    except ray.exceptions.RayError:
      self._end(rank, None)
      return
    rank.answered = time.monotonic()
    for kind, value in events:
      if kind == "end":
        self._end(rank, value)
        return
      _say("[rank %d] %s" % (rank.number, value), sys.stdout if kind == "out" else sys.stderr)
      if kind == "err" and value.strip() and not PROGRESS.match(value):
        rank.last_line = value.removeprefix("millrace: ")
    rank.ask()

  def _end(self, rank: _Rank, code: int | None) -> None:
    """Records the end of a rank, and decides what the others have to do."""
    self._running.remove(rank)
    end = RankEnd(rank.number, code, self._stage >= _Stage.TOLD)
    self._ends.append(end)
    if code in (_ranks.FINISHED, _ranks.STOPPED):
      return
    what = "millrace: rank %d %s" % (rank.number, _ranks.describe_end(code))
    decides = _ranks.deciding_end(self._ends).code
    if not self._running:
      return
    if not end.forced and self._may_restart() and decides != _ranks.PEER_FAILED and _ranks.can_restart_after(
        decides):
      _say(what + "; the others are killed for a restart")
      self._advance(_Stage.KILLED)
    elif self._stage == _Stage.RUNNING:
      _say(what + "; the others have %g s to leave" % self._options.grace_seconds)
      self._advance(_Stage.LEAVING)
    else:
      _say(what)

  def _advance(self, stage: int) -> None:
    self._stage = stage
    self._deadline = time.monotonic() + self._options.grace_seconds
    self._set_state("stopping" if self._stop.is_set() else "leaving")
    if stage == _Stage.TOLD:
      self._send(signal.SIGTERM)
    elif stage == _Stage.KILLED:
      self._send(signal.SIGKILL)

  def _send(self, number: int) -> None:
    for rank in self._running:
      rank.actor.signal.remote(int(number))

  def _obey(self) -> None:
    """Obeys a request to stop."""
    if self._stop.is_set() and not self._stopping:
      self._stopping = True
      self._set_state("stopping")
      if self._stage < _Stage.TOLD:
        self._send(signal.SIGTERM)
        self._deadline = min(self._deadline, time.monotonic() + self._options.stop_seconds)
    if self._kill.is_set() and self._stage != _Stage.KILLED:
      self._advance(_Stage.KILLED)

  def _press_on(self) -> None:
    """Ends ranks that do not leave, and drops those whose actor does not answer."""
    now = time.monotonic()
    if self._stage != _Stage.RUNNING:
      for rank in [rank for rank in self._running if now > rank.answered + SILENT_SECONDS]:
        ray.kill(rank.actor)
        self._end(rank, None)
    if now < self._deadline or not self._running:
      return
    numbers = ", ".join(str(rank.number) for rank in self._running)
    if self._stage == _Stage.KILLED:
      for rank in list(self._running):
        ray.kill(rank.actor)
        self._end(rank, None)
      return
    stage = _Stage.TOLD if self._stage == _Stage.LEAVING and not self._stopping else _Stage.KILLED
    _say("millrace: rank %s did not leave: %s" % (numbers, "SIGTERM" if stage == _Stage.TOLD else "SIGKILL"))
    self._advance(stage)


def start(
    job: str,
    ranks: int,
    *,
    cpus: float = 1,
    gpus: float = 0,
    command: str = "train",
    args: Sequence[str] = (),
    program: str | Sequence[str] | None = None,
    max_restarts: int = 3,
    min_ranks: int = 1,
    env: Mapping[str, str] | None = None,
    resources: Mapping[str, float] | None = None,
    strategy: str = "PACK",
    folder: str | None = None,
    grace_seconds: float = 10,
    stop_seconds: float = 300,
    start_seconds: float = 600,
    restart_seconds: float = 30,
) -> Job:
  """Starts a job on Ray and returns at once. Connects to Ray as `ray.init()` does, unless it is connected.

  Args:
    job: the configuration of the job, a file that all nodes see.
    ranks: the number of ranks, 1 to 1024.
    cpus: CPUs of each rank, which become its threads unless `args` has `--threads`; at least 1.
    gpus: GPUs of each rank, 0 or more. `args` needs `--device cuda` then (docs/cuda.md), and several ranks need
      `strategy="STRICT_SPREAD"`: one rank per node, since Ray shows each rank only its own devices.
    command: `train`, `evaluate` or `predict`.
    args: more arguments of the command, such as `["--max_steps", "100"]`.
    program: a program to run in place of the wheel's, such as that of a job of your own; with a sequence, the
      beginning of the command line.
    max_restarts: number of restarts in a row without a newer checkpoint; 0: the job is never started again.
    min_ranks: the fewest ranks of a restart, 1 to `ranks`. `train.global_batch_size` keeps the size of a step.
    env: variables of the ranks, in addition to those of Ray's workers.
    resources: other resources of Ray that each rank needs, such as `{"memory": 8e9}` or ones of your own.
    strategy: of the placement group: PACK, SPREAD, STRICT_PACK or STRICT_SPREAD.
    folder: the working directory of the ranks on all nodes; by default that of this process.
    grace_seconds: time for the other ranks to leave after a rank failed, and again after SIGTERM.
    stop_seconds: time for the ranks to save and end after Job.stop().
    start_seconds: how long the first start waits for the resources of all ranks.
    restart_seconds: how long a restart waits for them, before it takes fewer ranks.
  Raises:
    ValueError: an argument is out of its range.
  """
  _check(ranks, cpus, gpus, command, max_restarts, min_ranks, strategy)
  folder = os.path.abspath(folder or ".")
  arguments = _ranks.rank_arguments(command, job, cpus, args)
  options = _Options(
      arguments=arguments, summary=_ranks.flag_of(args, "--summary") or "",
      output_dir=_ranks.output_dir_of(_text_of(os.path.join(folder, job)), args), folder=folder,
      program=[program] if isinstance(program, str) else None if program is None else list(program),
      ranks=ranks, min_ranks=min_ranks, max_restarts=max_restarts,
      bundle={"CPU": cpus, **({"GPU": gpus} if gpus else {}), **(resources or {})}, strategy=strategy,
      environment=dict(env or {}), grace_seconds=grace_seconds, stop_seconds=stop_seconds,
      start_seconds=start_seconds, restart_seconds=restart_seconds)
  if not ray.is_initialized():
    ray.init()
  return Job(options)


def run(job: str, ranks: int, **options: Any) -> Result:
  """Runs a job on Ray and waits until it has ended.

  SIGINT (Ctrl-C), SIGTERM and SIGHUP to this process stop the job, as Job.stop() does; a second one kills the
  ranks. This holds only if the main thread calls.

  Args: those of start().
  Returns: how the job ended: code 0, or 75 after such a signal.
  Raises: what start() and Job.wait() raise.
  """
  handle = start(job, ranks, **options)
  with _stop_on_signals(handle):
    return handle.wait()


@contextlib.contextmanager
def _stop_on_signals(job: Job) -> Iterator[None]:
  if threading.current_thread() is not threading.main_thread():
    yield
    return
  came = []

  def handle(number: int, _: Any) -> None:
    job.stop(kill=bool(came))
    came.append(number)

  before = {name: signal.signal(getattr(signal, name), handle) for name in STOP_SIGNALS}
  try:
    yield
  finally:
    for name, handler in before.items():
      signal.signal(getattr(signal, name), signal.SIG_DFL if handler is None else handler)


def _text_of(job: str) -> str:
  """Returns the text of a configuration; "" if only the nodes see the file."""
  with contextlib.suppress(OSError, UnicodeDecodeError):
    with open(job, encoding="utf-8") as file:
      return file.read()
  return ""


def _check(ranks: int, cpus: float, gpus: float, command: str, max_restarts: int, min_ranks: int,
           strategy: str) -> None:
  """Raises ValueError for arguments of start() that are out of range."""
  for wrong, text in (
      (not 1 <= ranks <= MOST_RANKS, "ranks=%s: give 1 to %d" % (ranks, MOST_RANKS)),
      (not cpus >= 1, "cpus=%s: give 1 or more for each rank" % cpus),
      (not gpus >= 0, "gpus=%s: give 0 or more for each rank" % gpus),
      (command not in _ranks.COMMANDS, "command=%r: give one of %s" % (command, ", ".join(_ranks.COMMANDS))),
      (max_restarts < 0, "max_restarts=%s: give 0 or more" % max_restarts),
      (not 1 <= min_ranks <= ranks, "min_ranks=%s: give 1 to ranks=%s" % (min_ranks, ranks)),
      (strategy not in STRATEGIES, "strategy=%r: give one of %s" % (strategy, ", ".join(STRATEGIES))),
      # A rank finds its device by LOCAL_RANK, among all devices of its machine.
      (gpus > 0 and ranks > 1 and strategy != "STRICT_SPREAD",
       "gpus=%s: give strategy=\"STRICT_SPREAD\", one rank per node" % gpus),
  ):
    if wrong:
      raise ValueError(text)
