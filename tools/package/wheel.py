"""Writes millrace-VERSION-py3-none-manylinux_2_XX_x86_64.whl.

  wheel.py --output FOLDER --program FILE --version_header FILE --requirements FILE --licence FILE
           --launcher FILE --readme FILE --python FILE... --examples FILE... [--extension FILE]

The wheel carries the program, its libraries and the modules of --python, without glibc's and those
of the packages torch and pyarrow, which it requires in the versions that --requirements pins. 2.XX
is the version of glibc that the carried files need. The same inputs give the same bytes.

--extension is millrace._train for CPython 3.11. It uses the libraries of torch and pyarrow and those
of the program, but libstdc++ and libgcc_s of the system, which torch has loaded before it.

The name of each carried library has a hash of its content, as those that auditwheel writes, so that a process may
have another library of the same name. The libraries that torch or pyarrow also need keep theirs.
"""
import argparse
import base64
import hashlib
import os
import sys
import zipfile

from elf_file import ElfError, ElfFile
from carried_libraries import MissingLibraryError, find_libraries, open_elf
from package_parts import (Entry, PackageError, collect_parts, floor_text, open_entry, read_pins,
                           read_version, with_values)

# Packages beside this one, with the folders of their libraries.
PACKAGES = {"torch": "torch/lib", "pyarrow": "pyarrow"}
RPATH = ":".join(["$ORIGIN/../lib"] + ["$ORIGIN/../../" + folder for folder in PACKAGES.values()])
# Of the extension, which is beside the folder of the libraries.
EXTENSION_RPATH = ":".join(["$ORIGIN/lib"] + ["$ORIGIN/../" + folder for folder in PACKAGES.values()])
EXTENSION = "_train.cpython-311-x86_64-linux-gnu.so"
PYTHON = ">=3.10"  # what the wheels of the pins need
# What modules need that most users do without: millrace[EXTRA] installs it.
EXTRAS = {"convert": ("numpy", "xxhash"), "kafka": ("confluent-kafka>=2.3",), "ray": ("ray>=2.40",)}
MODIFIED = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can have
HIGHEST_LEVEL = 9

METADATA = """Metadata-Version: 2.1
Name: millrace
Version: {version}
Summary: Trains recommendation models: the millrace program
License: Apache-2.0
Requires-Python: {python}
{requires}
{extras}
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: millrace
Root-Is-Purelib: false
Tag: {tag}
"""

MAIN = '''import sys

from millrace._launcher import main

sys.exit(main())
'''


def requires_of(pins):
  """Returns the lines Requires-Dist of the packages that the wheel does not carry."""
  missing = sorted(set(PACKAGES) - set(pins))
  if missing:
    raise PackageError("third_party/requirements.txt does not pin %s" % ", ".join(missing))
  return ["Requires-Dist: %s==%s" % (name, pins[name]) for name in PACKAGES]


def extras_of():
  lines = []
  for extra, packages in EXTRAS.items():
    lines.append("Provides-Extra: " + extra)
    lines += ["Requires-Dist: %s; extra == '%s'" % (package, extra) for package in packages]
  return "\n".join(lines)


def tag_of(floor):
  return "py3-none-manylinux_%d_%d_x86_64" % floor[:2]


def size_of(entry):
  with open_entry(entry) as content:
    return content.seek(0, os.SEEK_END)


def hashed_names(parts):
  """Returns {name: name with a hash} of the carried libraries that the required packages do not need."""
  names = {}
  for library in parts.libraries:
    if library.name not in parts.shared:
      with open(library.path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:8]
      stem, dot, rest = library.name.partition(".so")
      names[library.name] = "%s-%s%s%s" % (stem, digest, dot, rest)
  return names


def renamed(content, name, names):
  """Returns the bytes of an ELF file in which the libraries of `names` have their new names."""
  return ElfFile(content, name).with_names(names) if names else content


def library_entry(library, names):
  with open(library.path, "rb") as file:
    content = renamed(file.read(), library.path, names)
  return Entry("lib/" + names.get(library.name, library.name), content, True)


def extension_of(path, parts, names):
  """Returns the entry of the extension. Raises PackageError if it needs what the wheel lacks."""
  carried = {library.name for library in parts.libraries}
  for library in find_libraries(path):
    if library.wheel not in PACKAGES and library.name not in carried:
      raise PackageError("%s: needs %s, which the program does not use" % (path, library.name))
  if open_elf(path).glibc_floor() > parts.floor:
    raise PackageError("%s: needs a newer glibc than the program" % path)
  return Entry(EXTENSION, renamed(open_elf(path).with_rpath(EXTENSION_RPATH), path, names), True)


def entries_of(parts, pins, licence, launcher, readme, python, examples, extension=None):
  """Returns the entries of the wheel but for RECORD. `readme` is a template."""
  names = hashed_names(parts)
  carried = [Entry("bin/millrace", renamed(parts.program, "bin/millrace", names), True)]
  carried += [library_entry(library, names) for library in parts.libraries]
  build = "VERSION = %r\nGLIBC = %r\nPINS = %r\nFILES = %r\n" % (
      parts.version, floor_text(parts), {name: pins[name] for name in PACKAGES},
      {entry.name: size_of(entry) for entry in carried})
  values = {"VERSION": parts.version, "GLIBC": floor_text(parts)}
  values.update((name.upper(), pins[name]) for name in PACKAGES)
  metadata = METADATA.format(version=parts.version, python=PYTHON,
                             requires="\n".join(requires_of(pins)), extras=extras_of(),
                             readme=with_values(readme, values).decode())
  # Underscores sort before the program and its libraries: a full disk cuts short what comes last,
  # and what has been written can say so.
  package = carried + [
      Entry("__main__.py", MAIN.encode(), False),
      Entry("_build.py", build.encode(), False),
      Entry("_launcher.py", launcher, False),
  ]
  package += [Entry(os.path.basename(path), path, False) for path in python]
  if extension:
    package.append(extension_of(extension, parts, names))
  information = [
      Entry("METADATA", metadata.encode(), False),
      Entry("WHEEL", WHEEL.format(tag=tag_of(parts.floor)).encode(), False),
      Entry("entry_points.txt", b"[console_scripts]\nmillrace = millrace._launcher:main\n", False),
      Entry("licenses/LICENSE", licence, False),
  ]
  information += [Entry("licenses/" + name, path, False) for name, path in parts.licences.items()]
  shared = [Entry(os.path.basename(path), path, False) for path in examples]
  root = "millrace-" + parts.version
  return [
      entry._replace(name=folder + entry.name)
      for folder, entries in (("millrace/", package), (root + ".dist-info/", information),
                              (root + ".data/data/share/millrace/examples/", shared))
      for entry in entries
  ]


def record_line(name, content):
  digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
  return "%s,sha256=%s,%d\n" % (name, digest, len(content))


def write_wheel(path, record, entries):
  """Writes the entries, sorted, and behind them `record`, the name of the list of all.

  The extension comes last, so that a full disk cuts the program short, which its launcher notices.
  """
  lines = []
  with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=HIGHEST_LEVEL) as archive:

    def add(name, content, executable):
      member = zipfile.ZipInfo(name, MODIFIED)
      member.create_system = 3  # Unix, so that the mode counts
      member.external_attr = (0o100755 if executable else 0o100644) << 16
      member.compress_type = zipfile.ZIP_DEFLATED
      archive.writestr(member, content, compresslevel=HIGHEST_LEVEL)

    for entry in sorted(entries, key=lambda entry: (entry.name.endswith(EXTENSION), entry.name)):
      with open_entry(entry) as file:
        content = file.read()
      lines.append(record_line(entry.name, content))
      add(entry.name, content, entry.executable)
    add(record, "".join(lines + [record + ",,\n"]).encode(), False)


def main():
  parser = argparse.ArgumentParser(allow_abbrev=False)
  for flag in ("output", "program", "version_header", "requirements", "licence", "launcher",
               "readme"):
    parser.add_argument("--" + flag, required=True)
  parser.add_argument("--python", action="append", required=True)
  parser.add_argument("--extension")
  parser.add_argument("--examples", nargs="+", required=True)
  flags = parser.parse_args()
  pins = read_pins(flags.requirements)
  parts = collect_parts(flags.program, read_version(flags.version_header), RPATH, list(PACKAGES))
  entries = entries_of(parts, pins, flags.licence, flags.launcher, flags.readme, flags.python,
                       flags.examples, flags.extension and os.path.realpath(flags.extension))
  name = "millrace-%s-%s.whl" % (parts.version, tag_of(parts.floor))
  record = "millrace-%s.dist-info/RECORD" % parts.version
  write_wheel(os.path.join(flags.output, name), record, entries)


if __name__ == "__main__":
  try:
    main()
  except (ElfError, MissingLibraryError, PackageError, OSError) as error:
    sys.exit("wheel: %s" % error)
