"""Packs programs of --config=cuda for a machine with a GPU, without LibTorch and CUDA.

  pack.py --output FILE --scripts FILE... --programs PROGRAM... [--files FILE...]

Writes a .tar.xz with bin/, lib/, files/ and the scripts. Libraries that are neither glibc's nor of
the PyTorch of that machine are carried. Fails if the archive is too large to be carried.
"""
import argparse
import collections
import io
import os
import re
import sys
import tarfile

from carried_libraries import GLIBC, SYSTEM_FOLDERS, MissingLibraryError, open_elf

FOLDER = "device_suite"
# Of the PyTorch there or the driver; or of the system, which this PyTorch uses and may be newer.
THERE = re.compile(r"lib(torch|c10|cuda|cudart|cupti|cublas|cudnn|cusparse|cusolver|cufft|curand|"
                   r"nccl|nvrtc|nvshmem|gomp|stdc\+\+|gcc_s)[^/]*\.so")
LARGEST_BYTES = 64 << 20


def carried(programs):
  """Returns {name: path} of the libraries that the programs need and that the machine lacks."""
  found = {}
  waiting = collections.deque(os.path.realpath(program) for program in programs)
  while waiting:
    path = waiting.popleft()
    elf = open_elf(path)
    folders = [part.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", os.path.dirname(path))
               for part in elf.search_path]
    for name in elf.needed:
      if name in GLIBC or name in found or THERE.match(name):
        continue
      for folder in folders + list(SYSTEM_FOLDERS):
        candidate = os.path.join(folder, name)
        if os.path.exists(candidate):
          found[name] = os.path.realpath(candidate)
          waiting.append(found[name])
          break
      else:
        raise MissingLibraryError("%s: needs %s, which is in none of %s" %
                                  (path, name, ", ".join(folders + list(SYSTEM_FOLDERS))))
  return found


def write_archive(path, members):
  """Writes {name: path of a file} below FOLDER, sorted and of one time."""
  with tarfile.open(path, "w:xz", preset=6) as archive:
    for name in sorted(members):
      with open(members[name], "rb") as file:
        content = file.read()
      member = tarfile.TarInfo(FOLDER + "/" + name)
      member.size, member.mode, member.mtime = len(content), 0o755, 315532800
      archive.addfile(member, io.BytesIO(content))


def main(argv):
  parser = argparse.ArgumentParser(allow_abbrev=False)
  parser.add_argument("--output", required=True)
  parser.add_argument("--scripts", nargs="+", required=True)
  parser.add_argument("--programs", nargs="+", required=True)
  parser.add_argument("--files", nargs="*", default=[])
  flags = parser.parse_args(argv)
  members = {os.path.basename(path): path for path in flags.scripts}
  members.update({"bin/" + os.path.basename(path): path for path in flags.programs})
  members.update({"lib/" + name: path for name, path in carried(flags.programs).items()})
  members.update({"files/" + os.path.basename(path): path for path in flags.files})
  write_archive(flags.output, members)
  size = os.path.getsize(flags.output)
  if size > LARGEST_BYTES:
    os.remove(flags.output)
    sys.exit("the device suite has %d MB; at most %d MB can be carried: leave a program out" %
             (size >> 20, LARGEST_BYTES >> 20))


if __name__ == "__main__":
  try:
    main(sys.argv[1:])
  except MissingLibraryError as error:
    sys.exit(str(error))
