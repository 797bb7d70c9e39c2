#!/usr/bin/env python3
"""Plants mistakes in the code of tables over ranks and shows that tests find them.

  plant_rank_faults.py [NAME...]   Plants each fault, or those named, one at a time in the sources
                                   of this checkout, builds the tests that are to find it, requires
                                   that one of them fails, and restores the sources.
  plant_rank_faults.py --check     Only checks that each fault still fits the sources, and that
                                   docs/reliability.md lists these faults.

Prints a line for each fault. Exits with 1 if a fault is not found, does not build, or does not fit.
Refuses to change a file that differs from the last commit.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TESTS_FAILED = 3  # Bazel's exit code: all was built, and a test failed

OWNER = "embedding/shard/owner_plan"
EXCHANGE = "framework/ranks/table_exchange.cc"

# Name; edits: file, text that is there once, text in its place; test and the cases that find it.
FAULTS = [
    ("an id is counted twice", [
        (OWNER + ".cc", "uint64_t{counts_[place]} + share.counts[number]",
         "uint64_t{counts_[place]} + 2 * uint64_t{share.counts[number]}"),
    ], "//tests/ranks:tables_test", "TablesTest.Sgd"),
    ("rows are inserted before the decision about the step", [
        (OWNER + ".cc", "  new_rows_ = std::count(rows_.begin(), rows_.end(), kNoRow);\n",
         "  new_rows_ = std::count(rows_.begin(), rows_.end(), kNoRow);\n"
         "  {\n    TableWriteAccess table(table_);\n    make_rows(table);\n  }\n"),
    ], "//tests/ranks:refused_step_test", "*"),
    ("gradients of ranks are added in the order of their arrival", [
        (OWNER + ".h", "  StepMap map_;  // from ids to places", "  std::vector<size_t> arrival_;\n"
         "  StepMap map_;  // from ids to places"),
        (OWNER + ".cc", "  share.has_sums = true;\n",
         "  share.has_sums = true;\n  arrival_.push_back(rank);\n"),
        (OWNER + ".cc", "  summands_.begin_adding(/*weighted=*/false);\n"
         "  for (size_t rank = 0; rank < shares_.size(); ++rank) {\n",
         "  summands_.begin_adding(/*weighted=*/false);\n"
         "  for (size_t rank : arrival_) {\n"),
        (OWNER + ".cc", "  added_up_ = false;\n", "  added_up_ = false;\n  arrival_.clear();\n"),
    ], "//embedding/shard:shard_test", "OwnerPlanTest.*"),
    ("each rank clips by the norm of its own rows", [
        (EXCHANGE, "    totals.squared_norm = *next++;\n",
         "    ++next;\n"
         "    totals.squared_norm = collection->exchange().owned_totals(/*with_norm=*/true).squared_norm;\n"),
    ], "//tests/ranks:tables_test", "TablesTest.ClippingByTheNormOfAllGradients"),
    ("a rank without data keeps the sums of a refused step", [
        ("framework/loop/train_step.cc", "    if (!status.ok() || !result_.applied) discard();\n",
         "    if (!outputs_.empty() && (!status.ok() || !result_.applied)) discard();\n"),
    ], "//tests/ranks:tables_test", "TablesTest.AStepThatIsRepeated*"),
    ("REJECT counts the rows of its own rank", [
        (EXCHANGE, "  rows_.assign(rows.begin(), rows.end());\n",
         "  const std::vector<int64_t> own = this->rows();\n  rows = own;\n"
         "  rows_.assign(rows.begin(), rows.end());\n"),
    ], "//tests/ranks:tables_test", "TablesTest.ALimitThatRejects"),
    ("each collection takes the rows of the first one for its own", [
        (EXCHANGE, "    rows.remove_prefix(tables);\n", ""),
    ], "//tests/ranks:table_models_test", "CollectionsTest.TwoEqualOneRank"),
    ("limits of the first collection alone are enforced", [
        (EXCHANGE, "  if (full.empty()) return absl::OkStatus();\n",
         "  if (full.empty() || full[0].first != &collections_[0]->tables()[0]->maintenance()) {\n"
         "    return absl::OkStatus();\n  }\n"),
    ], "//tests/ranks:table_models_test", "CollectionsTest.TwoEqualOneRank"),
    ("an id counts as often as the rank that looks it up most", [
        (OWNER + ".cc",
         "    const uint64_t count = uint64_t{counts_[place]} + share.counts[number];\n",
         "    const uint64_t count = std::max(counts_[place], share.counts[number]);\n"),
    ], "//tests/ranks:table_options_test", "*TableOptimizersTest.*"),
    ("an id that is announced counts as looked up", [
        (OWNER + ".cc",
         "    if (share.counts[i] == 0 || share.found[i] == Found::kNone) continue;\n",
         "    if (share.found[i] == Found::kNone) continue;\n"),
    ], "//tests/ranks:table_models_test", "LookupsTest.*"),
    ("rank 0 alone logs evicted ids", [
        ("embedding/table/table_maintenance.cc", "  parts_.evicted.add(step, ids);\n",
         "  if (parts_.options.placement.rank == 0) parts_.evicted.add(step, ids);\n"),
    ], "//tests/ranks:table_options_test", "*LimitsTest.*"),
    ("the owner of a row answers for a gradient that is not finite", [
        ("framework/ranks/commit_exchange.cc", "  CommitInput checked = input;\n",
         "  for (size_t t = 1; t + 1 < totals.size(); ++t) {\n"
         "    if (own.empty() && totals[t] > 0) own = \"a table\";\n  }\n"
         "  CommitInput checked = input;\n"),
    ], "//framework/loop:loop_test", "StandardTrainStep*"),
    ("reports have the evictions of rank 0 alone", [
        ("framework/report/table_figures.cc",
         "    for (int64_t& rows : sum.statistics.evicted) rows += reader.read_int64();\n",
         "    for (int64_t& rows : sum.statistics.evicted) {\n"
         "      const int64_t more = reader.read_int64();\n"
         "      if (rank == 0) rows = more;\n    }\n"),
    ], "//tests/ranks:table_models_test", "ReportsTest.*"),
    ("limits evict after after_step", [
        ("framework/trainer_loop.cc",
         "      RETURN_IF_ERROR(tables_.enforce_limits({\"eviction\", loop_.position.steps_done()}));\n",
         ""),
        ("framework/trainer_loop.cc", "    RETURN_IF_ERROR(hooks_.after_step(context_, result));\n",
         "    RETURN_IF_ERROR(hooks_.after_step(context_, result));\n"
         "    if (result.applied) {\n"
         "      RETURN_IF_ERROR(tables_.enforce_limits({\"eviction\", loop_.position.steps_done()}));\n"
         "    }\n"),
    ], "//tests/ranks:tables_test", "TablesTest.LimitsHoldInAfterStep"),
    ("eviction omits a digit of the hash", [
        ("embedding/policies/row_selection.cc", "<< 64 | key.hash;",
         "<< 64 | (key.hash & ~uint64_t{0} >> 8);"),
    ], "//tests/ranks:tables_test", "TablesTest.ALimitThatEvicts"),
    ("the log of evicted ids begins where the log of rank 0 begins", [
        ("checkpoint/format/manifest.cc",
         "        std::max(table->evicted_log_begins(), other.evicted_log_begins()));\n",
         "        table->evicted_log_begins());\n"),
    ], "//checkpoint/format:format_test", "JoinedManifestTest.*"),
    ("rank 0 alone writes tombstones", [
        ("checkpoint/state/table_writer.cc", "    writer.leave_out(options);\n",
         "    writer.leave_out(options);\n"
         "    if (snapshot.placement().rank > 0) writer.tombstones_.clear();\n"),
    ], "//checkpoint/state:state_test", "TableReshardTest.*"),
    ("each rank adds the whole sketch", [
        ("checkpoint/state/table_reader.cc",
         "std::max(begin, own.begin)", "begin"),
        ("checkpoint/state/table_reader.cc",
         "std::min(end, own.end)", "end"),
        ("checkpoint/state/table_tensors.cc",
         "Placement::first_part(placement.rank + 1, placement.world_size)",
         "static_cast<int>(sketch.counters.size() / range_bytes)"),
        ("checkpoint/state/table_tensors.cc",
         "int r = Placement::first_part(placement.rank, placement.world_size)", "int r = 0"),
    ], "//checkpoint/state:state_test", "TableReshardTest.*"),
    ("files have equal ranges of all hashes, so that a file may hold no whole parts", [
        ("checkpoint/state/table_writer.cc",
         "  return placement.first_hash() + "
         "absl::Uint128Low64((all * index + (count - 1)) / count);\n",
         "  (void)all;\n"
         "  const absl::uint128 total = placement.world_size * count;\n"
         "  return absl::Uint128Low64(\n"
         "      ((absl::uint128(1) << 64) * (placement.rank * count + index) + (total - 1)) / total);\n"),
    ], "//checkpoint/state:state_test", "TableReshardTest.*"),
]


PAGE = "docs/reliability.md"


def read(path):
  with open(os.path.join(ROOT, path), encoding="utf-8") as file:
    return file.read()


def write(path, text):
  with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
    file.write(text)


def planted(edits):
  """The files of a fault with the fault in them. Raises ValueError where an edit does not fit."""
  texts = {}
  for path, before, after in edits:
    text = texts.get(path, read(path))
    if text.count(before) != 1:
      raise ValueError("%s: %r is there %d times" % (path, before, text.count(before)))
    texts[path] = text.replace(before, after)
  return texts


def page_rows():
  """The rows of the table of these faults in the page."""
  rows = []
  for name, _, target, cases in FAULTS:
    rows.append("| %s | `%s`%s |" % (name, target, "" if cases == "*" else ", `%s`" % cases))
  return rows


def check_page():
  """Whether the page lists these faults. Prints the difference."""
  rows, page = page_rows(), read(PAGE)
  head = "| planted | found by |\n|---|---|\n"
  tables = [part.split("\n\n")[0].splitlines() for part in page.split(head)[1:]]
  counted = "%d mistakes" % len(FAULTS) in page
  if rows in tables and counted:
    return True
  print("%s must say \"%d mistakes\" and have the rows:" % (PAGE, len(FAULTS)))
  print("\n".join(rows))
  return False


def is_committed(path):
  return subprocess.run(["git", "diff", "--quiet", "HEAD", "--", path], cwd=ROOT).returncode == 0


def run_test(target, cases):
  command = ["./bazelw", "test", target, "--test_filter=" + cases, "--test_output=errors"]
  return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                        universal_newlines=True)


def find(name, edits, target, cases):
  """Whether the fault is found. Prints how."""
  texts = planted(edits)
  changed = [path for path in texts if not is_committed(path)]
  if changed:
    print("%s | not planted: %s differs from the last commit" % (name, ", ".join(changed)))
    return False
  originals = {path: read(path) for path in texts}
  try:
    for path, text in texts.items():
      write(path, text)
    result = run_test(target, cases)
  finally:
    for path, text in originals.items():
      write(path, text)
  found = result.returncode == TESTS_FAILED
  failures = [line for line in result.stdout.splitlines() if "FAILED  ]" in line]
  if result.returncode not in (0, TESTS_FAILED):
    failures = result.stdout.splitlines()[-20:]
  print("%s | %s | %s" % (name, target, "found" if found else "NOT FOUND (%d)" % result.returncode))
  for line in failures[:1] if found else failures:
    print("  " + line)
  sys.stdout.flush()
  return found


def main(arguments):
  names = [fault[0] for fault in FAULTS]
  unknown = [name for name in arguments if name not in names and name != "--check"]
  if unknown:
    print("unknown faults: %s; there are: %s" % (", ".join(unknown), ", ".join(names)))
    return 1
  good = True
  for name, edits, target, cases in FAULTS:
    if "--check" in arguments:
      try:
        planted(edits)
      except ValueError as error:
        print("%s | does not fit: %s" % (name, error))
        good = False
    elif not arguments or name in arguments:
      good = find(name, edits, target, cases) and good
  if "--check" in arguments:
    good = check_page() and good
  return 0 if good else 1


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
