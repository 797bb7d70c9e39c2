#include "embedding/table/table_maintenance.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/hash.h"
#include "base/status_matchers.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/table_policies_testing.h"

namespace millrace {
namespace {

using policy_testing::create;
using policy_testing::has;
using policy_testing::Ids;
using policy_testing::ids_of;
using policy_testing::look_up;
using policy_testing::make;
using policy_testing::step;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::UnorderedElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(LimitTest, MaxBytesIsAPriceForRows) {
  absl::StatusOr<std::unique_ptr<EmbeddingTable>> table = create("limit { max_bytes: 1300 }");
  ASSERT_OK(table);
  EXPECT_EQ((*table)->maintenance().row_bytes(), 128);
  EXPECT_EQ((*table)->maintenance().row_limit(), 10);
  EXPECT_OK((*table)->bind({{"m", 14, 0.0f}}));  // 17 floats exceed 64 bytes
  EXPECT_EQ((*table)->maintenance().row_bytes(), 192);
  EXPECT_EQ((*table)->maintenance().row_limit(), 6);
  EXPECT_THAT((*table)->bind({{"m", 1000, 0.0f}}), StatusIs(kInvalid, HasSubstr("max_bytes")));
  EXPECT_EQ((*table)->maintenance().row_limit(), 6);
  EXPECT_EQ(make("limit { max_rows: 4 max_bytes: 1300 }")->maintenance().row_limit(), 4);
}

TEST(LimitTest, FailRefusesTheStepBeforeAnythingChanges) {
  std::unique_ptr<EmbeddingTable> table = make("limit { max_rows: 4 }");
  step(*table, 1, {1, 2, 3});
  const absl::uint128 digest = table->content().digest();
  std::vector<RowIndex> rows(6, 77);
  EXPECT_THAT(table->find_or_insert({{1, 4, 4, 4, 2, 5}}, absl::MakeSpan(rows)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("table items has 3 rows and needs 2 more"),
                             HasSubstr("its limit is 4 rows"), HasSubstr("on_full: FAIL"))));
  EXPECT_FALSE(table->in_step());
  EXPECT_EQ(table->content().digest(), digest);
  // Tentative rows count, from any lookup of the step.
  look_up(*table, {4, 4, 4, 4, 4, 4});
  EXPECT_FALSE(table->find_or_insert({{5}}, absl::MakeSpan(rows).first(1)).ok());
  table->discard();
  EXPECT_EQ(table->content().digest(), digest);
  step(*table, 2, {1, 2, 3, 4});
  step(*table, 3, {1, 2, 3, 4});
  EXPECT_EQ(table->maintenance().statistics().rows, 4);
}

TEST(LimitTest, FailRefusesToLoadMore) {
  std::unique_ptr<EmbeddingTable> from = make(""), table = make("limit { max_rows: 2 }");
  step(*from, 1, {1, 2, 3});
  step(*table, 1, {7});
  const absl::uint128 digest = table->content().digest();
  EXPECT_THAT(table->content().load_rows(from->content().export_rows()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("loading table items")));
  EXPECT_EQ(table->content().digest(), digest);
}

TEST(LimitTest, ARankHoldsAsManyRowsAsItCanNumber) {
  for (const int ranks : {1, 2}) {
    std::unique_ptr<EmbeddingTable> from = make(""), table = make("");
    step(*from, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});  // several of each rank
    ASSERT_OK(table->set_placement({.rank = ranks - 1, .world_size = ranks}));
    table->set_max_own_rows(2);
    EXPECT_OK(table->check_own_new_rows(2));
    EXPECT_THAT(table->content().load_rows(from->content().export_rows()),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         AllOf(HasSubstr("table items has 0 rows on rank "),
                               HasSubstr("more there, but a rank holds at most 2 rows"),
                               HasSubstr("train on more ranks"))));
    EXPECT_EQ(table->rows(), 0);
    // The rows of several ranks are checked apart from their limit.
    std::vector<RowIndex> rows(3);
    EXPECT_EQ(table->check_room({{21, 22, 23}}).ok(), ranks > 1);
  }
}

TEST(LimitTest, RejectAdmitsNothingInStepsThatBeginFull) {
  std::unique_ptr<EmbeddingTable> table = make("limit { max_rows: 3 on_full: REJECT }");
  step(*table, 1, {1, 2});
  step(*table, 2, {3, 4, 5});  // begins with two rows
  EXPECT_EQ(table->maintenance().statistics().rows, 5);
  step(*table, 3, {1, 6});
  EXPECT_FALSE(has(*table, 6));
  EXPECT_EQ(table->maintenance().statistics().unadmitted, 1);
}

TEST(LimitTest, EvictsWhatWasNotSeenForLongest) {
  std::unique_ptr<EmbeddingTable> table =
      make("limit { max_rows: 4 on_full: EVICT_LRU evict_to: 0.5 }");
  step(*table, 1, {1, 2, 3, 4});
  EXPECT_EQ(table->maintenance().statistics().rows, 4);
  step(*table, 2, {2, 2});
  step(*table, 3, {1, 5});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 5));
  EXPECT_EQ(table->maintenance().statistics().evicted[static_cast<int>(EvictionReason::kLimit)], 3);
  EXPECT_THAT(table->content().evicted_since(3), IsOkAndHolds(UnorderedElementsAre(2, 3, 4)));
}

TEST(LimitTest, EvictsWhatWasSeenLeastOften) {
  std::unique_ptr<EmbeddingTable> table =
      make("limit { max_rows: 4 on_full: EVICT_LFU evict_to: 0.5 }");
  step(*table, 1, {1, 1, 1, 2, 3, 4, 4});
  step(*table, 2, {3, 5, 5});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 5));  // id 1: 3 times; ids 3, 4, 5: twice
}

// A row costs 64 bytes for 12 bytes of weights and 8 of slots, and 64 bytes for its place.
TEST(LimitTest, BytesLimitRowsUnderEveryPolicy) {
  std::unique_ptr<EmbeddingTable> table = make("limit { max_bytes: 511 on_full: EVICT_LRU }");
  ASSERT_EQ(table->maintenance().row_bytes(), 128);
  step(*table, 1, {1, 2, 3});
  EXPECT_EQ(table->maintenance().statistics().rows, 3);
  step(*table, 2, {1, 4, 5});  // down to 90 % of 3 rows
  EXPECT_THAT(ids_of(*table), IsSubsetOf({1, 4, 5}));
  EXPECT_EQ(table->maintenance().statistics().rows, 2);
  EXPECT_EQ(table->maintenance().statistics().evicted[static_cast<int>(EvictionReason::kLimit)], 3);

  table = make("limit { max_bytes: 511 on_full: EVICT_LFU evict_to: 0.34 }");
  step(*table, 1, {1, 2, 2, 3, 4});
  EXPECT_THAT(ids_of(*table), ElementsAre(2));

  table = make("limit { max_bytes: 511 on_full: REJECT }");
  step(*table, 1, {1, 2, 3});
  step(*table, 2, {4, 1});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 2, 3));

  table = make("limit { max_bytes: 511 }");
  std::vector<RowIndex> rows(4);
  EXPECT_THAT(table->find_or_insert({{1, 2, 3, 4}}, absl::MakeSpan(rows)),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_rows or max_bytes")));
  EXPECT_EQ(table->maintenance().statistics().rows, 0);
}

// The cost under max_bytes is not below the memory in use, except for a few blocks.
TEST(LimitTest, ThePriceOfARowCoversItsMemory) {
  std::unique_ptr<EmbeddingTable> table = make("");
  Ids ids(200'000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  step(*table, 1, ids);
  const double bytes = static_cast<double>(table->maintenance().statistics().bytes) / 200'000;
  EXPECT_LE(bytes, static_cast<double>(table->maintenance().row_bytes()));
  EXPECT_GT(bytes, 64 + 22);  // at least the record and the id's place in the map
}

TEST(LimitTest, EvictedShareIsOfTheLimitAndAtLeastARowStays) {
  std::unique_ptr<EmbeddingTable> table = make("limit { max_rows: 100 on_full: EVICT_LRU }");
  Ids ids(101);
  for (int i = 0; i < 101; ++i) ids[i] = i;
  step(*table, 1, ids);
  EXPECT_EQ(table->maintenance().statistics().rows, 90);
  table = make("limit { max_rows: 1 on_full: EVICT_LFU evict_to: 0.01 }");
  step(*table, 1, ids);
  EXPECT_EQ(table->maintenance().statistics().rows, 1);
}

TEST(EvictInTableTest, WithoutRulesNothingGoes) {
  std::unique_ptr<EmbeddingTable> table = make("");
  step(*table, 1, {1});
  EXPECT_THAT(table->maintenance().evict({.step = 1'000'000}), IsOkAndHolds(EvictionCounts{}));
  EXPECT_TRUE(has(*table, 1));
}

TEST(EvictInTableTest, RefusedInsideAStep) {
  std::unique_ptr<EmbeddingTable> table =
      make("eviction { idle_steps: 1 } admission { count { min_count: 2 } }");
  look_up(*table, {1});  // inserts a tentative row for no id
  EXPECT_THAT(table->maintenance().evict({.step = 9}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("table items inside")));
  table->discard();
  EXPECT_OK(table->maintenance().evict({.step = 9}));
}

TEST(EvictInTableTest, AnIdThatComesBackBeginsAnew) {
  std::unique_ptr<EmbeddingTable> table = make("eviction { idle_steps: 2 }");
  std::unique_ptr<EmbeddingTable> fresh = make("eviction { idle_steps: 2 }");
  step(*table, 1, {1, 2, 3});
  step(*table, 2, {1, 2});
  step(*table, 4, {1});
  ASSERT_OK_AND_ASSIGN(const EvictionCounts counts, table->maintenance().evict({.step = 4}));
  EXPECT_EQ(counts, EvictionCounts{1});  // by idle_steps
  EXPECT_THAT(table->content().evicted_since(0), IsOkAndHolds(ElementsAre(3)));
  step(*table, 7, {3, 9});  // possibly in the place of id 3
  step(*fresh, 7, {9, 3});
  ASSERT_OK(table->maintenance().evict({.step = 7}));
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(3, 9));
  EXPECT_EQ(table->content().digest(), fresh->content().digest());
  EXPECT_THAT(table->content().evicted_since(0), IsOkAndHolds(UnorderedElementsAre(1, 2)));
  EXPECT_THAT(table->content().evicted_since(8), IsOkAndHolds(IsEmpty()));
}

TEST(EvictInTableTest, NormOfWeightsAlone) {
  std::unique_ptr<EmbeddingTable> table =
      make("initializer { constant { value: 0 } } eviction { norm_below: 1.8 }");
  step(*table, 1, {1, 2});  // norm √3 = 1.73, slots 1.5
  step(*table, 2, {2});     // norm √12
  ASSERT_OK_AND_ASSIGN(const EvictionCounts counts, table->maintenance().evict({.step = 2}));
  EXPECT_EQ(counts[static_cast<int>(EvictionReason::kSmallNorm)], 1);
  EXPECT_THAT(ids_of(*table), ElementsAre(2));
}

TEST(EvictInTableTest, MemoryDoesNotGrowWhenIdsComeAndGo) {
  std::unique_ptr<EmbeddingTable> table = make("eviction { idle_steps: 3 }");
  int64_t largest = 0;
  Ids ids(2000);
  for (int64_t number = 1; number <= 100; ++number) {
    for (int i = 0; i < 2000; ++i) ids[i] = number * 2000 + i;
    step(*table, number, ids);
    ASSERT_OK(table->maintenance().evict({.step = number}));
    EXPECT_LE(table->maintenance().statistics().rows, 8000);
    if (number == 10) largest = table->content().rows().bytes();
  }
  // The memory holds the rows of four steps, not of a hundred.
  EXPECT_LE(table->content().rows().bytes(), 2 * largest);
  EXPECT_GT(table->maintenance().statistics().evicted_rows(), 190'000);
}

TEST(EvictInTableTest, TheLogKnowsWhereItBegins) {
  std::unique_ptr<EmbeddingTable> table = make("eviction { idle_steps: 1 }");
  step(*table, 10, {1, 2});
  step(*table, 20, {2});
  ASSERT_OK(table->maintenance().evict({.step = 20}));
  EXPECT_THAT(table->content().evicted_since(20), IsOkAndHolds(ElementsAre(1)));
  EXPECT_EQ(table->content().evicted_log_begins(), 0);
  std::unique_ptr<EmbeddingTable> loaded = make("eviction { idle_steps: 1 }");
  ASSERT_OK(loaded->content().load_rows(table->content().export_rows()));
  // A copy of the table at step 20 may lack these rows. The caller may restart the log if the copy
  // has them.
  EXPECT_THAT(loaded->content().evicted_since(20),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("table items: ids evicted since step 20 are not known: the log "
                                 "begins at step 21")));
  loaded->content().restart_evicted_log(20);
  EXPECT_THAT(loaded->content().evicted_since(20), IsOkAndHolds(IsEmpty()));
  loaded->content().restart_evicted_log(25);
  EXPECT_EQ(loaded->content().evicted_log_begins(), 25);
}

TEST(StatisticsTest, CountWhatWasCommitted) {
  std::unique_ptr<EmbeddingTable> table = make("admission { count { min_count: 2 } }");
  step(*table, 1, {1, 1, 1, 2});
  step(*table, 2, {1, 1, 1, 1, 2, 3, 3});
  look_up(*table, {5, 6, 7});
  table->discard();
  const TableStatistics statistics = table->maintenance().statistics();
  EXPECT_EQ(statistics.rows, 2);
  EXPECT_EQ(statistics.inserted, 2);
  EXPECT_EQ(statistics.steps, 2);
  EXPECT_EQ(statistics.occurrences, 11);
  EXPECT_EQ(statistics.unique_ids, 5);
  EXPECT_EQ(statistics.hottest, 7);
  EXPECT_EQ(statistics.unadmitted, 6);
  EXPECT_EQ(statistics.candidates, 1);
  EXPECT_GT(statistics.load, 0);
  EXPECT_LE(statistics.load, 1);
  EXPECT_GT(statistics.bytes, 0);
}

TEST(StatisticsTest, HottestIdsInOrder) {
  std::unique_ptr<EmbeddingTable> table = make("");
  EXPECT_THAT(table->maintenance().hottest(3), IsEmpty());
  step(*table, 1, {1, 1, 1, -2, -2, -2, -2, 3, 4, 5});
  EXPECT_THAT(table->maintenance().hottest(2), ElementsAre(HotId{-2, 4}, HotId{1, 3}));
  Ids once = {3, 4, 5};
  std::sort(once.begin(), once.end(),
            [](int64_t a, int64_t b) { return placement_hash(a) < placement_hash(b); });
  EXPECT_THAT(table->maintenance().hottest(100),
              ElementsAre(HotId{-2, 4}, HotId{1, 3}, HotId{once[0], 1}, HotId{once[1], 1},
                          HotId{once[2], 1}));
  EXPECT_THAT(table->maintenance().hottest(3).back(), (HotId{once[0], 1}));
}

TEST(StatisticsTest, FrequenciesEndAtTheLargest) {
  std::unique_ptr<EmbeddingTable> table = make("");
  for (int64_t number = 1; number <= 3; ++number) {
    const std::vector<RowIndex> rows = look_up(*table, {1});
    table->record_occurrences(number, rows, {{3'000'000'000u}});
    table->commit(number);
  }
  EXPECT_EQ(table->content().rows().frequency(0), 4294967295);
}

}  // namespace
}  // namespace millrace
