"""Decisions about the ranks of a job, without any means to run them: see docs/distributed.md."""
from __future__ import annotations

import enum
import re
import signal
from collections.abc import Sequence
from typing import NamedTuple

FINISHED, STOPPED, PEER_FAILED = 0, 75, 76  # exit codes, see docs/exit_codes.md
COMMANDS = ("train", "evaluate", "predict")  # that run over ranks and have a configuration
# Variables of other launchers, which a rank would obey.
FOREIGN = ("TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RUN_ID", "PET_NNODES", "PET_NODE_RANK",
           "PET_NPROC_PER_NODE", "PET_MASTER_ADDR", "PET_MASTER_PORT")


class RankEnd(NamedTuple):
  """The end of a rank."""
  rank: int
  code: int | None  # 128 + S if signal S killed it; None: it was lost with its actor or node
  forced: bool = False  # True after a request to leave, since another rank had failed


class Action(enum.Enum):
  """What follows after the end of all ranks."""
  FINISH = "finish"
  STOP = "stop"
  RESTART = "restart"
  FAIL = "fail"


class Place(NamedTuple):
  """Where a rank runs."""
  bundle: int  # of the placement group
  address: str  # of the machine
  local_rank: int
  local_world_size: int


def signal_of(code: int) -> int:
  """Returns the signal that killed a rank with this code, 0 if none did."""
  number = code - 128
  return number if 0 < number < signal.NSIG else 0


def can_restart_after(code: int | None) -> bool:
  """Returns True if another start may succeed: the rank was lost, lost another one or was killed."""
  return code is None or code == PEER_FAILED or signal_of(code) != 0


def describe_end(code: int | None) -> str:
  if code is None:
    return "was lost with its actor or node"
  number = signal_of(code)
  if number:
    return "was killed by signal %d (%s)" % (number, signal.strsignal(number))
  return "exited with code %d" % code


def deciding_end(ends: Sequence[RankEnd]) -> RankEnd:
  """Returns the end that decides the end of the job, as `millrace launch` chooses it.

  `ends`, at least one, are in their order. The first rank that failed by itself decides; else the first that
  was stopped (75), because of which others may have left; else the first that left because of another (76).
  """
  for decides in (
      lambda end: end.code not in (FINISHED, STOPPED, PEER_FAILED) and not end.forced,
      lambda end: end.code == STOPPED and not end.forced,
      lambda end: end.code == PEER_FAILED,
  ):
    for end in ends:
      if decides(end):
        return end
  return ends[0]


def action_after(code: int | None, stop_requested: bool) -> Action:
  """Returns what follows after the code of deciding_end."""
  if code == FINISHED:
    return Action.FINISH
  if code == STOPPED or can_restart_after(code):
    return Action.STOP if stop_requested else Action.RESTART
  return Action.FAIL


class Restarts:
  """Decides whether a job may be started again. Counts restarts between which no checkpoint was made."""

  def __init__(self, most: int, step: int) -> None:
    """Allows `most` such restarts in a row; 0: no restart. `step`: see allow()."""
    self.total = 0
    self.without_progress = 0
    self._most = most
    self._step = step

  def allow(self, step: int) -> bool:
    """Returns True, and counts the restart, if the job may be started again.

    `step` is that of the newest checkpoint, -1 if there is none or no process sees the output directory.
    """
    if step > self._step:
      self.without_progress = 0
    elif self.without_progress < self._most:
      self.without_progress += 1
    else:
      return False
    if self._most == 0:
      return False
    self.total += 1
    self._step = max(self._step, step)
    return True


def place_ranks(addresses: Sequence[str]) -> list[Place]:
  """Numbers the ranks of a placement group.

  Args:
    addresses: the machine of each bundle.
  Returns: the place of each rank. Ranks of one machine have numbers in a row, and rank 0 has bundle 0.
  """
  machines: dict[str, list[int]] = {}
  for bundle, address in enumerate(addresses):
    machines.setdefault(address, []).append(bundle)
  return [Place(bundle, address, local_rank, len(bundles))
          for address, bundles in machines.items() for local_rank, bundle in enumerate(bundles)]


def rank_environment(places: Sequence[Place], rank: int, port: int, restart: int) -> dict[str, str | None]:
  """Returns the variables of a rank; those with None are to be removed."""
  variables: dict[str, str | None] = dict.fromkeys(FOREIGN)
  place = places[rank]
  variables.update({
      "RANK": str(rank),
      "WORLD_SIZE": str(len(places)),
      "LOCAL_RANK": str(place.local_rank),
      "LOCAL_WORLD_SIZE": str(place.local_world_size),
      "MASTER_ADDR": places[0].address,
      "MASTER_PORT": str(port),
      "TORCHELASTIC_RESTART_COUNT": str(restart),
  })
  return variables


def flag_of(arguments: Sequence[str], flag: str) -> str | None:
  """Returns the last value of a flag, given as `flag value` or `flag=value`; None if it is not given."""
  value = None
  for index, argument in enumerate(arguments):
    if argument.startswith(flag + "="):
      value = argument[len(flag) + 1:]
    elif argument == flag and index + 1 < len(arguments):
      value = arguments[index + 1]
  return value


def settings_of(arguments: Sequence[str]) -> dict[str, str]:
  """Returns the values of `--set path.to.field=value`."""
  pairs = [following if argument == "--set" else argument[len("--set="):]
           for argument, following in zip(arguments, [*arguments[1:], ""])
           if argument == "--set" or argument.startswith("--set=")]
  return {path.strip(): value.strip().strip("\"'") for path, _, value in (each.partition("=") for each in pairs)}


def rank_arguments(command: str, job: str, cpus: float, arguments: Sequence[str]) -> list[str]:
  """Returns the arguments of each rank, with `--threads` of the CPUs that a rank has unless they are given."""
  threads = []
  if flag_of(arguments, "--threads") is None and "run.threads" not in settings_of(arguments):
    threads = ["--threads", str(max(1, int(cpus)))]
  return [command, job, *threads, *arguments]


def output_dir_of(text: str, arguments: Sequence[str]) -> str:
  """Returns the output directory of a job with this text and these arguments."""
  flag = flag_of(arguments, "--output_dir")
  if flag is None:
    flag = settings_of(arguments).get("run.output_dir")
  if flag is not None:
    return flag
  strings_and_comments = r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|#[^\n]*'
  text = re.sub(strings_and_comments, lambda found: "" if found[0][0] == "#" else found[0], text)
  found = re.findall(r"\boutput_dir\s*:\s*(?:\"([^\"]*)\"|'([^']*)')", text)
  return (found[-1][0] or found[-1][1]) if found else "out"
