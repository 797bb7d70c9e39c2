// Tests checkpoints of two processes, over Gloo.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/c10d_collectives.h"
#include "distributed/process_ranks_testing.h"
#include "tests/ranks/checkpoint_ranks.h"

namespace millrace {
namespace {

// Trains a rank, and writes its outcome next to the folder of checkpoints.
absl::Status run_rank(const CheckpointRun& run, const RankEnvironment& environment) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "checkpoints", .version = "test", .config = run.folder};
  options.rendezvous_timeout = absl::Seconds(30);
  options.collective_timeout = absl::Seconds(20);
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(options));
  ASSIGN_OR_RETURN(const std::string end,
                   run_with_checkpoints(run, FileSystem::local(), std::move(collectives)));
  return write_file_atomically(FileSystem::local(), absl::StrCat(run.folder, ".", environment.rank),
                               end);
}

void run_processes(const CheckpointRun& run) {
  ProcessRanks ranks(2, [&](const RankEnvironment& environment, const ChildLink&) {
    return run_rank(run, environment);
  });
  for (const int rank : {0, 1}) EXPECT_OK(ranks.wait(rank)) << "rank " << rank;
}

std::string end_of(const std::string& folder, int rank) {
  const auto text = read_file(FileSystem::local(), absl::StrCat(folder, ".", rank));
  EXPECT_OK(text.status());
  return text.value_or("");
}

TEST(CheckpointProcessesTest, ResumeExactly) {
  const std::string base = absl::StrCat(testing::TempDir(), "/processes");
  ASSERT_OK(FileSystem::local().create_directories(base));
  run_processes({.folder = base + "/whole"});
  ASSERT_NE(end_of(base + "/whole", 0), "");
  for (const int64_t step : {3, 6, 7}) {
    const std::string folder = absl::StrCat(base, "/from-", step);
    run_processes({.folder = folder, .save_every = 3, .max_steps = step});
    run_processes({.folder = folder, .resume = true});
    for (const int rank : {0, 1}) {
      EXPECT_EQ(end_of(folder, rank), end_of(base + "/whole", rank)) << "from step " << step;
    }
  }
}

}  // namespace
}  // namespace millrace
