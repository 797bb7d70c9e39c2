"""The extension of millrace._training, in C++ (python/train_module.cc)."""
from types import ModuleType
from typing import Any, Callable, Sequence

import torch

class Context:
  """Access of a hook to the loop, during one event; afterwards each use raises RuntimeError."""
  @property
  def phase(self) -> str:
    """"train" or "evaluate"."""
  @property
  def step(self) -> int:
    """Updates applied, over all resumes, as the following."""
  @property
  def examples(self) -> int:
    """Examples of these updates, of all ranks."""
  @property
  def epoch(self) -> int:
    """Epochs finished."""
  @property
  def window(self) -> int:
    """Windows finished."""
  @property
  def skipped_steps(self) -> int:
    """Steps refused since something was not finite."""
  @property
  def windowed(self) -> bool:
    """True if the data comes in windows."""
  @property
  def rank(self) -> int: ...
  @property
  def world_size(self) -> int: ...
  @property
  def report_due(self) -> bool:
    """True if a report follows this step; always true in evaluation."""
  def report(self, name: str, value: float, reduction: str = "mean") -> None:
    """Adds a value to the next report, or to the result of the evaluation.

    Args:
      reduction: over steps and ranks: mean, sum, min, max or last.
    """
  def evaluate(self, set: str = "", *, this_rank: bool = False) -> None:
    """Requests an evaluation of a set; "": of all.

    Args:
      this_rank: False if all ranks make the request at the same point; True if this one alone may.
    """
  def checkpoint(self, *, this_rank: bool = False) -> None:
    """Requests a checkpoint."""
  def stop(self, reason: str, *, this_rank: bool = False) -> None:
    """Requests that the run stop, with a checkpoint if the job saves them. A stop cannot be withdrawn."""

# (None, value), or (message, (name of the status code, exit code, exception or None)).
_Outcome = tuple[str | None, Any]

class CheckpointFile:
  """An open checkpoint, for millrace.Checkpoint."""
  @staticmethod
  def open(path: str) -> _Outcome: ...
  def json(self) -> str:
    """Returns what `millrace checkpoint show --json` prints."""
  def model(self) -> _Outcome:
    """Returns the dense parameters and buffers by name."""
  def rows(self, table: str, column: str, ids: torch.Tensor) -> _Outcome:
    """Returns the values of ids, contiguous int64 [n], and which of them have a row."""
  def all_rows(self, table: str, column: str) -> _Outcome:
    """Returns the ids and the values of all rows."""
  def columns(self, table: str) -> _Outcome: ...
  def ids_of(self, table: str, texts: Sequence[str]) -> _Outcome: ...
  def diff(self, other: CheckpointFile) -> _Outcome:
    """Returns the differences as JSON."""

class ServedModel:
  """A model without its trainer, for millrace.Predictor."""
  @staticmethod
  def open(path: str, workers: int, threads: int) -> _Outcome: ...
  def predict(self, columns: dict[str, tuple[torch.Tensor | Sequence[str], torch.Tensor | None]]) -> _Outcome:
    """Returns (predictions, step). A column: contiguous int64 or float64 values or texts, and lengths, int64."""
  def follow(self) -> bool: ...
  def columns(self) -> list[str]: ...
  def labels(self) -> list[str]: ...
  def version(self) -> tuple[str, int]: ...

class DataReader:
  """The data of a job, for millrace.Dataset."""
  @staticmethod
  def open(config: str, set: Sequence[str], part: str, rank: int, world_size: int) -> _Outcome: ...
  def start_epoch(self, epoch: int) -> _Outcome: ...
  def seek(self, cursor: bytes) -> _Outcome: ...
  def next(self, support: ModuleType) -> _Outcome:
    """Returns (Batch, or None at the end of the epoch or window; the cursor behind it)."""
  @property
  def windowed(self) -> bool: ...
  def next_window(self, support: ModuleType) -> _Outcome:
    """Returns (Window or None, whether the stream has ended)."""

def train(config: str, set: Sequence[str], overwrite: bool,
          module: torch.nn.Module | Callable[[], torch.nn.Module] | None, hooks: Sequence[object],
          metrics: dict[str, Any], support: ModuleType) -> _Outcome: ...
def check(config: str, set: Sequence[str], module: torch.nn.Module | Callable[[], torch.nn.Module] | None,
          metrics: dict[str, Any], support: ModuleType) -> _Outcome: ...
def evaluate(checkpoint: str, config: str, set: Sequence[str], weights: str,
             module: torch.nn.Module | Callable[[], torch.nn.Module] | None, metrics: dict[str, Any],
             support: ModuleType) -> _Outcome: ...
def predict(checkpoint: str, config: str, set: Sequence[str], weights: str,
            module: torch.nn.Module | Callable[[], torch.nn.Module] | None, output: str, data: str | None,
            keep: Sequence[str], overwrite: bool, metrics: dict[str, Any], support: ModuleType) -> _Outcome: ...
def gil_acquisitions() -> dict[str, int]:
  """Returns how often this process acquired the GIL to call a "model", a "hook" or a "metric"."""
