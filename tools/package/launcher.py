"""Starts the Millrace program of this wheel, after checking that it can run here.

Each problem ends with one line on stderr and exit code 71.
"""
import importlib.metadata
import os
import sys

from millrace import _build, _librdkafka

FAILED = 71
FOLDER = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.dirname(FOLDER)  # the folder in which the program finds torch/ and pyarrow/


class CannotStart(Exception):
  """The reason why the program cannot run here, in one line."""


def check_glibc(floor, version):
  """`version` is what confstr says, such as "glibc 2.36"; None if this is another C library."""
  name, _, found = (version or "").partition(" ")
  if name != "glibc":
    raise CannotStart("this machine has no glibc, and Millrace %s needs %s or newer: use a "
                      "container of Debian 12 or newer" % (_build.VERSION, floor))
  if tuple(map(int, found.split(".")[:2])) < tuple(map(int, floor.split("."))):
    raise CannotStart("this machine has glibc %s, and Millrace %s needs %s or newer: use Debian "
                      "12, Ubuntu 24.04 or a newer system, or a container of one" %
                      (found, _build.VERSION, floor))


def check_packages(pins, folder):
  """Checks that `folder` has the packages of `pins` in these versions.

  A build of the same version is accepted, such as 2.13.0+cpu or +cu130 for 2.13.0.
  """
  for name, version in pins.items():
    found = next(importlib.metadata.distributions(name=name, path=[folder]), None)
    if found is None:
      raise CannotStart("%s has no %s, and Millrace %s needs %s there: install both into one "
                        "environment, with pip install %s==%s" %
                        (folder, name, _build.VERSION, version, name, version))
    if found.version.split("+")[0] != version:
      raise CannotStart("%s has %s %s, and Millrace %s needs %s: pip install %s==%s, or use "
                        "another virtual environment" %
                        (folder, name, found.version, _build.VERSION, version, name, version))


def check_files(files, folder):
  """Checks that `folder` has files of these sizes, {path: bytes}; a full disk cuts them short."""
  for name, size in files.items():
    path = os.path.join(folder, name)
    try:
      found = os.path.getsize(path)
    except OSError as error:
      raise CannotStart("%s: %s; install the wheel again, with pip install --force-reinstall "
                        "--no-deps" % (path, error.strerror)) from None
    if found != size:
      raise CannotStart("%s has %d bytes instead of %d: make room, and install the wheel again, "
                        "with pip install --force-reinstall --no-deps" % (path, found, size))


def glibc_version():
  try:
    return os.confstr("CS_GNU_LIBC_VERSION")
  except (OSError, ValueError):
    return None


def main():
  """Becomes the program, with the arguments of this process."""
  program = os.path.join(FOLDER, "bin", "millrace")
  try:
    check_glibc(_build.GLIBC, glibc_version())
    check_files(_build.FILES, FOLDER)
    check_packages(_build.PINS, PACKAGES)
    _librdkafka.offer()
    os.execv(program, ["millrace"] + sys.argv[1:])
  except CannotStart as error:
    print("millrace: %s" % error, file=sys.stderr)
  except OSError as error:
    print("millrace: cannot start %s: %s" % (program, error.strerror), file=sys.stderr)
  return FAILED
