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

def train(config: str, set: Sequence[str], overwrite: bool,
          module: torch.nn.Module | Callable[[], torch.nn.Module] | None, hooks: Sequence[object],
          support: ModuleType) -> _Outcome: ...
def check(config: str, set: Sequence[str], module: torch.nn.Module | Callable[[], torch.nn.Module] | None,
          support: ModuleType) -> _Outcome: ...
def gil_acquisitions() -> dict[str, int]:
  """Returns how often this process acquired the GIL to call a "model" or a "hook"."""
