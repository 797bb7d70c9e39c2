"""Unpacks some of the files of wheels.

  unpack_wheels.py FOLDER WHEEL... -- PATTERN...

A pattern is a shell's, where * stands for folders, too; one that begins with ! leaves files out. A
pattern that no file matches is an error: the wheel is another one than the patterns were made for.
"""
import fnmatch
import sys
import zipfile


def main(folder, wheels, patterns):
  wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
  unwanted = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
  matched = set()
  for wheel in wheels:
    with zipfile.ZipFile(wheel) as archive:
      for name in archive.namelist():
        hits = {pattern for pattern in wanted if fnmatch.fnmatchcase(name, pattern)}
        matched |= hits
        if hits and not any(fnmatch.fnmatchcase(name, pattern) for pattern in unwanted):
          archive.extract(name, folder)
  missing = [pattern for pattern in wanted if pattern not in matched]
  if missing:
    sys.exit("no file of the wheels matches %s" % " ".join(missing))


if __name__ == "__main__":
  split = sys.argv.index("--")
  main(sys.argv[1], sys.argv[2:split], sys.argv[split + 1:])
