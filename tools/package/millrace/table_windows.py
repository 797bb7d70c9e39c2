"""Writes manifests of the files that the snapshots of a table of Delta Lake or Iceberg added.

    python3 -m millrace.table_windows TABLE DIRECTORY [--catalog NAME] [--after NUMBER] [--poll SECONDS]

TABLE is the path or URI of a Delta table (needs the package deltalake), or the path of a metadata.json of an Iceberg
table or, with --catalog, NAMESPACE.TABLE in a catalog that pyiceberg knows (needs the package pyiceberg).

For each snapshot that added rows, DIRECTORY/NUMBER.manifest lists its new files, one path a line; `windows { manifest {
path: "DIRECTORY" } }` trains on each as a window. A snapshot of many files makes several, NUMBER-PART.manifest. NUMBER
is the version of a Delta table, or the sequence number of an Iceberg snapshot. Snapshots up to --after [that of the
newest manifest in DIRECTORY; without one, none] are left out. With --poll the table is looked at again after SECONDS,
until the program is stopped.

A snapshot that deleted or changed rows is an error (exit code 65): training cannot take back what it learnt. Rewritten
files of a compaction have no new rows, and make no manifest. Files that a later compaction replaced must still be
there when the window is read: remove old files (vacuum, expire_snapshots) only behind the training.
"""
import argparse
import os
import pathlib
import sys
import time


MOST_BYTES = 40000  # of the paths of a manifest: a checkpoint holds them
# Operations of Delta that append rows, rewrite files, or change no row.
APPENDS = ("WRITE", "CREATE TABLE", "CREATE TABLE AS SELECT", "STREAMING UPDATE", "COPY INTO", "OPTIMIZE", "VACUUM START",
           "VACUUM END", "ADD COLUMNS", "ADD CONSTRAINT", "SET TBLPROPERTIES", "FSCK")


class Refused(Exception):
  """A snapshot that cannot be trained on."""


def delta_windows(table, after):
  """Yields (version, paths of new files) of a Delta table."""
  import deltalake  # pylint: disable=import-outside-toplevel
  newest = deltalake.DeltaTable(table)
  operations = {entry["version"]: entry.get("operation", "") for entry in newest.history()}
  before = set(deltalake.DeltaTable(table, version=after).file_uris()) if after >= 0 else set()
  for version in range(after + 1, newest.version() + 1):
    files = deltalake.DeltaTable(table, version=version).file_uris()
    added = [path for path in files if path not in before]
    removed = before.difference(files)
    before = set(files)
    operation = operations.get(version, "").upper()
    if operation and operation not in APPENDS:
      raise Refused("version %d is of %s" % (version, operation))
    if operation == "OPTIMIZE":
      continue
    if removed:
      raise Refused("version %d (%s) removed %d files, such as %s" %
                    (version, operations.get(version), len(removed), sorted(removed)[0]))
    if added:
      yield version, added


def iceberg_windows(table, catalog, after):
  """Yields (sequence number, paths of new files) of an Iceberg table."""
  from pyiceberg.catalog import load_catalog  # pylint: disable=import-outside-toplevel
  from pyiceberg.manifest import ManifestContent, ManifestEntryStatus  # pylint: disable=import-outside-toplevel
  from pyiceberg.table import StaticTable  # pylint: disable=import-outside-toplevel
  opened = load_catalog(catalog).load_table(table) if catalog else StaticTable.from_metadata(table)
  if opened.metadata.format_version < 2:
    raise Refused("its format is version %d, whose snapshots have no number; upgrade it to version 2" %
                  opened.metadata.format_version)
  # The line of the current snapshot: others are of branches, or were rolled back.
  line, snapshot = [], opened.current_snapshot()
  while snapshot is not None and snapshot.sequence_number > after:
    line.append(snapshot)
    parent = snapshot.parent_snapshot_id
    snapshot = None if parent is None else opened.snapshot_by_id(parent)
    if parent is not None and snapshot is None and line[-1].sequence_number > after + 1:
      raise Refused("snapshot %d, before %d, was expired: its files are not known" % (parent, line[-1].snapshot_id))
  for snapshot in reversed(line):
    operation = snapshot.summary.operation.value if snapshot.summary else ""
    if operation == "replace":
      continue  # a compaction
    added = []
    for manifest in snapshot.manifests(opened.io):
      if manifest.added_snapshot_id != snapshot.snapshot_id:
        continue
      entries = manifest.fetch_manifest_entry(opened.io, discard_deleted=False)
      if manifest.content == ManifestContent.DELETES and entries:
        raise Refused("snapshot %d (%s) deleted rows" % (snapshot.sequence_number, operation))
      for entry in entries:
        if entry.status == ManifestEntryStatus.DELETED:
          raise Refused("snapshot %d (%s) removed %s" % (snapshot.sequence_number, operation, entry.data_file.file_path))
        if entry.status == ManifestEntryStatus.ADDED:
          added.append(entry.data_file.file_path)
    if added:
      yield snapshot.sequence_number, added


def newest_manifest(directory):
  """Returns the greatest number of a manifest in a directory, 0 without one."""
  numbers = [path.stem.split("-")[0] for path in directory.glob("*.manifest")]
  return max((int(number) for number in numbers if number.isdigit()), default=0)


def parts_of(paths):
  """Yields lists of the paths, each short enough for a manifest."""
  part, size = [], 0
  for path in sorted(path[len("file://"):] if path.startswith("file://") else path for path in paths):
    if part and size + len(path) > MOST_BYTES:
      yield part
      part, size = [], 0
    part.append(path)
    size += len(path) + 20
  yield part


def write_manifests(directory, number, paths):
  """Writes the manifests of a snapshot that are missing, and returns their number."""
  parts = list(parts_of(paths))
  names = ["%d" % number] if len(parts) == 1 else ["%d-%d" % (number, part) for part in range(len(parts))]
  missing = [(name, part) for name, part in zip(names, parts) if not (directory / (name + ".manifest")).exists()]
  for name, part in missing:
    write_manifest(directory, name, part)
  return len(missing)


def write_manifest(directory, name, paths):
  """Writes a manifest so that it appears as a whole."""
  target = directory / (name + ".manifest")
  unfinished = directory / (".%s.tmp" % target.name)
  with open(unfinished, "w", encoding="utf-8") as file:
    file.writelines(path + "\n" for path in paths)
    file.flush()
    os.fsync(file.fileno())
  unfinished.rename(target)


def main(arguments=None):
  parser = argparse.ArgumentParser(prog="python3 -m millrace.table_windows", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("table", metavar="TABLE")
  parser.add_argument("directory", metavar="DIRECTORY", type=pathlib.Path)
  parser.add_argument("--catalog", metavar="NAME", default="")
  parser.add_argument("--after", metavar="NUMBER", type=int)
  parser.add_argument("--poll", metavar="SECONDS", type=float, default=0)
  options = parser.parse_args(arguments)
  options.directory.mkdir(parents=True, exist_ok=True)
  is_iceberg = bool(options.catalog) or options.table.endswith(".metadata.json")
  while True:
    # The newest snapshot again: a call that was interrupted may have written some of its manifests.
    newest = newest_manifest(options.directory) - 1
    after = newest if options.after is None else max(options.after, newest)
    try:
      windows = (iceberg_windows(options.table, options.catalog, after)
                 if is_iceberg else delta_windows(options.table, after))
      for number, paths in windows:
        if manifests := write_manifests(options.directory, number, paths):
          print("%d: %d files in %d manifests" % (number, len(paths), manifests), flush=True)
    except Refused as error:
      print("table_windows: %s: %s; begin behind it with --after" % (options.table, error), file=sys.stderr)
      return 65
    except ImportError as error:
      print("table_windows: %s; install it with pip" % error, file=sys.stderr)
      return 64
    except Exception as error:  # pylint: disable=broad-except
      # Of a package, whose errors have no common class: a store that does not answer, a table that is not there.
      print("table_windows: %s: %s" % (options.table, " ".join(str(error).split())), file=sys.stderr)
      if options.poll <= 0:
        return 74
    if options.poll <= 0:
      return 0
    time.sleep(options.poll)


if __name__ == "__main__":
  sys.exit(main())
