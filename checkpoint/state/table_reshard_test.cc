// Tables over any number of ranks, written by one number of ranks and read by another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/state/placed_rows.h"
#include "checkpoint/state/table_reader.h"
#include "checkpoint/state/table_tensors.h"
#include "checkpoint/testing/table_files_testing.h"
#include "checkpoint/testing/tiny_state_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;
using Tables = std::vector<std::unique_ptr<EmbeddingTable>>;  // one part per rank

constexpr char kExact[] = "admission { count { min_count: 2 } } eviction { idle_steps: 4 }";
constexpr char kSketch[] =
    "admission { count { min_count: 2 sketch { capacity: 3000 } } } eviction { idle_steps: 4 }";

Tables tables_on(int world_size, const std::string& config, bool fine = false) {
  Tables tables;
  for (int rank = 0; rank < world_size; ++rank) {
    tables.push_back(tiny_table(config));
    EXPECT_OK(tables.back()->set_placement({rank, world_size, fine}));
  }
  return tables;
}

// Runs a step of all ranks, each with its own ids among `ids`, and then evicts.
void step_tables(const Tables& tables, int64_t step, const Ids& ids) {
  for (const auto& table : tables) {
    Ids own;
    for (const int64_t id : ids) {
      if (table->placement().owns(id)) own.push_back(id);
    }
    step_table(*table, step, own);
    EXPECT_OK(table->maintenance().evict({.step = step}).status());
  }
}

// Returns all content of a table, on any number of ranks.
std::string content_of(const Tables& tables) {
  absl::uint128 rows = 0, state = 0;
  int64_t begins = 0;
  std::vector<std::vector<int64_t>> evicted;
  std::set<int64_t> ids;
  for (const auto& table : tables) {
    const TableContent& content = table->content();
    rows += content.digest();
    state +=
        table_state_digest(content.admission_state(), content.evicted_log(), table->placement());
    begins = std::max(begins, content.evicted_log_begins());
    for (const int64_t id : content.export_rows().ids) {
      EXPECT_TRUE(table->placement().owns(id)) << id;
      EXPECT_TRUE(ids.insert(id).second) << id << " is on two ranks";
    }
  }
  return absl::StrCat(ids.size(), " rows ", format_digest(rows), ", state ", format_digest(state),
                      ", log from ", begins);
}

class TableReshardTest : public testing::Test {
 protected:
  absl::Status write(int64_t step, const Tables& tables, int64_t files,
                     std::optional<CheckpointManifest::Base> base = std::nullopt) {
    TableWriterOptions options;
    options.files = files;
    if (base.has_value()) options.since = base->step();
    return write_shards(files_, "c", step, tables, options, base);
  }

  // Reads the newest checkpoint on other ranks, which then continue at the clock of `like`.
  absl::StatusOr<Tables> read(int64_t step, int world_size, const std::string& config,
                              const EmbeddingTable& like, bool fine = false) {
    ASSIGN_OR_RETURN(const auto chain, open_chain(files_, path(step)));
    Tables tables = tables_on(world_size, config, fine);
    TableReaderOptions options;
    options.table = "items";
    PlacedRows sum;
    for (const auto& table : tables) {
      ASSIGN_OR_RETURN(const PlacedRows placed, read_table_chain(chain, options, *table, threads_));
      sum = {placed.what, sum.here + placed.here, placed.due};
      RETURN_IF_ERROR(table->content().set_counters(like.content().counters()));
    }
    RETURN_IF_ERROR(check_placed_rows(sum));
    return tables;
  }

  static std::string path(int64_t step) { return absl::StrCat("c/step-0000000", step); }

  MemoryFileSystem files_;
  ThreadPool threads_{2};
};

Ids random_ids(std::mt19937_64& random, bool skewed) {
  Ids ids;
  for (int i = 0; i < 60; ++i) {
    // Skewed ids have hashes in the first sixteenth of the range, most of them on the first rank.
    const auto number = static_cast<int64_t>(random() % 150);
    ids.push_back(skewed ? inverse_placement_hash(placement_hash(number) >> 4) : number);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

TEST_F(TableReshardTest, AnyNumberOfRanksReadsWhatAnyOtherWrote) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const int from = 1 + static_cast<int>(random() % 8), to = 1 + static_cast<int>(random() % 8);
    const int64_t k = 1 + static_cast<int64_t>(random() % 3);
    const bool skewed = random() % 2 == 0, delta = random() % 2 == 0;
    const std::string config = random() % 2 == 0 ? kExact : kSketch;
    const bool fine_from = config == kExact && random() % 2 == 0;
    const bool fine_to = config == kExact && random() % 2 == 0;
    SCOPED_TRACE(absl::StrCat("trial ", trial, ": ", from, " to ", to, " ranks, ", k, " files each",
                              skewed ? ", skewed" : "", delta ? ", a delta" : "",
                              fine_from ? ", fine" : "", fine_to ? ", to fine" : ""));
    if (files_.info("c").ok()) ASSERT_OK(remove_recursively(files_, "c"));
    Tables one = tables_on(1, config), written = tables_on(from, config, fine_from);
    const auto step_both = [&](const Tables& others, int64_t step) {
      const Ids ids = random_ids(random, skewed);
      step_tables(one, step, ids);
      step_tables(others, step, ids);
    };
    for (int64_t step = 1; step <= 8; ++step) {
      step_both(written, step);
      if (step == 4 && delta) ASSERT_OK(write(4, written, k));
    }
    ASSERT_EQ(content_of(written), content_of(one));
    ASSERT_OK(write(8, written, k + 1 - (delta ? 1 : 0),
                    delta ? std::optional(base_of(files_, path(4))) : std::nullopt));
    ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, path(8)));
    EXPECT_EQ(reader->manifest().tables(0).state_digest(),
              format_digest(table_state_digest(one[0]->content().admission_state(),
                                               one[0]->content().evicted_log(), {})));
    ASSERT_OK_AND_ASSIGN(const Tables back, read(8, to, config, *one[0], fine_to));
    ASSERT_EQ(content_of(back), content_of(one));
    for (int64_t step = 9; step <= 12; ++step) step_both(back, step);
    ASSERT_EQ(content_of(back), content_of(one)) << "after four more steps";
  }
}

TEST_F(TableReshardTest, FilesOfEachRankCoverItsHashes) {
  for (const int world_size : {1, 2, 3, 5, 6, 7, 100, 1000}) {
    SCOPED_TRACE(world_size);
    if (files_.info("c").ok()) ASSERT_OK(remove_recursively(files_, "c"));
    Ids ids(300);
    for (int64_t i = 0; i < 300; ++i) ids[i] = i;
    const bool fine = world_size > kMostCoarseRanks;
    Tables tables = tables_on(world_size, "", fine);
    step_tables(tables, 1, ids);
    const int64_t k = world_size > 100 ? 1 : 3;
    ASSERT_OK(write(1, tables, k));
    ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, path(1)));
    int64_t number = 0;
    for (const CheckpointManifest::File& file : reader->manifest().files()) {
      if (file.kind() != CheckpointManifest::TABLE_FILE) continue;
      const Placement owner = {static_cast<int>(number++ / k), world_size, fine};
      EXPECT_GE(file.first_hash(), owner.first_hash());
      EXPECT_LE(file.last_hash(), owner.last_hash());
    }
    EXPECT_EQ(number, world_size * k);
    EXPECT_OK(reader->verify(threads_));
  }
}

TEST_F(TableReshardTest, ALogOfEvictedIdsBeginsWhereThatOfTheLastRankDoes) {
  const std::string config = "eviction { idle_steps: 1 }";
  Tables tables = tables_on(2, config);
  Ids ids(40);
  for (int64_t i = 0; i < 40; ++i) ids[i] = i;
  step_tables(tables, 1, ids);
  for (int64_t step = 2; step <= 4; ++step) step_tables(tables, step, {});
  ASSERT_FALSE(tables[1]->content().evicted_log().ids.empty());
  const int64_t went = tables[1]->content().evicted_log().steps[0];
  tables[0]->content().restart_evicted_log(went + 1);
  ASSERT_OK(write(4, tables, 1));
  ASSERT_OK_AND_ASSIGN(const Tables back, read(4, 1, config, *tables[0]));
  EXPECT_EQ(back[0]->content().evicted_log_begins(), went + 1);
  EXPECT_THAT(back[0]->content().evicted_log().ids, testing::IsEmpty());
}

TEST_F(TableReshardTest, LimitsCountTheRowsOfAllRanks) {
  Ids ids(20);
  for (int64_t i = 0; i < 20; ++i) ids[i] = i;
  Tables tables = tables_on(3, "");
  step_tables(tables, 1, ids);
  ASSERT_OK(write(1, tables, 1));
  for (const int ranks : {1, 2, 4}) {
    EXPECT_OK(read(1, ranks, "limit { max_rows: 20 on_full: FAIL }", *tables[0]).status());
    EXPECT_THAT(read(1, ranks, "limit { max_rows: 19 on_full: FAIL }", *tables[0]).status(),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("items")));
  }
}

// Chunks of other ranks' rows are not read.
TEST_F(TableReshardTest, DamageMattersToTheRankWhoseRowsItIsIn) {
  const auto table = tiny_table();
  ASSERT_OK(table->content().load_rows([] {
    TableRows rows;
    rows.dim = 3;
    for (int64_t id = 0; id < 2'000'000; ++id) rows.ids.push_back(id);
    rows.weights.resize(rows.ids.size() * 3, 0.5F);
    return rows;
  }()));
  ASSERT_OK(write_table(files_, "c", 1, *table));
  const std::string file = path(1) + "/table-items-00000-of-00001.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, file));
  ASSERT_GT(content.size(), size_t{64} << 20);
  content.back() ^= 1;  // weights of the last row
  files_.put(file, content);
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, path(1)));
  TableReaderOptions options;
  options.table = "items";
  const Tables tables = tables_on(8, "");
  int64_t rows = 0;
  for (const auto& part : tables) {
    const absl::Status status = read_table(*reader, options, *part, threads_);
    EXPECT_EQ(status.ok(), part->placement().rank < 6) << status;  // one chunk for two
    rows += part->rows();
  }
  EXPECT_EQ(rows, 2'000'000);
}

}  // namespace
}  // namespace millrace
