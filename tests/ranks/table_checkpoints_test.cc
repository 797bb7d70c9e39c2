// Tests checkpoints of a job with a table over several ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "distributed/thread_collectives.h"
#include "tests/ranks/checkpoint_ranks.h"
#include "tests/ranks/newest_checkpoint.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kAdmission[] = "admission { count { min_count: 3 } }";
constexpr char kSketch[] = "admission { count { min_count: 3 sketch { capacity: 2000 } } }";

std::vector<absl::StatusOr<std::string>> run_threads(const CheckpointRun& run,
                                                     std::vector<FileSystem*> files,
                                                     int world_size) {
  std::vector<absl::StatusOr<std::string>> results(world_size, absl::UnknownError("not run"));
  run_thread_ranks({.world_size = world_size}, [&](std::unique_ptr<Collectives> collectives) {
    const int rank = collectives->rank();
    results[rank] = run_with_checkpoints(run, *files[rank % files.size()], std::move(collectives));
    return results[rank].status();
  });
  return results;
}

void run_all(const CheckpointRun& run, FileSystem& files, int world_size) {
  for (const auto& result : run_threads(run, {&files}, world_size)) ASSERT_OK(result.status());
}

CheckpointRun a_run() {
  CheckpointRun run;
  run.folder = "c";
  run.table = kAdmission;
  run.sparse_optimizer = "rowwise_adagrad {} learning_rate: 0.1";
  return run;
}

// The number of the table's files in the newest checkpoint, and if the checkpoint is a delta.
struct Shape {
  int files = 0;
  bool is_delta = false;
};
Shape shape_of_newest(FileSystem& files) {
  const auto listed = list_checkpoints(files, "c");
  EXPECT_OK(listed.status());
  Shape shape;
  for (const auto& file : listed->back().reader->manifest().files()) {
    if (file.kind() == CheckpointManifest::TABLE_FILE) ++shape.files;
  }
  shape.is_delta = listed->back().reader->manifest().has_base();
  return shape;
}

class TableCheckpointsTest : public testing::TestWithParam<std::string> {
 protected:
  static CheckpointRun whole() {
    CheckpointRun run = a_run();
    run.table = GetParam();
    run.steps = 20;
    return run;
  }
};

TEST_P(TableCheckpointsTest, ResumesExactlyFromEveryStepOfForty) {
  MemoryFileSystem none;
  const auto undisturbed = run_threads(whole(), {&none}, 2);
  for (const auto& result : undisturbed) ASSERT_OK(result.status());
  for (int64_t step = 1; step <= 40; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    MemoryFileSystem files;
    CheckpointRun first = whole();
    first.save_every = 5;
    first.max_steps = step;
    first.asynchronous = step % 2 == 0;
    first.max_deltas = step % 3 == 0 ? 3 : 0;
    first.file_bytes = step % 5 == 0 ? 300 : first.file_bytes;
    run_all(first, files, 2);
    CheckpointRun rest = whole();
    rest.resume = true;
    const auto resumed = run_threads(rest, {&files}, 2);
    for (int rank = 0; rank < 2; ++rank) {
      ASSERT_OK(resumed[rank].status());
      ASSERT_EQ(*resumed[rank], *undisturbed[rank]) << "rank " << rank;
    }
  }
}

// Runs 4, 2, 3, 1 and 4 ranks, each of which reads the checkpoint of the run before and continues
// training.
TEST_P(TableCheckpointsTest, AnotherNumberOfRanksHoldsTheSame) {
  MemoryFileSystem files;
  CheckpointRun run = whole();
  run.save_every = 3;
  run.max_deltas = 2;
  run.file_bytes = 100;
  std::string before;
  for (const int world_size : {4, 2, 3, 1, 4}) {
    SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
    if (!before.empty()) {
      CheckpointRun again = run;  // trains nothing
      again.resume = again.save_again = true;
      run_all(again, files, world_size);
      ASSERT_THAT(content_of_newest(files, "c"), IsOkAndHolds(before)) << "read and saved again";
    }
    run.resume = !before.empty();
    run.max_steps += 5;
    run_all(run, files, world_size);
    EXPECT_GT(shape_of_newest(files).files, world_size) << "several files of each";
    ASSERT_OK_AND_ASSIGN(std::string now, content_of_newest(files, "c"));
    EXPECT_THAT(now, HasSubstr(absl::StrCat("step ", run.max_steps)));
    EXPECT_NE(now, before);
    before = std::move(now);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, TableCheckpointsTest,
                         testing::Values("", kAdmission, kSketch,
                                         "limit { max_rows: 30 on_full: EVICT_LRU }"));

// Counts do not depend on the number of ranks.
TEST(TableCheckpointsOfRanksTest, CandidatesAndEvictedIdsAreThoseOfOneRank) {
  const auto state_digest = [](const std::string& table, int world_size) {
    MemoryFileSystem files;
    CheckpointRun run = a_run();
    run.table = table;
    run.save_every = 1000;
    run_all(run, files, world_size);
    const auto listed = list_checkpoints(files, "c");
    EXPECT_OK(listed.status());
    return listed->back().reader->manifest().tables(0).state_digest();
  };
  for (const std::string table : {std::string(kAdmission), std::string(kSketch),
                                  std::string("limit { max_rows: 30 on_full: EVICT_LRU }")}) {
    SCOPED_TRACE(table);
    const std::string one = state_digest(table, 1);
    EXPECT_NE(one, std::string(32, '0'));
    for (const int world_size : {2, 3, 4}) EXPECT_EQ(state_digest(table, world_size), one);
  }
}

TEST(TableCheckpointsOfRanksTest, DeltasNeedTheBaseOnAllRanks) {
  CheckpointRun run = a_run();
  run.save_every = 3;
  run.max_deltas = 5;
  MemoryFileSystem files;
  run.max_steps = 6;
  run_all(run, files, 3);
  EXPECT_TRUE(shape_of_newest(files).is_delta);
  // One rank does not find the base, so all ranks save a whole checkpoint.
  run.resume = true;
  run.max_steps = 9;
  int64_t deltas = 0, wholes = 0, failures = 0;
  for (int64_t n = 0;; ++n) {
    FaultFileSystem faulty(files);
    faulty.fail(n, 1, absl::UnavailableError("injected"));
    const auto results = run_threads(run, {&files, &faulty, &files}, 3);
    EXPECT_EQ(results[0].ok(), results[1].ok());
    EXPECT_EQ(results[0].ok(), results[2].ok());
    if (results[0].ok()) {
      (shape_of_newest(files).is_delta ? deltas : wholes) += 1;
      ASSERT_OK(content_of_newest(files, "c").status());
    } else {
      ++failures;
    }
    if (faulty.calls() <= n) {
      EXPECT_TRUE(shape_of_newest(files).is_delta) << "without a fault";
      break;
    }
    if (files.info("c/step-00000009").ok()) {
      ASSERT_OK(remove_recursively(files, "c/step-00000009"));
    }
  }
  EXPECT_GT(deltas, 0);
  EXPECT_GT(wholes, 0);
  EXPECT_GT(failures, 5);
}

// All ranks end with the message of the disk that refused a write, and the older checkpoint
// remains.
TEST(TableCheckpointsOfRanksTest, WhatOneRankCannotWriteFailsOnAll) {
  for (const bool asynchronous : {false, true}) {
    for (const int guilty : {0, 1}) {
      int64_t failures = 0;
      CheckpointRun run = a_run();
      run.asynchronous = asynchronous;
      run.save_every = run.max_steps = 4;
      for (int64_t n = 0;; ++n) {
        SCOPED_TRACE(absl::StrCat("call ", n, " of rank ", guilty));
        MemoryFileSystem disk;
        run_all(run, disk, 2);
        FaultFileSystem faulty(disk);
        faulty.fail(n, 1, absl::ResourceExhaustedError("injected"));
        std::vector<FileSystem*> files = {&disk, &disk};
        files[guilty] = &faulty;
        CheckpointRun next = run;
        next.save_every = next.max_steps = 8;
        next.resume = true;
        const auto results = run_threads(next, files, 2);
        ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(disk, "c"));
        ASSERT_FALSE(listed.empty());
        EXPECT_OK(listed[0].status) << "of step 4";
        if (faulty.calls() <= n) break;
        EXPECT_EQ(results[0].ok(), results[1].ok());
        if (results[0].ok()) continue;  // the failure had no effect, for example in clean-up
        ++failures;
        for (const auto& result : results) {
          EXPECT_THAT(result.status().message(), HasSubstr("injected"));
        }
      }
      EXPECT_GT(failures, 5);
    }
  }
}

TEST(TableCheckpointsOfRanksTest, AMissingShardIsNamedByAllRanks) {
  MemoryFileSystem files;
  CheckpointRun run = a_run();
  run.save_every = run.max_steps = 4;
  run_all(run, files, 3);
  const std::string file = "c/step-00000004/table-items-00002-of-00003.safetensors";
  ASSERT_OK(files.remove(file));
  run.resume = true;
  for (const int world_size : {1, 2, 3}) {
    for (const auto& result : run_threads(run, {&files}, world_size)) {
      EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(file)));
    }
  }
}

// The sources of the model bank are a file with rows, and then a checkpoint that any number of
// ranks wrote.
TEST(TableCheckpointsOfRanksTest, AModelBankGivesEachRankItsRows) {
  MemoryFileSystem files;
  std::string text;
  for (int id = 0; id < 100; ++id) absl::StrAppend(&text, id, " ", id, " 0.5 -1 2\n");
  files.put("rows.txt", text);
  files.put("twice.txt", text + "7 1 1 1 1\n");
  CheckpointRun run;
  run.table = "";
  run.max_steps = 1;
  run.save_every = 1;
  const auto digests = [&](const std::string& bank, int world_size) {
    run.folder = "c";
    run.bank = bank;
    if (files.info("c").ok()) EXPECT_OK(remove_recursively(files, "c"));
    run_all(run, files, world_size);
    const auto digests = content_of_newest(files, "c");
    EXPECT_OK(digests.status());
    return digests.ok() ? *digests : "";
  };
  const std::string rows = "source { path: 'rows.txt' rows { table: 'items' } allow_missing: '*' }";
  EXPECT_THAT(digests(rows, 1), HasSubstr("100 rows"));
  EXPECT_THAT(digests(rows, 3), HasSubstr("100 rows"));
  // A checkpoint of the step before any training, which all ranks wrote.
  run.folder = "source";
  run.bank = rows;
  run_all(run, files, 2);
  const std::string source = "source { path: 'source' allow_missing: '*' }";
  const std::string one = digests(source, 1);
  EXPECT_THAT(one, HasSubstr("100 rows"));
  for (const int world_size : {2, 3}) {
    EXPECT_THAT(digests(source, world_size), HasSubstr("100 rows")) << world_size << " ranks";
  }
  // The limit counts the rows of all ranks.
  run.bank = rows;
  for (const auto& [limit, code] : std::map<int, absl::StatusCode>{
           {100, absl::StatusCode::kOk}, {99, absl::StatusCode::kResourceExhausted}}) {
    CheckpointRun limited = run;
    limited.folder = absl::StrCat("limit", limit);
    limited.table = absl::StrCat("limit { max_rows: ", limit, " on_full: FAIL }");
    for (const int world_size : {1, 2, 3}) {
      if (files.info(limited.folder).ok()) ASSERT_OK(remove_recursively(files, limited.folder));
      for (const auto& result : run_threads(limited, {&files}, world_size)) {
        EXPECT_EQ(result.status().code(), code) << world_size << " ranks: " << result.status();
      }
    }
  }
  run.bank = "source { path: 'twice.txt' rows { table: 'items' } allow_missing: '*' }";
  for (const auto& result : run_threads(run, {&files}, 2)) {
    EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("twice.txt")));
  }
}

// Nothing is read or written in part if one rank does not see the folder.
TEST(TableCheckpointsOfRanksTest, AFolderOfItsOwnIsFoundOut) {
  MemoryFileSystem shared, own;
  CheckpointRun run = a_run();
  run.save_every = run.max_steps = 4;
  const auto written = run_threads(run, {&shared, &own}, 2);
  for (const auto& result : written) {
    EXPECT_FALSE(result.ok());
    EXPECT_THAT(result.status().message(),
                AllOf(HasSubstr("rank 1"), HasSubstr("all ranks need the same folder")));
  }
  ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(shared, "c"));
  EXPECT_TRUE(listed.empty());
  run_all(run, shared, 2);
  run.resume = true;
  for (const auto& result : run_threads(run, {&shared, &own}, 2)) {
    EXPECT_THAT(result.status().message(), HasSubstr("rank 1"));
  }
}

}  // namespace
}  // namespace millrace
