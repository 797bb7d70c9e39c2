// Compares ids and counts of tables over processes with one process.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/c10d_collectives.h"
#include "distributed/process_ranks_testing.h"
#include "tests/ranks/table_ranks.h"

namespace millrace {
namespace {

// Trains a rank and writes its counts_of() to FOLDER/RANK.
absl::Status train_rank(const TableRun& run, const RankEnvironment& environment,
                        const std::string& folder) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "tables", .version = "test", .config = folder};
  options.rendezvous_timeout = absl::Seconds(30);
  options.collective_timeout = absl::Seconds(20);
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(options));
  return run_table_rank(run, std::move(collectives), [&](Trainer& trainer, int rank) {
    absl::Status status = trainer.train().status();
    if (!status.ok()) return status;
    return write_file_atomically(FileSystem::local(), absl::StrCat(folder, "/", rank),
                                 absl::StrJoin(counts_of(trainer), "\n"));
  });
}

// Trains on `world_size` processes. Returns the counts of all ranks together.
std::vector<std::string> train_processes(const TableRun& run, int world_size) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/tables-over-", world_size);
  remove_recursively(FileSystem::local(), folder).IgnoreError();
  EXPECT_OK(FileSystem::local().create_directories(folder));
  ProcessRanks ranks(world_size, [&](const RankEnvironment& environment, const ChildLink&) {
    return train_rank(run, environment, folder);
  });
  std::vector<std::string> all;
  for (int rank = 0; rank < world_size; ++rank) {
    EXPECT_OK(ranks.wait(rank)) << "rank " << rank;
    const auto text = read_file(FileSystem::local(), absl::StrCat(folder, "/", rank));
    EXPECT_OK(text.status());
    for (absl::string_view line : absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
      all.emplace_back(line);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

void expect_same_counts(const TableRun& run, const std::string& kind) {
  const std::vector<std::string> one = train_processes(run, 1);
  const auto has_kind = [&](const std::string& line) {
    return line.find(kind) != std::string::npos;
  };
  EXPECT_GT(std::count_if(one.begin(), one.end(), has_kind), 10) << kind;
  for (const int world_size : {2, 3})
    EXPECT_EQ(train_processes(run, world_size), one) << world_size;
}

TEST(TablesProcessesTest, RowsAndTheirCounts) { expect_same_counts({}, "frequency"); }

TEST(TablesProcessesTest, AdmissionCounts) {
  TableRun run;
  run.options.table.mutable_admission()->mutable_count()->set_min_count(12);
  expect_same_counts(run, "candidate");
}

TEST(TablesProcessesTest, IdsThatALimitEvicts) {
  for (const auto policy : {LimitConfig::EVICT_LRU, LimitConfig::EVICT_LFU}) {
    TableRun run;
    run.options.table.mutable_limit()->set_max_rows(60);
    run.options.table.mutable_limit()->set_on_full(policy);
    expect_same_counts(run, "evicted");
  }
}

}  // namespace
}  // namespace millrace
