"""A rank as a process of the one that owns it. Needs only the standard library.

`millrace.ray` makes an actor of RankProcess for each rank. The methods may be called by several threads.
"""
from __future__ import annotations

import json
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

LONGEST_LINE = 65536  # bytes; a longer line is passed on in pieces
MOST_LINES = 10000  # that wait for events(); then the rank waits when its pipe is full
SECONDS_FOR_OUTPUT = 1  # after the end of a rank, if another process still holds its outputs
CHECKPOINT = re.compile(r"step-(\d+)$")


def newest_step(output_dir: str) -> int:
  """Returns the step of the newest checkpoint of an output directory, -1 if there is none.

  If its checkpoints are elsewhere (run.places.checkpoints): the last step that the run noted.
  """
  folder = os.path.join(output_dir, "checkpoints")
  try:
    if os.path.isfile(folder):
      with open(os.path.join(output_dir, "status.json"), encoding="utf-8") as file:
        return int(json.load(file).get("step", -1))
    names = os.listdir(folder)
  except (OSError, ValueError):
    return -1
  return max((int(found[1]) for found in map(CHECKPOINT.match, names) if found), default=-1)


def _version(path: str) -> tuple[int, ...] | None:
  """Returns what changes when a file is written again, None if there is no such file."""
  try:
    status = os.stat(path)
  except OSError:
    return None
  return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class RankProcess:
  """Starts a rank, passes its output on, sends it signals. Ends the rank when this process ends."""

  def __init__(self, guard: str) -> None:
    """`guard` is the text of _rank_guard.py, so that it need not be installed where the rank runs."""
    self._guard = guard
    self._events: queue.Queue = queue.Queue(MOST_LINES)
    self._process: subprocess.Popen | None = None
    self._lock = threading.Lock()  # of the standard input of the guard
    self._summary = ""  # a file; "": none
    self._earlier: tuple[int, ...] | None = None  # the version of this file before the start
    self._temporary: tempfile.TemporaryDirectory | None = None

  def address(self) -> str:
    """Returns the address at which Ray knows this machine."""
    import ray  # pylint: disable=import-outside-toplevel
    return ray.util.get_node_ip_address()

  def free_port(self) -> int:
    """Returns a TCP port that is free at the time of the call."""
    with socket.socket() as listener:
      listener.bind(("", 0))
      return listener.getsockname()[1]

  def newest_step(self, output_dir: str) -> int:
    """See above."""
    return newest_step(output_dir)

  def start(self, program: list[str] | None, arguments: list[str], environment: dict[str, str | None],
            folder: str, summary: str | None) -> None:
    """Starts the rank.

    Args:
      program: the command line before `arguments`; None: the program of the wheel in the environment of
        this process.
      arguments: of the rank.
      environment: variables to set, or with None to remove.
      folder: the working directory.
      summary: the file that `--summary` of `arguments` names; "": a temporary file, for which the flag is
        added; None: the rank writes none.
    Raises: OSError if there is no such folder, or no process can be made.
    """
    command = (program or [sys.executable, "-m", "millrace"]) + arguments
    if summary == "":
      self._temporary = tempfile.TemporaryDirectory(prefix="millrace-")
      summary = os.path.join(self._temporary.name, "summary.json")
      command += ["--summary", summary]
    self._summary = os.path.join(folder, summary) if summary else ""
    self._earlier = _version(self._summary)
    variables = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    self._process = subprocess.Popen([sys.executable, "-c", self._guard] + command, cwd=folder, env=variables,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     start_new_session=True)
    readers = [threading.Thread(target=self._read, args=output, daemon=True)
               for output in (("out", self._process.stdout), ("err", self._process.stderr))]
    for reader in readers:
      reader.start()
    threading.Thread(target=self._wait, args=(readers,), daemon=True).start()

  def _read(self, name: str, output) -> None:
    with output:
      for line in iter(lambda: output.readline(LONGEST_LINE), b""):
        self._events.put((name, line.rstrip(b"\r\n").decode(errors="replace")))

  def _wait(self, readers: list[threading.Thread]) -> None:
    code = self._process.wait()
    with self._lock:
      self._process.stdin.close()
    end = time.monotonic() + SECONDS_FOR_OUTPUT
    for reader in readers:
      reader.join(max(0, end - time.monotonic()))
    # A negative code is a signal to the guard, which also kills the rank.
    self._events.put(("end", code if code >= 0 else 128 - code))

  def events(self, seconds: float) -> list[tuple[str, str | int]]:
    """Waits at most `seconds` for output or the end of the rank.

    Returns: ("out", line), ("err", line), and after them ("end", code): 128 + S if signal S killed it.
    """
    found = []
    try:
      found.append(self._events.get(timeout=seconds))
      while len(found) < MOST_LINES:
        found.append(self._events.get_nowait())
    except queue.Empty:
      pass
    return found

  def signal(self, number: int) -> None:
    """Sends a signal to the rank and to what it started. Does nothing if the rank has ended."""
    with self._lock:
      if self._process is None or self._process.stdin.closed:
        return
      try:
        os.write(self._process.stdin.fileno(), bytes([number]))
      except BrokenPipeError:
        pass  # it has just ended

  def summary(self) -> dict | None:
    """Returns the summary that the rank wrote, None if there is none, and removes a temporary file.

    A file of an earlier start is no summary of this one.
    """
    try:
      if _version(self._summary) == self._earlier:
        return None
      with open(self._summary, encoding="utf-8") as file:
        return json.load(file)
    except (OSError, ValueError):
      return None
    finally:
      if self._temporary:
        self._temporary.cleanup()
