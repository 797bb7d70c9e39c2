#include "tests/ranks/checkpoint_ranks.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "distributed/thread_collectives.h"

namespace millrace {
namespace {

using testing::HasSubstr;

// Returns the outcome of each rank; `files`: one for all ranks, or one for each.
std::vector<absl::StatusOr<std::string>> run_threads(const CheckpointRun& run,
                                                     std::vector<FileSystem*> files,
                                                     int world_size) {
  std::vector<absl::StatusOr<std::string>> results(world_size, absl::UnknownError("not run"));
  ThreadRanksOptions options;
  options.world_size = world_size;
  run_thread_ranks(options, [&](std::unique_ptr<Collectives> collectives) {
    const int rank = collectives->rank();
    results[rank] = run_with_checkpoints(run, *files[rank % files.size()], std::move(collectives));
    return results[rank].status();
  });
  return results;
}

class ThreadCheckpointTest : public testing::TestWithParam<int> {};

void expect_exact_from_every_step(const CheckpointRun& run, int world_size) {
  MemoryFileSystem none;
  const auto whole = run_threads(run, {&none}, world_size);
  for (const auto& result : whole) ASSERT_OK(result.status());
  for (int64_t step = 1; step <= 12; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    MemoryFileSystem files;
    CheckpointRun first = run;
    first.save_every = 1;
    first.max_steps = step;
    for (const auto& result : run_threads(first, {&files}, world_size)) ASSERT_OK(result.status());
    CheckpointRun rest = run;
    rest.resume = true;
    const auto resumed = run_threads(rest, {&files}, world_size);
    for (int rank = 0; rank < world_size; ++rank) {
      ASSERT_OK(resumed[rank].status());
      EXPECT_EQ(*resumed[rank], *whole[rank]) << "rank " << rank;
    }
  }
}

TEST_P(ThreadCheckpointTest, ResumesExactlyFromEveryStep) {
  expect_exact_from_every_step({.folder = "c"}, GetParam());
}

// Uses all features whose state decides the next step.
TEST_P(ThreadCheckpointTest, ResumesExactlyInReducedPrecision) {
  for (const char* precision :
       {"compute: BFLOAT16",
        "compute: FLOAT16 loss_scale { initial: 4194304 growth_interval: 3 }"}) {
    SCOPED_TRACE(precision);
    expect_exact_from_every_step(
        {.folder = "c",
         .optimizer = "lamb {} learning_rate: 0.1 schedule { reduce_on_plateau { monitor: "
                      "'train/loss' factor: 0.5 patience: 0 } }",
         .clipping = "max_norm: 0.05",
         .precision = precision},
        GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadCheckpointTest, testing::Values(1, 2, 3));

// All ranks end with the message of the disk that refused a write, and the older checkpoint
// remains.
TEST(ThreadCheckpointFaultTest, WhatOneRankCannotWriteFailsOnAll) {
  for (const int guilty : {0, 1}) {
    int64_t failures = 0;
    for (int64_t n = 0;; ++n) {
      SCOPED_TRACE(absl::StrCat("call ", n, " of rank ", guilty));
      MemoryFileSystem disk;
      for (const auto& result :
           run_threads({.folder = "c", .save_every = 4, .max_steps = 4}, {&disk}, 2)) {
        ASSERT_OK(result.status());
      }
      FaultFileSystem faulty(disk);
      faulty.fail(n, 1, absl::ResourceExhaustedError("injected"));
      std::vector<FileSystem*> files = {&disk, &disk};
      files[guilty] = &faulty;
      const auto results =
          run_threads({.folder = "c", .save_every = 8, .max_steps = 8, .resume = true}, files, 2);
      const bool done = faulty.calls() <= n;
      ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(disk, "c"));
      ASSERT_FALSE(listed.empty());
      EXPECT_OK(listed[0].status) << "of step 4";
      if (done) break;
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

}  // namespace
}  // namespace millrace
