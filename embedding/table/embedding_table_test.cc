#include "embedding/table/embedding_table.h"

#include <algorithm>
#include <limits>
#include <random>

#include "base/hash.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

std::unique_ptr<EmbeddingTable> make_table(int64_t dim = 3) {
  EmbeddingTableOptions options;
  options.name = "items";
  options.dim = dim;
  absl::StatusOr<std::unique_ptr<EmbeddingTable>> table = EmbeddingTable::create(options);
  EXPECT_OK(table);
  EXPECT_OK((*table)->bind({{"m", dim, 0.0f}, {"n", 1, 0.5f}}));
  return *std::move(table);
}

std::vector<RowIndex> insert(EmbeddingTable& table, const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  EXPECT_OK(table.find_or_insert(ids, absl::MakeSpan(rows)));
  return rows;
}

// Runs a step with distinct ids that occur once each.
std::vector<RowIndex> step(EmbeddingTable& table, int64_t number, const std::vector<int64_t>& ids) {
  const std::vector<RowIndex> rows = insert(table, ids);
  table.record_occurrences(number, rows, std::vector<uint32_t>(rows.size(), 1));
  table.commit(number);
  return rows;
}

std::vector<RowIndex> find(const EmbeddingTable& table, const std::vector<int64_t>& ids) {
  std::vector<RowIndex> rows(ids.size());
  table.find(ids, absl::MakeSpan(rows));
  return rows;
}

TEST(EmbeddingTableTest, RefusesBadOptions) {
  EmbeddingTableOptions options;
  EXPECT_THAT(EmbeddingTable::create(options), StatusIs(kInvalid, HasSubstr("name")));
  options.name = "items";
  for (const int64_t dim : {int64_t{0}, int64_t{-4}, int64_t{4097}, kLowest}) {
    options.dim = dim;
    EXPECT_THAT(EmbeddingTable::create(options), StatusIs(kInvalid, HasSubstr("items")));
  }
  options.dim = 4096;
  EXPECT_OK(EmbeddingTable::create(options));
  options.initializer.mutable_normal()->set_stddev(-1);
  EXPECT_THAT(EmbeddingTable::create(options), StatusIs(kInvalid, HasSubstr("items")));
}

TEST(EmbeddingTableTest, NewRowsHoldInitialValuesWhateverTheOrder) {
  std::vector<int64_t> ids = {5, -7, 0, kLowest, 12};
  std::unique_ptr<EmbeddingTable> a = make_table(), b = make_table();
  step(*a, 1, ids);
  std::reverse(ids.begin(), ids.end());
  for (const int64_t id : ids) insert(*b, {id});
  b->record_occurrences(1, find(*b, ids), std::vector<uint32_t>(5, 1));
  b->commit(1);
  EXPECT_EQ(a->content().digest(), b->content().digest());
  std::vector<float> row(3);
  a->initial_row(12, absl::MakeSpan(row));
  const float* weights = a->content().rows().weights(find(*a, {12})[0]);
  EXPECT_EQ(std::vector<float>(weights, weights + 3), row);
  EXPECT_THAT(std::vector<float>(weights + 3, weights + 7), ElementsAre(0, 0, 0, 0.5f));
}

TEST(EmbeddingTableTest, CommitCountsAndRemembersTheStep) {
  std::unique_ptr<EmbeddingTable> table = make_table();
  std::vector<RowIndex> rows = insert(*table, {1, 2});
  EXPECT_TRUE(table->in_step());
  EXPECT_EQ(table->maintenance().statistics().rows, 0);
  table->record_occurrences(10, rows, {3, 1});
  table->commit(10);
  EXPECT_FALSE(table->in_step());
  step(*table, 11, {2});
  EXPECT_EQ(table->content().rows().frequency(rows[0]), 3);
  EXPECT_EQ(table->content().rows().last_step(rows[0]), 10);
  EXPECT_EQ(table->content().rows().frequency(rows[1]), 2);
  EXPECT_EQ(table->content().rows().last_step(rows[1]), 11);
  EXPECT_EQ(table->applied_steps(), 2);
  EXPECT_EQ(table->maintenance().statistics().rows, 2);
  EXPECT_EQ(table->maintenance().statistics().inserted, 2);
  EXPECT_GT(table->maintenance().statistics().bytes, 1024 * 64);
}

TEST(EmbeddingTableTest, DiscardLeavesTheTableAsItWas) {
  std::unique_ptr<EmbeddingTable> table = make_table();
  step(*table, 1, {1, 2, 3});
  const absl::uint128 digest = table->content().digest();
  const TableRows rows = table->content().export_rows();
  insert(*table, {3, 4, 5, 4, 6});
  EXPECT_NE(table->content().digest(), digest);
  table->discard();
  EXPECT_EQ(table->content().digest(), digest);
  EXPECT_EQ(table->content().export_rows().weights, rows.weights);
  EXPECT_EQ(table->maintenance().statistics().rows, 3);
  EXPECT_EQ(table->maintenance().statistics().inserted, 3);
  EXPECT_EQ(table->applied_steps(), 1);
  EXPECT_THAT(find(*table, {4, 5, 6}), testing::Each(kNoRow));
  // The same row numbers are assigned again.
  EXPECT_THAT(insert(*table, {8, 9}), ElementsAre(3, 4));
}

TEST(EmbeddingTableTest, BindOnlyBeforeTheFirstRow) {
  std::unique_ptr<EmbeddingTable> table = make_table();
  EXPECT_OK(table->bind({}));
  insert(*table, {1});
  EXPECT_OK(table->bind({}));
  EXPECT_THAT(table->bind({{"m", 3, 0.0f}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("items")));
  table->discard();
  EXPECT_OK(table->bind({{"m", 3, 0.0f}}));
  EXPECT_EQ(table->slots().size(), 1);
}

TEST(EmbeddingTableTest, ExportIsInPlacementOrder) {
  std::unique_ptr<EmbeddingTable> table = make_table();
  std::vector<int64_t> ids;
  for (int64_t id = -500; id < 500; ++id) ids.push_back(id * 77);
  step(*table, 1, ids);
  const TableRows rows = table->content().export_rows();
  ASSERT_EQ(rows.ids.size(), 1000);
  EXPECT_TRUE(std::is_sorted(rows.ids.begin(), rows.ids.end(), [](int64_t a, int64_t b) {
    return placement_hash(a) < placement_hash(b);
  }));
  ASSERT_EQ(rows.slots.size(), 2);
  EXPECT_EQ(rows.slots[0].values.size(), 3000);
  EXPECT_EQ(rows.slots[1].values, std::vector<float>(1000, 0.5f));
}

TEST(EmbeddingTableTest, LoadMakesTheSameTable) {
  std::unique_ptr<EmbeddingTable> table = make_table(), copy = make_table();
  std::mt19937 random(3);
  for (int64_t number = 1; number < 20; ++number) {
    std::vector<int64_t> ids;
    for (int i = 0; i < 100; ++i) ids.push_back(i * 64 + random() % 64);
    for (const RowIndex row : step(*table, number, ids)) {
      for (int c = 0; c < 7; ++c)
        table->content().mutable_row(row).weights()[c] += 0.001f * (random() % 1000);
    }
  }
  step(*copy, 1, {0, 1, 2});
  copy->content().reset();
  EXPECT_EQ(copy->content().digest(), absl::uint128(0));
  EXPECT_OK(copy->content().load_rows(table->content().export_rows()));
  EXPECT_EQ(copy->content().digest(), table->content().digest());
  EXPECT_EQ(copy->maintenance().statistics().rows, table->maintenance().statistics().rows);
  // Loading the rows that a table has changes nothing.
  EXPECT_OK(copy->content().load_rows(table->content().export_rows()));
  EXPECT_EQ(copy->content().digest(), table->content().digest());
}

TEST(EmbeddingTableTest, LoadOfWeightsAloneBeginsWithFreshSlots) {
  std::unique_ptr<EmbeddingTable> table = make_table();
  const std::vector<RowIndex> rows = step(*table, 4, {1});
  table->content().mutable_row(rows[0]).slots[0] = 8;
  TableRows weights;
  weights.dim = 3;
  weights.ids = {2, 1};
  weights.weights = {1, 2, 3, 4, 5, 6};
  EXPECT_OK(table->content().load_rows(weights));
  EXPECT_EQ(table->content().rows().slots(rows[0])[0], 0);
  EXPECT_EQ(table->content().rows().weights(rows[0])[2], 6);
  EXPECT_EQ(table->content().rows().frequency(rows[0]), 0);
  EXPECT_EQ(table->maintenance().statistics().rows, 2);
}

TEST(EmbeddingTableTest, LoadRefusesWhatDoesNotFitAndChangesNothing) {
  std::unique_ptr<EmbeddingTable> table = make_table();
  step(*table, 1, {1, 2});
  const absl::uint128 digest = table->content().digest();
  auto refused = [&](void (*damage)(TableRows&), const char* message) {
    TableRows rows = table->content().export_rows();
    rows.ids = {3, 4};
    damage(rows);
    EXPECT_THAT(table->content().load_rows(rows), StatusIs(kInvalid, HasSubstr(message)));
    EXPECT_EQ(table->content().digest(), digest);
  };
  refused([](TableRows& rows) { rows.dim = 2; }, "columns");
  refused([](TableRows& rows) { rows.weights.pop_back(); }, "columns");
  refused([](TableRows& rows) { rows.frequency.pop_back(); }, "frequencies");
  refused([](TableRows& rows) { rows.last_step.push_back(1); }, "last steps");
  refused([](TableRows& rows) { rows.slots[0].name = "mm"; }, "\"mm\"");
  refused([](TableRows& rows) { rows.slots[1].size = 2; }, "slot n");
  refused([](TableRows& rows) { rows.slots[0].values.pop_back(); }, "slot m");
  refused([](TableRows& rows) { rows.ids[1] = rows.ids[0]; }, "id 3 comes twice");
  insert(*table, {9});
  EXPECT_THAT(table->content().load_rows(TableRows()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(EmbeddingTableTest, DigestSeesEveryPart) {
  std::unique_ptr<EmbeddingTable> table = make_table();
  const RowIndex row = step(*table, 1, {1, 2})[1];
  absl::uint128 last = table->content().digest();
  auto changed = [&] {
    const absl::uint128 before = std::exchange(last, table->content().digest());
    return before != last;
  };
  EXPECT_FALSE(changed());
  table->content().mutable_row(row).weights()[2] += 1;
  EXPECT_TRUE(changed());
  table->content().mutable_row(row).slots[3] += 1;
  EXPECT_TRUE(changed());
  ++table->content().mutable_row(row).meta.frequency;
  EXPECT_TRUE(changed());
  ++table->content().mutable_row(row).meta.last_step;
  EXPECT_TRUE(changed());
}

TEST(EmbeddingTableTest, ResetBeginsAnew) {
  std::unique_ptr<EmbeddingTable> table = make_table();
  step(*table, 1, {1, 1, 2});
  ASSERT_GT(table->maintenance().statistics().occurrences, 0);
  table->content().reset();
  const TableStatistics statistics = table->maintenance().statistics(),
                        fresh = make_table()->maintenance().statistics();
  EXPECT_EQ(statistics.rows, 0);
  EXPECT_EQ(statistics.steps, fresh.steps);
  EXPECT_EQ(statistics.occurrences, fresh.occurrences);
  EXPECT_EQ(statistics.unique_ids, fresh.unique_ids);
  EXPECT_EQ(statistics.inserted, fresh.inserted);
  EXPECT_EQ(statistics.hottest, fresh.hottest);
  EXPECT_EQ(table->applied_steps(), 0);
  EXPECT_EQ(table->slots().size(), 2);
  EXPECT_THAT(find(*table, {1}), ElementsAre(kNoRow));
}

TEST(EmbeddingTableTest, PlacementIsSetBeforeTheFirstRow) {
  const std::unique_ptr<EmbeddingTable> table = make_table();
  EXPECT_EQ(table->placement(), (Placement{0, 1}));
  EXPECT_OK(table->set_placement({1, 2}));
  EXPECT_EQ(table->make_empty()->placement(), (Placement{1, 2}));
  step(*table, 1, {7});
  EXPECT_OK(table->set_placement({1, 2}));
  EXPECT_THAT(table->set_placement({0, 2}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("items")));
}

}  // namespace
}  // namespace millrace
