"""Processes of ranks and their variables, from /proc."""
import os


def _words(process, file, separator=b"\0"):
  """Returns the words of a file of a process; none once it has ended."""
  try:
    with open("/proc/%d/%s" % (process, file), "rb") as content:
      return content.read().split(separator)
  except OSError:
    return []


def variables_of(process):
  """Returns {name: value}, both bytes."""
  return dict(word.partition(b"=")[::2] for word in _words(process, "environ"))


def command_of(process):
  """Returns the words of the command line, as bytes."""
  return _words(process, "cmdline")


def all_processes():
  return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def ranks_of(launcher):
  """Returns {rank: process} of the children of a launcher."""
  found = {}
  for child in map(int, _words(launcher, "task/%d/children" % launcher, None)):
    rank = variables_of(child).get(b"RANK")
    if rank is not None:
      found[int(rank)] = child
  return found
