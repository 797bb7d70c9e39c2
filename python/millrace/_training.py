"""Training from Python; `import millrace` gives these names (docs/python.md)."""
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import importlib
import inspect
import io
import json
import os
import pickle
import sys
import tempfile
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence, cast

from millrace import _build, _librdkafka

if TYPE_CHECKING:
  from typing import TypeAlias, Union

  import torch
  from millrace import _train
  from millrace._train import Context

  # numpy's arrays are sequences as well; numpy need not be there.
  Values: TypeAlias = Union[torch.Tensor, Sequence[int], Sequence[float], Sequence[str]]

_PYTHON = (3, 11)  # for which the extension is compiled


def _import_pinned(name: str) -> Any:
  """Imports a package in the version with which the extension was linked."""
  version = _build.PINS[name]
  try:
    module = importlib.import_module(name)
  except ImportError as error:
    if (error.name or name).partition(".")[0] != name:
      raise
    raise ImportError("millrace.train needs %s, which is not installed: pip install %s==%s" %
                      (name, name, version)) from None
  found = module.__version__.split("+")[0]
  if found != version:
    raise ImportError("millrace.train needs %s %s, and this is %s: pip install %s==%s, or use another virtual "
                      "environment" % (name, version, found, name, version))
  return module


def _import_extension() -> tuple[Any, Any]:
  if sys.implementation.name != "cpython" or sys.version_info[:2] != _PYTHON:
    raise ImportError("millrace.train needs CPython %d.%d, and this is %s %d.%d: install Millrace into an environment "
                      "of python%d.%d" % (*_PYTHON, sys.implementation.name, *sys.version_info[:2], *_PYTHON))
  # Both first: the extension then shares their libraries, and the libstdc++ of the system.
  found = [_import_pinned(name) for name in ("torch", "pyarrow")]
  try:
    extension = importlib.import_module("millrace._train")
  except ImportError as error:
    raise ImportError("this build of Millrace has no extension for millrace.train (%s): install a wheel of Millrace "
                      "for CPython %d.%d, or build with the package libpython3.11-dev" % (error, *_PYTHON)) from None
  _librdkafka.offer()
  return found[0], extension


if not TYPE_CHECKING:
  torch, _train = _import_extension()
  Context = _train.Context

# The process that used the extension, whose threads do not follow into a fork.
_process: int | None = None
_WINDOW_WAIT = 1.0  # seconds between looks for a window

# What forward() may ask for.
ARGUMENTS = ("dense", "sparse", "pooled", "labels", "weights", "groups")


class Error(Exception):
  """A failure of Millrace. Its text is the line that the program would print.

  An exception of a module or a hook is the __cause__, with its traceback.

  Attributes:
    code: the name of the status code, such as INVALID_ARGUMENT.
    exit_code: that of the program for this failure (docs/exit_codes.md); for sys.exit() of a rank.
  """

  def __init__(self, message: str, code: str, exit_code: int) -> None:
    super().__init__(message)
    self.code = code
    self.exit_code = exit_code

  def __reduce__(self) -> tuple[Any, ...]:
    return Error, (str(self), self.code, self.exit_code)


def _value(outcome: tuple[Any, Any]) -> Any:
  """Returns the value of a call of the extension, or raises its error."""
  message, value = outcome
  if message is None:
    return value
  code, exit_code, cause = value
  if cause is not None and not isinstance(cause, Exception):
    raise cause  # KeyboardInterrupt, SystemExit
  raise Error(message, code, exit_code) from cause


def _enter_process() -> None:
  """Notes that this process uses the extension. Raises: RuntimeError after a fork of one that did."""
  global _process
  if _process is None:
    _process = os.getpid()
  if _process != os.getpid():
    raise RuntimeError("millrace was used before this process was forked, and its threads are missing here; start "
                       "processes by spawn (DataLoader: num_workers=0 or multiprocessing_context=\"spawn\")")


class Rows(NamedTuple):
  """The rows of a sparse feature with pooling NONE. Example e has rows[offsets[e]:offsets[e + 1]]."""
  rows: torch.Tensor  # float32 [ids, dim]
  offsets: torch.Tensor  # int64 [batch + 1]


@dataclasses.dataclass
class Output:
  """What forward() returns in place of logits: logits with values to report, or a loss of its own.

  Give `logits`, or `loss` and `predictions`.
  """
  logits: torch.Tensor | None = None  # [batch, labels]; [batch] if there is one label
  # []: SUMMED over the examples (reduction="sum"), not averaged, times their weights. [labels] if targets are counted,
  # which is so for several labels, labels that may be missing, and losses over groups.
  loss: torch.Tensor | None = None
  predictions: torch.Tensor | None = None  # [batch, labels], for metrics
  # Name: a number or a tensor of one; reports have the mean over steps and ranks.
  values: Mapping[str, torch.Tensor | float] = dataclasses.field(default_factory=dict)


class Window(NamedTuple):
  """A window of a stream."""
  index: int  # type: ignore[assignment]  # in place of the method of tuples
  name: str
  examples_done: int  # by this rank, before this run


class Batch(NamedTuple):
  """A micro-batch. Hooks must not change it. The ids of feature f and example e are
  ids[offsets[f * size + e]:offsets[f * size + e + 1]], with features in the order of the job."""
  size: int
  dense: torch.Tensor  # float32 [size, dense features]
  labels: torch.Tensor  # float32 [size, labels]; not-a-number: missing
  weights: torch.Tensor | None  # float32 [size]; None: all 1
  example_ids: torch.Tensor | None  # int64 [size]
  groups: torch.Tensor | None  # int64 [size]
  ids: torch.Tensor | None  # int64 [ids]
  offsets: torch.Tensor | None  # int64 [features * size + 1]
  id_weights: torch.Tensor | None  # float32 [ids]; None: all 1


class Step(NamedTuple):
  """The outcome of a step; in evaluation, of a batch."""
  applied: bool  # False: refused, since something was not finite; nothing changed
  refused: str  # then: what was not finite
  examples: int  # of all ranks; in evaluation, of this one
  loss: torch.Tensor  # float32 []
  predictions: torch.Tensor  # float32 [examples of this rank, labels]
  labels: torch.Tensor  # the same
  weights: torch.Tensor | None  # float32 [examples of this rank]; None: all 1
  values: dict[str, torch.Tensor]  # of the module, float32 []
  learning_rate: float
  figures: dict[str, float]  # such as gradient_norm


class Report(NamedTuple):
  """Figures of training since the last report."""
  step: int
  steps: int
  examples: int
  examples_per_second: float
  metrics: dict[str, float]  # loss, auc, ...
  values: dict[str, float]  # of hooks and the module
  learning_rates: dict[str, float]
  rows: dict[str, int]  # of each table


class Evaluation(NamedTuple):
  """A finished evaluation."""
  set: str
  step: int
  examples: int
  metrics: dict[str, float]
  values: dict[str, float]


def _integers(ids: torch.Tensor | Sequence[int] | int) -> torch.Tensor:
  try:
    tensor = torch.as_tensor(ids)
  except (TypeError, ValueError, RuntimeError) as error:
    raise TypeError("ids are integers, or a list or tensor of them, and this is %.80r; see Table.ids_of() for texts" %
                    (ids,)) from error
  if tensor.numel() > 0 and (tensor.is_floating_point() or tensor.dtype == torch.bool):
    raise TypeError("ids are integers, and these are %s" % tensor.dtype)
  return tensor.to(torch.int64).contiguous()


class Table:
  """The rows of a table in a checkpoint; len() is their number. Only what is asked for is read.

  A column is "weights", "frequency", "last_step" or "slot/NAME", where NAME is a state of the optimizer.
  """

  def __init__(self, file: _train.CheckpointFile, name: str, dim: int, rows: int) -> None:
    self._file = file
    self.name = name
    self.dim = dim
    self._rows = rows

  def __len__(self) -> int:
    return self._rows

  def __repr__(self) -> str:
    return "<millrace.Table %s: %d rows, dim %d>" % (self.name, self._rows, self.dim)

  def ids_of(self, texts: Sequence[str]) -> torch.Tensor:
    """Returns the ids that the features of the table make of texts, int64 [texts].

    Raises:
      Error: no feature of the table makes ids of texts, or a text is not in its vocabulary.
    """
    return cast("torch.Tensor", _value(self._file.ids_of(self.name, _texts("texts", texts))))

  def columns(self) -> list[str]:
    """Returns the names of the columns."""
    return cast("list[str]", _value(self._file.columns(self.name)))

  __iter__ = None  # rows have ids, not positions: see items()

  def __contains__(self, id: int) -> bool:
    return bool(self.find(id)[1])

  def __getitem__(self, ids: torch.Tensor | Sequence[int] | int) -> torch.Tensor:
    """Returns the weights of ids, [..., dim] for ids of shape [...], in the type of the rows (float32 by default).

    Raises:
      KeyError: naming the ids that have no row.
    """
    asked = _integers(ids)
    values, found = self.find(asked)
    if not bool(found.all()):
      missing = [str(id) for id in asked[~found].flatten().tolist()]
      more = ", and %d more" % (len(missing) - 8) if len(missing) > 8 else ""
      raise KeyError("table %s has no row of id %s%s" % (self.name, ", ".join(missing[:8]), more))
    return values

  def find(self, ids: torch.Tensor | Sequence[int] | int, column: str = "weights") -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the values of ids, [..., width] or [...], and bool [...]: which ids have a row; others have 0."""
    asked = _integers(ids)
    values, found = _value(self._file.rows(self.name, column, asked))
    return values.reshape(asked.shape + values.shape[1:]), found.reshape(asked.shape)

  def items(self, column: str = "weights") -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the ids of all rows, int64 [rows], and their values, [rows, width] or [rows]."""
    ids, values = _value(self._file.all_rows(self.name, column))
    return ids, values


class Checkpoint:
  """A checkpoint on a file system, read without its model. All values are checked against their digests.

    weights = millrace.Checkpoint("out").table("user")[[17, 4711]]

  A hook's after_checkpoint() gets one that is opened when it is first read: retention may have removed it by then.

  Attributes:
    path: the directory of the checkpoint.
  """

  def __init__(self, path: str | os.PathLike[str]) -> None:
    """Opens a checkpoint; of a folder of checkpoints, or an output directory, the newest that is whole.

    Raises:
      Error: there is none, or it is damaged.
    """
    self._opened: tuple[_train.CheckpointFile, dict[str, Any]] | None = None
    self._step: int | None = None
    self.path = os.fspath(path)
    self.path = str(self.info["path"])

  @property
  def info(self) -> dict[str, Any]:
    """What `millrace checkpoint show --json` prints."""
    return self._open()[1]

  @property
  def step(self) -> int:
    """The updates before the checkpoint; in a hook they may be fewer than the context's."""
    return int(self.info["progress"]["step"]) if self._step is None else self._step

  def _open(self) -> tuple[_train.CheckpointFile, dict[str, Any]]:
    if self._opened is None:
      file = _value(_train.CheckpointFile.open(self.path))
      self._opened = file, json.loads(file.json())
    return self._opened

  def __repr__(self) -> str:
    return "millrace.Checkpoint(%r)" % self.path

  def parameters(self) -> dict[str, torch.Tensor]:
    """Returns the dense parameters and buffers by name, for module.load_state_dict()."""
    return cast("dict[str, torch.Tensor]", _value(self._open()[0].model()))

  def tables(self) -> list[str]:
    """Returns the names of the tables."""
    return list(self.info["tables"])

  def table(self, name: str) -> Table:
    """Returns a table. Raises: KeyError."""
    if name not in self.info["tables"]:
      raise KeyError("%s has no table %r; it has %s" % (self.path, name, ", ".join(self.tables())))
    info = self.info["tables"][name]
    return Table(self._open()[0], name, info["dim"], info["rows"])

  def diff(self, other: Checkpoint | str | os.PathLike[str]) -> dict[str, Any]:
    """Returns in what the checkpoints differ, as `millrace checkpoint diff --json` prints it; ["equal"]: in nothing."""
    if not isinstance(other, Checkpoint):
      other = Checkpoint(other)
    return cast("dict[str, Any]", json.loads(_value(self._open()[0].diff(other._open()[0]))))


class Predictor:
  """Predictions for rows of raw features, with a model in C++ and without a trainer, as `millrace serve` makes them.

    predictor = millrace.Predictor("out")
    predictor.predict({"age": [31, 45], "user": ["u17", "u4"], "items": ([5, 9, 2], [1, 2])})

  Several threads may call predict(); `workers` of them compute at the same time.

  Attributes:
    path: the directory of the checkpoint.
    step: the updates before it.
    columns: the names of the columns that predict() needs.
    labels: the names of the columns of its result.
  """

  def __init__(self, path: str | os.PathLike[str], *, workers: int = 1, threads: int = 1) -> None:
    """Loads a checkpoint; of a folder of checkpoints, or an output directory, the newest that is whole.

    Args:
      path: a directory, or a URI such as s3://BUCKET/RUN.
      workers: rows are predicted in this number of calls at the same time.
      threads: threads of a call, for tables.

    Raises:
      Error: there is none, it is damaged, or its model is not one of C++ that the wheel has.
    """
    self._model: _train.ServedModel = _value(_train.ServedModel.open(os.fspath(path), workers, threads))
    self.columns = self._model.columns()
    self.labels = self._model.labels()

  @property
  def path(self) -> str:
    return self._model.version()[0]

  @property
  def step(self) -> int:
    return self._model.version()[1]

  def follow(self) -> bool:
    """Takes a newer checkpoint of the folder, if there is one; of deltas, the changed rows alone.

    Returns whether the checkpoint changed. Calls of predict() under way end with the one before. A checkpoint that
    is damaged is passed over with a warning in the log.
    """
    return self._model.follow()

  def predict(self, columns: Mapping[str, Values | tuple[Values, Values]]) -> torch.Tensor:
    """Returns float32 [rows, labels]: probabilities or values.

    Args:
      columns: for each of `columns`, a value for each row, or (values, lengths) with lists of different lengths.
        Values are texts, integers, or floating-point numbers; tensors, arrays or sequences of one dimension.

    Raises:
      Error: a column is missing, unknown or of another type, or a value would be bad data in training.
    """
    request: dict[str, tuple[torch.Tensor | Sequence[str], torch.Tensor | None]] = {}
    for name, given in columns.items():
      values, lengths = given if isinstance(given, tuple) else (given, None)
      request[name] = _numbers_or_texts(values), None if lengths is None else torch.as_tensor(lengths).long().flatten()
    return cast("torch.Tensor", _value(self._model.predict(request))[0])


def _numbers_or_texts(values: Any) -> torch.Tensor | Sequence[str]:
  if not isinstance(values, torch.Tensor) and len(values) > 0 and isinstance(values[0], str):
    return [str(value) for value in values]
  tensor = torch.as_tensor(values).detach().cpu().flatten()
  return (tensor.double() if tensor.is_floating_point() else tensor.long()).contiguous()


class Hook:
  """Base class of hooks, whose events do nothing.

  A subclass overrides the events that it wants; others cost nothing. All calls come from the thread that called
  train(). `context` is valid only during the event. An exception ends the run on all ranks; docs/python.md has the
  order of the events and what remains of a step whose event fails.

  The attribute `name` identifies the hook in messages and checkpoints; by default the name of the class.
  """
  name: str = ""

  def start(self, context: Context) -> None:
    """Called before the first batch is read."""

  def before_epoch(self, context: Context) -> None:
    """Called when an epoch is open, or the rest of one that was resumed."""

  def before_window(self, context: Context, window: Window) -> None:
    """Called when a window is open."""

  def before_step(self, context: Context) -> None:
    """Called when the data of a step is read; in evaluation before each batch."""

  def after_data(self, context: Context, batch: Batch, micro_batch: int) -> None:
    """Called for each micro-batch, before its forward pass."""

  def after_backward(self, context: Context, gradients: dict[str, torch.Tensor | None]) -> None:
    """Called before the update, with the gradients of all ranks by name of the parameter; not to be changed."""

  def after_step(self, context: Context, step: Step) -> None:
    """Called after the update or the refusal of a step; in evaluation after each batch."""

  def out_of_data(self, context: Context, what: str) -> None:
    """Called when a "window", "epoch" or "stream" has no more data on any rank."""

  def after_window(self, context: Context, window: Window) -> None:
    """Called when a window is complete."""

  def after_epoch(self, context: Context) -> None:
    """Called when an epoch is complete."""

  def after_report(self, context: Context, report: Report) -> None:
    """Called with each report."""

  def after_evaluate(self, context: Context, evaluation: Evaluation) -> None:
    """Called when an evaluation is complete."""

  def after_checkpoint(self, context: Context, checkpoint: Checkpoint) -> None:
    """Called when a checkpoint is durable."""

  def end(self, context: Context, error: str | None) -> None:
    """Called last, also after a failure, whose text is `error`."""

  def state_dict(self) -> dict[str, Any]:
    """Returns the state that checkpoints keep for each rank: numbers, texts, tensors, lists and dicts."""
    return {}

  def load_state_dict(self, state: dict[str, Any]) -> None:
    """Takes the state of this rank from a checkpoint; that of rank 0 if the number of ranks differs."""


class Metric:
  """Base class of metrics: figures over all examples of a report or an evaluation.

  The class is given to train(metrics=[...]), and the job names it: `metric: "NAME"`. One object is made without
  arguments for each set, task and slice. An exception ends the run.

  Attributes:
    name: identifies the metric in jobs and reports.
    higher_is_better: for the best score; None: neither.
  """
  name: str = ""
  higher_is_better: bool | None = None

  def update(self, predictions: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor | None,
             groups: torch.Tensor | None) -> None:
    """Adds the examples of a batch for one task.

    Args: float32 [examples]; `groups` int64 [examples]. `weights` None: all 1. They must not be changed. The memory is
      that of the batch: clone() what numpy() is to keep; tensors that are kept are copied.
    """
    raise NotImplementedError("the class needs update()")

  def compute(self) -> float:
    """Returns the value over all examples; not-a-number where there is none."""
    raise NotImplementedError("the class needs compute()")

  def reset(self) -> None:
    """Removes all examples."""
    raise NotImplementedError("the class needs reset()")

  def merge(self, other: Metric) -> None:
    """Adds the examples of another object of this class, such as another rank's."""
    raise NotImplementedError("the class needs merge()")

  def state_dict(self) -> dict[str, Any]:
    """Returns the state that other ranks and checkpoints get: numbers, texts, tensors, lists and dicts."""
    raise NotImplementedError("the class needs state_dict()")

  def load_state_dict(self, state: dict[str, Any]) -> None:
    """Takes the state of another object."""
    raise NotImplementedError("the class needs load_state_dict()")


@dataclasses.dataclass(frozen=True)
class Result:
  """How a run ended. Fields of summary.json (docs/exit_codes.md) that are not here are in `summary`."""
  outcome: str  # "completed", or "stopped" by a hook or a signal
  stop_reason: str  # such as "signal SIGINT"
  steps: int  # over all resumes, as the following
  epochs: int
  windows: int
  examples: int
  seconds: float
  train: dict[str, float]  # metrics of the last report
  # Metrics of the last evaluations of this run, none if it had finished before; "set/metric" for sets not named "eval".
  eval: dict[str, float]
  rows: dict[str, int]  # of each table
  checkpoint: str  # path of the newest; "": none
  exit_code: int  # 0, or 75 after a signal: for sys.exit(), so that launchers run the job again
  summary: dict[str, Any] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Job:
  """The configuration of a job (docs/configuration.md), with changes as `--set` of the program takes them.

    job = Job.from_file("job.textproto", set=["train.max_steps=100", "run.output_dir=out/short"])
  """
  path: str | None = None
  text: str | None = None
  set: tuple[str, ...] = ()

  @classmethod
  def from_file(cls, path: str | os.PathLike[str], *, set: Sequence[str] = ()) -> Job:
    """Returns the job of a file, which is read when it is used."""
    return cls(path=os.fspath(path), set=_texts("set", set))

  @classmethod
  def from_text(cls, text: str, *, set: Sequence[str] = ()) -> Job:
    """Returns the job of a text; messages call it "job".

    Paths in it are relative to the working directory, except those of `include`, which must be absolute.
    """
    return cls(text=text, set=_texts("set", set))

  def check(self, model: Any = None, metrics: Sequence[type[Metric]] = ()) -> list[str]:
    """Checks the job as `millrace config check` does, with `model` and `metrics` as train() takes them.

    Returns: the parts that were not checked, with the reason.
    Raises: Error with a line for each mistake.
    """
    with self._file() as path:
      outcome = _train.check(path, list(self.set), model, _by_name(metrics), sys.modules[__name__])
      return list(self._value(outcome, path))

  @contextlib.contextmanager
  def _file(self) -> Iterator[str]:
    _enter_process()
    if self.text is None:
      if self.path and "\n" in self.path:
        raise ValueError("the path of the job is a text of several lines; give millrace.Job.from_text(text)")
      yield self.path or ""
      return
    with tempfile.TemporaryDirectory(prefix="millrace-") as folder:
      path = os.path.join(folder, "job")
      with open(path, "w", encoding="utf-8") as file:
        file.write(self.text)
      yield path

  def _share_symbols(self, path: str) -> None:
    """Makes the symbols of the extension and its libraries global if the job may name plugins, which need them.

    Other jobs leave them local, so that packages that are imported later do not find the protobuf of Millrace.
    """
    named = not os.path.isfile(path) or any("plugin" in change for change in self.set)
    if not named:
      with contextlib.suppress(OSError), open(path, "rb") as file:  # the extension reports the error
        text = file.read()
        named = b"plugin" in text or b"include" in text  # included files may name plugins
    if named:
      ctypes.CDLL(_train.__file__, os.RTLD_NOW | os.RTLD_GLOBAL | os.RTLD_NOLOAD)

  def _value(self, outcome: tuple[Any, Any], path: str) -> Any:
    """Returns the value of a call of the extension, or raises its error."""
    if self.text is not None and outcome[0] is not None:
      outcome = (outcome[0].replace(path, "job"), outcome[1])
    return _value(outcome)


def train(
    job: Job | str | os.PathLike[str],
    model: torch.nn.Module | Callable[[], torch.nn.Module] | None = None,
    hooks: Sequence[Hook] = (),
    metrics: Sequence[type[Metric]] = (),
    *,
    overwrite: bool = False,
) -> Result:
  """Trains a job as `millrace train` does, in this process and thread, until it completes or stops.

  The process is one rank if a launcher set RANK and WORLD_SIZE (`millrace launch`, torchrun). A run whose
  `run.output_dir` has a checkpoint resumes from it as `run.resume` says. Handlers of signals are installed only while
  batches are trained; Ctrl-C then ends the run with a checkpoint, and the result has the outcome "stopped".

  Args:
    job: a Job, or the path of its file.
    model: the dense part, in place of the job's `model`: a module, or a function without arguments that makes one and
      is called after seeding with `train.seed`. All ranks need the same initial parameters. None: the job's model.
      docs/python.md says what forward() gets and returns.
    hooks: added behind those of the job.
    metrics: classes of metrics that the job names.
    overwrite: outputs may replace files of any kind, but not what the run reads.
  Raises:
    Error: the run failed. What was saved remains, and the process can train again.
    ImportError: this Python or its torch is not the one of the extension.
  """
  job = _as_job(job)
  if isinstance(hooks, Hook):
    hooks = [hooks]
  with _keeping_mode(model), job._file() as path:
    job._share_symbols(path)
    summary, exit_code = job._value(
        _train.train(path, list(job.set), overwrite, model, list(hooks), _by_name(metrics),
                     sys.modules[__name__]), path)
  read = json.loads(summary)
  names = [field.name for field in dataclasses.fields(Result) if field.name not in ("exit_code", "summary")]
  return Result(**{name: read[name] for name in names}, exit_code=exit_code, summary=read)


def _texts(name: str, values: Sequence[str]) -> tuple[str, ...]:
  if isinstance(values, (str, bytes, Mapping)) or not all(isinstance(value, str) for value in values):
    raise TypeError("%s is %r; give a list of texts" % (name, values))
  return tuple(values)


@contextlib.contextmanager
def _keeping_mode(model: Any) -> Iterator[None]:
  """Restores train() or eval() of a module and its submodules."""
  modes = [(each, each.training) for each in model.modules()] if isinstance(model, torch.nn.Module) else []
  try:
    yield
  finally:
    for each, training in modes:
      each.training = training


def _check_weights(weights: str) -> None:
  if weights not in ("", "average", "trained"):
    raise ValueError("weights is %r; give \"average\" or \"trained\"" % (weights,))


def _by_name(metrics: Sequence[type[Metric]]) -> dict[str, type[Metric]]:
  if isinstance(metrics, type):
    raise TypeError("metrics is a class; give a list of classes")
  for metric in metrics:
    if not (isinstance(metric, type) and issubclass(metric, Metric) and isinstance(metric.name, str) and metric.name and
            metric.higher_is_better in (None, False, True)):
      raise TypeError("%r is no class of a metric; derive one from millrace.Metric, with a name, and "
                      "higher_is_better True, False or None" % (metric,))
  return {metric.name: metric for metric in metrics}


def _as_job(job: Job | str | os.PathLike[str]) -> Job:
  return job if isinstance(job, Job) else Job.from_file(job)


def evaluate(
    checkpoint: Checkpoint | str | os.PathLike[str],
    model: torch.nn.Module | Callable[[], torch.nn.Module] | None = None,
    job: Job | str | os.PathLike[str] | None = None,
    *,
    metrics: Sequence[type[Metric]] = (),
    weights: str = "",
) -> dict[str, float]:
  """Evaluates a checkpoint on the evaluation sets of a job, as `millrace evaluate` does.

  Args:
    checkpoint: a checkpoint; of a folder or an output directory the newest.
    model: the module with which it was trained, as train() takes it; its parameters and buffers get the values of the
      checkpoint. None for a model in C++.
    job: by default that of the checkpoint.
    metrics: as train() takes them, if the job names them.
    weights: "average" or "trained"; by default the moving averages if the job keeps them.
  Returns: the metrics; "set/metric" for sets not named "eval".
  Raises: Error.
  """
  job = _as_job("" if job is None else job)
  _check_weights(weights)
  with _keeping_mode(model), job._file() as path:
    summary = job._value(
        _train.evaluate(_path_of(checkpoint), path, list(job.set), weights, model, _by_name(metrics),
                        sys.modules[__name__]), path)
  return cast("dict[str, float]", json.loads(summary)["eval"])


def predict(
    checkpoint: Checkpoint | str | os.PathLike[str],
    output: str | os.PathLike[str],
    model: torch.nn.Module | Callable[[], torch.nn.Module] | None = None,
    job: Job | str | os.PathLike[str] | None = None,
    *,
    data: str | os.PathLike[str] | Sequence[str] | None = None,
    keep: Sequence[str] = (),
    metrics: Sequence[type[Metric]] = (),
    weights: str = "",
    overwrite: bool = False,
) -> int:
  """Writes the predictions of a checkpoint to a file, as `millrace predict` does.

  Args:
    checkpoint, model, job, metrics, weights: as evaluate() takes them.
    output: a .parquet or .csv file.
    data: paths and patterns of the files to predict; by default the evaluation sets of the job.
    keep: columns of these files to write unchanged.
    overwrite: `output` may replace a file of any kind.
  Returns: the number of examples.
  Raises: Error.
  """
  job = _as_job("" if job is None else job)
  paths = None
  if data is not None:
    paths = ",".join([os.fspath(each) for each in ([data] if isinstance(data, (str, os.PathLike)) else data)])
  _check_weights(weights)
  with _keeping_mode(model), job._file() as path:
    return cast("int", job._value(
        _train.predict(_path_of(checkpoint), path, list(job.set), weights, model, os.fspath(output), paths, list(keep),
                       overwrite, _by_name(metrics), sys.modules[__name__]), path))


def _path_of(checkpoint: Checkpoint | str | os.PathLike[str]) -> str:
  return checkpoint.path if isinstance(checkpoint, Checkpoint) else os.fspath(checkpoint)


class Dataset(torch.utils.data.IterableDataset[Batch]):
  """The data of a job as an IterableDataset of millrace.Batch, without training.

    for batch in millrace.Dataset("job.textproto"):
      ...

  Each iteration reads an epoch, in the order in which train() reads it; the next iteration the following epoch, and of
  an evaluation set the same one. An iteration that was left early, or follows load_state_dict(), reads the rest of the
  epoch. Data in windows is one iteration, which waits for windows until the stream ends. A new iteration ends others.

  DataLoader takes it with batch_size=None, and with num_workers=0 or multiprocessing_context="spawn". Worker i of n
  then reads share rank * n + i of world_size * n of the epoch of set_epoch(); it cannot begin within an epoch.

  Args:
    job: a Job, or the path of its file.
    part: "train", or the name of an evaluation set, such as "eval".
    rank, world_size: the share of the data, as that rank of so many reads it.
  Raises:
    Error: from the iteration.
  """

  def __init__(self, job: Job | str | os.PathLike[str], part: str = "train", *, rank: int = 0,
               world_size: int = 1) -> None:
    self._job = _as_job(job)
    self._part = part
    self._share = (rank, world_size)
    self._reader: _train.DataReader | None = None
    self._iteration = 0
    self._epoch = 0
    self._cursor: bytes | None = None  # None: at the beginning of the epoch
    # The window that is being read; None for data without windows, and before the first one.
    self.window: Window | None = None

  def __iter__(self) -> Iterator[Batch]:
    reader = self._open()
    self._iteration += 1
    iteration = self._iteration
    _value(reader.start_epoch(self._epoch) if self._cursor is None else reader.seek(self._cursor))
    while not reader.windowed or self._next_window(reader):
      while True:
        self._check(iteration)
        batch, cursor = _value(reader.next(sys.modules[__name__]))
        if batch is not None or reader.windowed:
          self._cursor = cursor
        if batch is None:
          break
        yield batch
      if not reader.windowed:
        self.set_epoch(self._epoch + 1)
        return

  def set_epoch(self, epoch: int) -> None:
    """Makes the next iteration begin with an epoch, counted from 0, which decides the shuffle."""
    self._epoch = epoch if self._part == "train" else 0
    self._cursor = None

  def state_dict(self) -> dict[str, Any]:
    """Returns the position after the last batch that the iteration returned, or after a completed window."""
    return {"epoch": self._epoch, "cursor": self._cursor, "share": list(self._share)}

  def load_state_dict(self, state: dict[str, Any]) -> None:
    """Makes the next iteration begin at a position, of a dataset of the same job, part, rank and world size."""
    if tuple(state["share"]) != self._share:
      raise ValueError("the state is of rank %d of %d, and this dataset of rank %d of %d" %
                       (*state["share"], *self._share))
    self._epoch, self._cursor = state["epoch"], state["cursor"]

  def _check(self, iteration: int) -> None:
    _enter_process()
    if iteration != self._iteration:
      raise RuntimeError("another iteration over this millrace.Dataset began; use a dataset for each")

  def _open(self) -> _train.DataReader:
    self._check(self._iteration)
    rank, world_size = self._share
    worker = torch.utils.data.get_worker_info()
    if worker is not None:
      if self._cursor is not None:
        raise RuntimeError("workers of a DataLoader cannot begin within an epoch; give it num_workers=0")
      rank, world_size = rank * worker.num_workers + worker.id, world_size * worker.num_workers
    if self._reader is None:
      with self._job._file() as path:
        self._reader = self._job._value(
            _train.DataReader.open(path, list(self._job.set), self._part, rank, world_size), path)
    return self._reader

  def _next_window(self, reader: _train.DataReader) -> bool:
    while True:
      self.window, ended = _value(reader.next_window(sys.modules[__name__]))
      if self.window is not None or ended:
        return not ended
      time.sleep(_WINDOW_WAIT)

  def __repr__(self) -> str:
    return "millrace.Dataset(%r, %r, rank=%d, world_size=%d)" % (self._job.path or "text", self._part, *self._share)

  def __getstate__(self) -> dict[str, Any]:
    return {**self.__dict__, "_reader": None}


# Called by the extension.


def checkpoint_of_event(path: str, step: int) -> Checkpoint:
  checkpoint = Checkpoint.__new__(Checkpoint)
  checkpoint._opened, checkpoint._step, checkpoint.path = None, step, path
  return checkpoint


def describe_error(error: BaseException) -> str:
  """Returns "TypeError: text, in train.py:12 (forward)"."""
  text = "".join(traceback.format_exception_only(error)).strip()
  frames = traceback.extract_tb(error.__traceback__)
  own = [frame for frame in frames if frame.filename != __file__]
  if not own:
    return text
  frame = own[-1]
  for candidate in reversed(own):
    if os.sep + "torch" + os.sep not in candidate.filename:
      frame = candidate
      break
  return "%s, in %s:%s (%s)" % (text, frame.filename, frame.lineno, frame.name)


def prepare_module(module: Any) -> tuple[torch.nn.Module, list[str]]:
  """Returns the module, made if `module` is a function, and the names of the arguments that it wants."""
  if not isinstance(module, torch.nn.Module):
    if not callable(module):
      raise TypeError("model is %r; give a torch.nn.Module, or a function that returns one" % (module,))
    module = module()
    if not isinstance(module, torch.nn.Module):
      raise TypeError("the function of `model` returned %r; return a torch.nn.Module" % (module,))
  for name, tensor in module.named_parameters():
    if torch.nn.parameter.is_lazy(tensor):
      raise ValueError("parameter %r of the module has no shape yet; give its sizes, or call the module once" % name)
  names = []
  for name, parameter in inspect.signature(module.forward).parameters.items():
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
      continue
    if name in ARGUMENTS and parameter.kind != parameter.POSITIONAL_ONLY:
      names.append(name)
    elif parameter.default is parameter.empty:
      raise TypeError("forward() of the module has the parameter %r; it may have %s" % (name, ", ".join(ARGUMENTS)))
  if not names:
    raise TypeError("forward() of the module names no argument; it may have %s" % ", ".join(ARGUMENTS))
  return module, names


def read_output(result: Any) -> tuple[Any, Any, Any, list[tuple[str, torch.Tensor]]]:
  """Returns logits, loss, predictions and values of what forward() returned."""
  if not isinstance(result, Output):
    raise TypeError("forward() returned %s; return a tensor of logits, or a millrace.Output" % type(result).__name__)
  own = result.loss is not None or result.predictions is not None
  wanted = (result.loss, result.predictions) if own else (result.logits,)
  if own and result.logits is not None or not all(isinstance(tensor, torch.Tensor) for tensor in wanted):
    raise TypeError("millrace.Output needs the tensor `logits`, or the tensors `loss` and `predictions`")
  values = [(name, value if isinstance(value, torch.Tensor) else torch.tensor(float(value)))
            for name, value in result.values.items()]
  return result.logits, result.loss, result.predictions, values


def prepare_hook(hook: Any) -> tuple[str, dict[str, Any]]:
  """Returns the name of a hook, and its methods that its class overrides."""
  if not isinstance(hook, Hook):
    raise TypeError("%r is no hook; derive its class from millrace.Hook" % (hook,))
  own = type(hook)
  for name in dir(own):
    if name.startswith(("before_", "after_")) and not hasattr(Hook, name):
      raise TypeError("hook %s has the method %s(), which is no event" % (hook.name or own.__name__, name))
  methods = {name: getattr(hook, name) for name in vars(Hook)
             if not name.startswith("_") and callable(getattr(Hook, name)) and
             getattr(own, name) is not getattr(Hook, name)}
  return hook.name or own.__name__, methods


def save_state(part: Hook | Metric) -> bytes:
  """Returns the state of a hook or a metric as bytes; none for an empty state."""
  state = part.state_dict()
  if not state:
    return b""
  buffer = io.BytesIO()
  torch.save(state, buffer)
  buffer.seek(0)
  try:
    torch.load(buffer, weights_only=True)  # as a resume will
  except pickle.UnpicklingError as error:
    raise TypeError("state_dict() of %s has a value that a resume cannot read; use numbers, texts, tensors, "
                    "lists and dicts" % (part.name or type(part).__name__)) from error
  return buffer.getvalue()


def load_state(part: Hook | Metric, state: bytes) -> None:
  """Gives a hook or a metric the state of save_state(), if it is not empty."""
  if state:
    part.load_state_dict(torch.load(io.BytesIO(state), weights_only=True))


def merge_metric(metric: Metric, state: bytes) -> None:
  other = type(metric)()
  load_state(other, state)
  metric.merge(other)
