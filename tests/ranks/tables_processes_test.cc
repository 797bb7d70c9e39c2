// Compares tables over processes with one process (ids and counts) and with as many threads (to the
// bit).
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/c10d_collectives.h"
#include "distributed/process_ranks_testing.h"
#include "embedding/embedding_collection.h"
#include "tests/ranks/table_ranks.h"

namespace millrace {
namespace {

// Returns the bytes of numbers in hexadecimal digits.
template <typename Number>
std::string bits_of(const std::vector<Number>& values) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(values.data()),
                                                  values.size() * sizeof(Number)));
}

// The state of the tables of all ranks of a job.
struct JobTables {
  std::vector<std::string> counts;  // counts_of() of all ranks, ascending
  std::vector<std::string> bits;    // by rank: weights, slots and sketches

  friend bool operator==(const JobTables&, const JobTables&) = default;
};

// Writes the state of a rank's tables to the files FOLDER/counts-RANK and FOLDER/bits-RANK.
absl::Status write_tables(const Trainer& trainer, int rank, const std::string& folder) {
  std::string bits;
  for (const EmbeddingCollection* collection : trainer.collections()) {
    for (const auto& table : collection->tables()) {
      const TableRows rows = table->content().export_rows();
      absl::StrAppend(&bits, table->name(), ": weights ", bits_of(rows.weights), "\n");
      for (const TableRows::Slot& slot : rows.slots) {
        absl::StrAppend(&bits, slot.name, " ", bits_of(slot.values), "\n");
      }
      const CountSketchState sketch = table->content().admission_state().sketch;
      absl::StrAppend(&bits, "sketch ", sketch.depth, " ", sketch.width, " ",
                      bits_of(sketch.counters), "\n");
    }
  }
  FileSystem& files = FileSystem::local();
  RETURN_IF_ERROR(write_file_atomically(files, absl::StrCat(folder, "/bits-", rank), bits));
  return write_file_atomically(files, absl::StrCat(folder, "/counts-", rank),
                               absl::StrJoin(counts_of(trainer), "\n"));
}

// Trains and writes the state of the rank.
absl::Status train_and_write(Trainer& trainer, int rank, const std::string& folder) {
  RETURN_IF_ERROR(trainer.train().status());
  return write_tables(trainer, rank, folder);
}

absl::Status train_process(const TableRun& run, const RankEnvironment& environment,
                           const std::string& folder) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "tables", .version = "test", .config = folder};
  options.rendezvous_timeout = absl::Seconds(30);
  options.collective_timeout = absl::Seconds(20);
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(options));
  return run_table_rank(run, std::move(collectives), [&](Trainer& trainer, int rank) {
    return train_and_write(trainer, rank, folder);
  });
}

// Trains on ranks that are threads of this process.
absl::Status train_threads(const TableRun& run, int world_size, const std::string& folder) {
  const auto body = [&](Trainer& trainer, int rank) {
    return train_and_write(trainer, rank, folder);
  };
  for (const absl::Status& status : run_table_ranks(run, world_size, body)) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

// Trains on `world_size` ranks, which are processes or the threads of one.
JobTables train(const TableRun& run, int world_size, bool threads = false) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/tables-over-", world_size);
  remove_recursively(FileSystem::local(), folder).IgnoreError();
  EXPECT_OK(FileSystem::local().create_directories(folder));
  // Threads too run in a child, since this process must stay without threads.
  const int children = threads ? 1 : world_size;
  ProcessRanks ranks(children, [&](const RankEnvironment& environment, const ChildLink&) {
    return threads ? train_threads(run, world_size, folder)
                   : train_process(run, environment, folder);
  });
  for (int child = 0; child < children; ++child) EXPECT_OK(ranks.wait(child)) << child;
  JobTables tables;
  const auto read = [&](const std::string& name) {
    const auto text = read_file(FileSystem::local(), absl::StrCat(folder, "/", name));
    EXPECT_OK(text.status());
    return text.value_or("");
  };
  for (int rank = 0; rank < world_size; ++rank) {
    tables.bits.push_back(read(absl::StrCat("bits-", rank)));
    const std::string counts = read(absl::StrCat("counts-", rank));
    for (absl::string_view line : absl::StrSplit(counts, '\n', absl::SkipEmpty())) {
      tables.counts.emplace_back(line);
    }
  }
  std::sort(tables.counts.begin(), tables.counts.end());
  return tables;
}

// Expects the counts of one rank, some of which contain `kind`, over 2 to 4 processes, and over 4
// the bits of 4 threads.
void expect_same_tables(TableRun run, const std::string& kind) {
  // Processes add the gradients of dense parameters in another order than threads.
  run.options.dense_optimizer.emplace().set_frozen(true);
  const JobTables one = train(run, 1);
  const auto has_kind = [&](const std::string& line) {
    return line.find(kind) != std::string::npos;
  };
  EXPECT_GT(std::count_if(one.counts.begin(), one.counts.end(), has_kind), 10) << kind;
  for (const int world_size : {2, 3}) {
    EXPECT_EQ(train(run, world_size).counts, one.counts) << world_size;
  }
  const JobTables four = train(run, 4);
  EXPECT_EQ(four.counts, one.counts);
  EXPECT_TRUE(four == train(run, 4, /*threads=*/true)) << "weights, slots or sketches differ";
}

TEST(TablesProcessesTest, RowsAndTheirCounts) { expect_same_tables({}, "frequency"); }

TEST(TablesProcessesTest, AdmissionCounts) {
  TableRun run;
  run.options.table.mutable_admission()->mutable_count()->set_min_count(12);
  expect_same_tables(run, "candidate");
}

TEST(TablesProcessesTest, Sketch) {
  TableRun run;
  CountAdmission& count = *run.options.table.mutable_admission()->mutable_count();
  count.set_min_count(3);
  count.mutable_sketch()->set_capacity(1000);
  expect_same_tables(run, "frequency");
}

TEST(TablesProcessesTest, IdsThatALimitEvicts) {
  for (const auto policy : {LimitConfig::EVICT_LRU, LimitConfig::EVICT_LFU}) {
    TableRun run;
    run.options.table.mutable_limit()->set_max_rows(60);
    run.options.table.mutable_limit()->set_on_full(policy);
    expect_same_tables(run, "evicted");
  }
}

}  // namespace
}  // namespace millrace
