"""Writes millrace-VERSION-linux-x86_64.tar.gz, which carries all libraries but glibc's.

  tarball.py --output FOLDER --program FILE --version_header FILE --licence FILE
             --start FILE --readme FILE --librdkafka FILE --examples FILE...
             --serving_library FILE --serving_header FILE --serving_pkgconfig FILE

The same inputs give the same bytes.
"""
import argparse
import gzip
import os
import sys
import tarfile

from elf_file import ElfError
from carried_libraries import GLIBC, Library, MissingLibraryError, find_libraries, open_elf, wheel_of
from licences import IN_LIBRDKAFKA, find_licences, licences_of_parts
from package_parts import (Entry, PackageError, collect_parts, floor_text, open_entry, read_version,
                           with_values)

RPATH = "$ORIGIN/../lib"
MODIFIED = 315532800  # 1980-01-01, as in the wheel
GZIP_LEVEL = 1  # 6 makes the file a tenth smaller in three times the processor time


def folder_of(version):
  """Returns the name of the folder in the tarball; the tarball has the same and .tar.gz."""
  return "millrace-%s-linux-x86_64" % version


def serving_entries(parts, library, header, pkgconfig):
  """Returns the entries of the library for programs in C. Its own libraries are those of the program."""
  elf = open_elf(os.path.realpath(library))
  names = {carried.name for carried in parts.libraries}
  missing = [name for name in elf.needed if name not in names and name not in GLIBC]
  if missing:
    raise PackageError("%s needs %s, which the program does not" % (library, ", ".join(missing)))
  return [
      Entry("lib/libmillrace_serving.so", elf.with_rpath("$ORIGIN"), True),
      Entry("lib/pkgconfig/millrace-serving.pc", with_values(pkgconfig, {"VERSION": parts.version}), False),
      Entry("include/millrace_serving.h", header, False),
  ]


def librdkafka_entries(parts, path):
  """Returns the entries of librdkafka, in a folder of its own: a job opens it if the system has none."""
  path = os.path.realpath(path)
  needed = [library.name for library in find_libraries(path)]
  if needed:
    raise PackageError("%s needs %s" % (path, ", ".join(needed)))
  if open_elf(path).glibc_floor() > parts.floor:
    raise PackageError("%s: needs a newer glibc than the program" % path)
  licences, missing = find_licences([Library("librdkafka.so.1", path, (), wheel_of(path))])
  licences_of_code, missing_of_code = licences_of_parts(IN_LIBRDKAFKA)
  if missing + missing_of_code:
    raise PackageError("%s: no licence found of %s" % (path, ", ".join(missing + missing_of_code)))
  return [Entry("lib/kafka/librdkafka.so.1", path, True)] + [
      Entry("licenses/" + name, licence, False) for name, licence in {**licences, **licences_of_code}.items()
      if name not in parts.licences]


def entries_of(parts, licence, start, readme, examples):
  """Returns the entries of the tarball. `start` and `readme` are templates."""
  values = {"VERSION": parts.version, "GLIBC": floor_text(parts)}
  entries = [
      Entry("bin/millrace", with_values(start, values), True),
      Entry("libexec/millrace", parts.program, True),
      Entry("README.md", with_values(readme, values), False),
      Entry("LICENSE", licence, False),
  ]
  entries += [Entry("lib/" + library.name, library.path, True) for library in parts.libraries]
  entries += [Entry("licenses/" + name, path, False) for name, path in parts.licences.items()]
  entries += [Entry("examples/" + os.path.basename(path), path, False) for path in examples]
  return entries


def write_tarball(path, folder, entries):
  """Writes the entries below `folder`, sorted, owned by root and of one time."""
  folders = set()
  for entry in entries:
    parent = os.path.dirname(folder + "/" + entry.name)
    while parent:
      folders.add(parent)
      parent = os.path.dirname(parent)
  by_name = {folder + "/" + entry.name: entry for entry in entries}
  with open(path, "wb") as file, \
      gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=MODIFIED) as packed, \
      tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
    for name in sorted(folders | set(by_name)):
      member = tarfile.TarInfo(name)
      member.mtime = MODIFIED
      if name in folders:
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(member)
        continue
      entry = by_name[name]
      member.mode = 0o755 if entry.executable else 0o644
      with open_entry(entry) as content:
        member.size = content.seek(0, os.SEEK_END)
        content.seek(0)
        archive.addfile(member, content)


def main():
  parser = argparse.ArgumentParser(allow_abbrev=False)
  for flag in ("output", "program", "version_header", "licence", "start", "readme", "serving_library",
               "serving_header", "serving_pkgconfig", "librdkafka"):
    parser.add_argument("--" + flag, required=True)
  parser.add_argument("--examples", nargs="+", required=True)
  flags = parser.parse_args()
  parts = collect_parts(flags.program, read_version(flags.version_header), RPATH, wheels=())
  name = folder_of(parts.version)
  entries = entries_of(parts, flags.licence, flags.start, flags.readme, flags.examples)
  entries += librdkafka_entries(parts, flags.librdkafka)
  entries += serving_entries(parts, flags.serving_library, flags.serving_header, flags.serving_pkgconfig)
  write_tarball(os.path.join(flags.output, name + ".tar.gz"), name, entries)


if __name__ == "__main__":
  try:
    main()
  except (ElfError, MissingLibraryError, PackageError, OSError) as error:
    sys.exit("tarball: %s" % error)
