#!/usr/bin/env python3
"""Trains on the snapshots of a Delta table and of an Iceberg table as windows.

    ./bazelw test_setup tables && ./bazelw build //tools:millrace
    $MILLRACE_TEST_PYTHON_TABLES tests/campaigns/tables.py --millrace bazel-bin/tools/millrace

Makes a table of each kind with three snapshots that append rows and a compaction, has millrace.table_windows write
manifests, and trains on them: each window has the rows of its snapshot, and each row was trained on once. Then a
snapshot deletes rows, and the script refuses it. Prints a line of JSON; exits with 1 if something does not hold.
"""
import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROWS = 300  # of a snapshot

JOB = """
train {
  train_data { batch_size: 50 windows { manifest { path: "%s" } idle_seconds: 1 } }
  feature { name: "label" kind: LABEL }
  feature { name: "x" kind: DENSE }
  feature { name: "id" kind: EXAMPLE_ID }
  model { name: "mlp" [millrace.mlp] { hidden: [4] } }
}
run { threads: 1 hooks { name: "example_trace" } distributed { poll_interval_seconds: 0.1 } }
"""


def rows(snapshot):
  import pyarrow  # pylint: disable=import-outside-toplevel
  ids = list(range(snapshot * ROWS, (snapshot + 1) * ROWS))
  return pyarrow.table({"label": [i % 2 for i in ids], "x": [i / 7 for i in ids], "id": ids})


def make_delta():
  """Returns the table, as the script takes it, and a function that deletes rows."""
  import deltalake  # pylint: disable=import-outside-toplevel
  for snapshot in range(3):
    deltalake.write_deltalake("delta", rows(snapshot), mode="append")
  deltalake.DeltaTable("delta").optimize.compact()
  return ["delta"], lambda: deltalake.DeltaTable("delta").delete("id < 10")


def make_iceberg():
  from pyiceberg.catalog.sql import SqlCatalog  # pylint: disable=import-outside-toplevel
  place = os.path.abspath("warehouse")
  os.mkdir(place)
  catalog = SqlCatalog("here", uri="sqlite:///catalog.db", warehouse="file://" + place)
  catalog.create_namespace("n")
  table = catalog.create_table("n.t", schema=rows(0).schema)
  for snapshot in range(3):
    table.append(rows(snapshot))
  os.environ.update({"PYICEBERG_CATALOG__HERE__TYPE": "sql", "PYICEBERG_CATALOG__HERE__URI": "sqlite:///catalog.db",
                     "PYICEBERG_CATALOG__HERE__WAREHOUSE": "file://" + place})
  return ["n.t", "--catalog", "here"], lambda: table.delete("id < 10")


def trained():
  """Returns the ids by window."""
  ids = {}
  for name in glob.glob("out/example_trace/rank-0/from-*.jsonl"):
    with open(name, encoding="utf-8") as lines:
      for line in lines:
        step = json.loads(line)
        ids.setdefault(step["window"], []).extend(step["ids"])
  return [sorted(ids[window]) for window in sorted(ids)]


def try_out(make, program, script):
  """Returns what does not hold."""
  table, delete = make()
  write = [sys.executable, script, table[0], "manifests", *table[1:]]
  problems = []
  subprocess.run(write, check=True, stdout=subprocess.DEVNULL)
  again = subprocess.run(write, check=True, capture_output=True, text=True).stdout
  if again:
    problems.append("a second call wrote " + again)
  pathlib.Path("job.textproto").write_text(JOB % "manifests", encoding="utf-8")
  subprocess.run([program, "train", "job.textproto"], check=True, capture_output=True)
  if trained() != [list(range(s * ROWS, (s + 1) * ROWS)) for s in range(3)]:
    problems.append("other rows were trained on: %s" % [len(ids) for ids in trained()])
  delete()
  refused = subprocess.run(write, check=False, capture_output=True, text=True)
  if refused.returncode != 65:
    problems.append("a deletion gives %d: %s" % (refused.returncode, refused.stderr))
  return problems


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--millrace", required=True)
  options = parser.parse_args()
  program = os.path.abspath(options.millrace)
  script = os.path.abspath("tools/package/millrace/table_windows.py")
  result = {}
  for name, make in (("delta", make_delta), ("iceberg", make_iceberg)):
    with tempfile.TemporaryDirectory() as folder:
      os.chdir(folder)
      result[name] = try_out(make, program, script)
      os.chdir("/")
  print(json.dumps(result))
  return 1 if any(result.values()) else 0


if __name__ == "__main__":
  sys.exit(main())
