"""Finds the shared libraries that a program needs, as the dynamic loader does."""
import collections
import mmap
import os

from elf_file import ElfFile

# Libraries of glibc. They belong to the loader of the machine and are never carried.
GLIBC = frozenset([
    "ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libmvec.so.1", "libpthread.so.0",
    "libdl.so.2", "librt.so.1", "libutil.so.1", "libresolv.so.2", "libanl.so.1"
])
SYSTEM_FOLDERS = ("/usr/local/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                  "/usr/lib64", "/lib", "/usr/lib")
WHEELS_FOLDER = "site-packages"


class MissingLibraryError(Exception):
  """A needed library is in no folder of the search path."""


# A library by the name under which the loader searches it, with its file and the version of glibc
# that it needs. `wheel` is the folder of the Python wheel that has it, or None.
Library = collections.namedtuple("Library", "name path glibc_floor wheel")


def open_elf(path):
  """Returns the ElfFile of a path. Maps the file, since LibTorch has hundreds of megabytes."""
  with open(path, "rb") as file:
    return ElfFile(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), path)


def wheel_of(path):
  """Returns the folder of the wheel that has the file, such as torch; None if none has."""
  parts = path.split(os.sep)
  return parts[parts.index(WHEELS_FOLDER) + 1] if WHEELS_FOLDER in parts[:-2] else None


def _find(name, needed_by, folders):
  for folder in folders:
    path = os.path.join(folder, name)
    if os.path.exists(path):
      return os.path.realpath(path)
  raise MissingLibraryError("%s: needs %s, which is in none of %s" %
                            (needed_by, name, ", ".join(folders)))


def find_libraries(program, system_folders=SYSTEM_FOLDERS):
  """Returns the libraries of `program` and of its libraries, without glibc's, sorted by name.

  Searches breadth first, as the loader does: the search path of the file that needs a library,
  then the system's folders. A name that was found before is the same library.
  """
  found = {}
  waiting = collections.deque([os.path.realpath(program)])
  while waiting:
    path = waiting.popleft()
    elf = open_elf(path)
    folders = [part.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", os.path.dirname(path))
               for part in elf.search_path]
    for name in elf.needed:
      if name in GLIBC or name in found:
        continue
      library = _find(name, path, folders + list(system_folders))
      found[name] = Library(name, library, open_elf(library).glibc_floor(), wheel_of(library))
      waiting.append(library)
  return [found[name] for name in sorted(found)]


def glibc_floor(program, libraries):
  """Returns the newest version of glibc that the program and the libraries need, as (2, 36)."""
  return max([open_elf(program).glibc_floor()] + [library.glibc_floor for library in libraries])
