"""Millrace trains recommendation models.

`millrace --help` and `python3 -m millrace --help` run the program. `millrace.train(job, model=...)` trains in this
process with a torch.nn.Module and hooks in Python: see help(millrace.train), help(millrace.Job), help(millrace.Hook)
and docs/python.md. millrace.Checkpoint reads checkpoints, millrace.Predictor predicts with one, and millrace.Dataset
reads the data of a job. These names need
CPython 3.11 and the torch and pyarrow that the wheel requires; elsewhere their use raises an ImportError of one line.

  import millrace
  result = millrace.train("job.textproto", model=MyModule())
  print(result.eval)
"""
from millrace._build import VERSION as __version__

# Names of millrace._training, which loads torch and the extension when one of them is first used.
_TRAINING = ("Batch", "Checkpoint", "Context", "Dataset", "Error", "Evaluation", "Hook", "Job", "Metric", "Output",
             "Predictor", "Report", "Result", "Rows", "Step", "Table", "Window", "evaluate", "predict", "train")

__all__ = ["__version__", *_TRAINING]


def __getattr__(name):
  if name not in _TRAINING:
    raise AttributeError("module 'millrace' has no attribute %r" % name)
  from millrace import _training
  return getattr(_training, name)


def __dir__():
  try:
    __getattr__("train")
  except ImportError:  # help(millrace) is for every Python
    return ["__version__"]
  return sorted(__all__)
