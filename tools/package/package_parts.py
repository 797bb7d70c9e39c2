"""What every package of Millrace holds: the program, its libraries, examples and licences."""
import collections
import io
import os
import re
import sys

from carried_libraries import find_libraries, glibc_floor, open_elf
from licences import find_licences, licences_of_parts

VERSION = re.compile(r'kVersion\[\] = "([0-9][0-9a-z.]*)"')
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([A-Za-z0-9_.]+)$", re.MULTILINE)


class PackageError(Exception):
  """A package cannot be made; the message says why."""


# One file of a package: `data` is bytes, or the path of a file as str.
Entry = collections.namedtuple("Entry", "name data executable")

# `libraries` are those that the package carries; `program` is the content of the program.
# `floor` is the version of glibc that the program and these libraries need, as (2, 36). `shared` has the
# names of all libraries that the libraries of the required wheels need.
Parts = collections.namedtuple("Parts", "version program libraries licences floor shared")


def read_version(header):
  """Returns the version that base/version.h defines."""
  with open(header, encoding="utf-8") as text:
    found = VERSION.search(text.read())
  if not found:
    raise PackageError("%s: defines no kVersion" % header)
  return found[1]


def read_pins(requirements):
  """Returns {package: version} of the pins of third_party/requirements.txt."""
  with open(requirements, encoding="utf-8") as text:
    return dict(PIN.findall(text.read()))


def collect_parts(program, version, rpath, wheels):
  """Returns the Parts of a package in which `rpath` is the search path of the program.

  Libraries of the Python packages in `wheels` are not carried.
  """
  program = os.path.realpath(program)
  found = find_libraries(program)
  libraries = [library for library in found if library.wheel not in wheels]
  absent = sorted(set(wheels) - {library.wheel for library in found})
  if absent:
    raise PackageError("%s: uses no library of the wheel of %s; a build with LIBTORCH cannot be "
                       "packed as a wheel" % (program, ", ".join(absent)))
  licences, missing = find_licences(libraries)
  if missing:
    print("package: no licence found of %s" % ", ".join(missing), file=sys.stderr)
  licences_of_code, missing = licences_of_parts()
  if missing:
    raise PackageError("no licence found of %s, whose code is in the program; install the Debian "
                       "packages with their copyright files" % ", ".join(missing))
  licences.update(licences_of_code)
  return Parts(version, open_elf(program).with_rpath(rpath), libraries, licences,
               glibc_floor(program, libraries),
               {name for library in found if library.wheel in wheels for name in open_elf(library.path).needed})


def floor_text(parts):
  return ".".join(map(str, parts.floor[:2]))


def open_entry(entry):
  """Returns the content of an entry as an open file."""
  return io.BytesIO(entry.data) if isinstance(entry.data, bytes) else open(entry.data, "rb")


def with_values(path, values):
  """Returns the bytes of a text file in which `@NAME@` is replaced by the value of NAME."""
  with open(path, encoding="utf-8") as file:
    text = file.read()
  for name, value in values.items():
    text = text.replace("@%s@" % name, value)
  left = re.search(r"@[A-Z_]+@", text)
  if left:
    raise PackageError("%s: %s has no value" % (path, left[0]))
  return text.encode()
