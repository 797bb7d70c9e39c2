// Admission, eviction, limits and statistics of EmbeddingTable.
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "base/hash.h"
#include "base/status_matchers.h"
#include "embedding/embedding_table.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Ids = std::vector<int64_t>;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int64_t kDim = 3;

absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  config.set_name("items");
  config.set_dim(kDim);
  return EmbeddingTable::create(EmbeddingTableOptions::from_config(config, 7));
}

std::unique_ptr<EmbeddingTable> make(const std::string& text) {
  absl::StatusOr<std::unique_ptr<EmbeddingTable>> table = create(text);
  EXPECT_OK(table);
  EXPECT_OK((*table)->bind({{"m", 2, 0.5f}}));
  return *std::move(table);
}

std::vector<RowIndex> look_up(EmbeddingTable& table, const Ids& ids) {
  std::vector<RowIndex> rows(ids.size());
  EXPECT_OK(table.find_or_insert(ids, absl::MakeSpan(rows)));
  return rows;
}

// A step that sees these, ids that repeat as often as they do, and adds 1 to all numbers of rows.
void step(EmbeddingTable& table, int64_t number, const Ids& ids) {
  std::map<RowIndex, uint32_t> seen;
  for (const RowIndex row : look_up(table, ids)) {
    if (row != kNoRow) ++seen[row];
  }
  std::vector<RowIndex> rows;
  std::vector<uint32_t> counts;
  for (const auto& [row, count] : seen) {
    rows.push_back(row);
    counts.push_back(count);
    for (int c = 0; c < kDim; ++c) table.store().weights(row)[c] += 1;
    for (int c = 0; c < 2; ++c) table.store().slots(row)[c] += 1;
  }
  table.see(number, rows, counts);
  table.commit(number);
}

Ids ids_of(const EmbeddingTable& table) { return table.export_rows().ids; }

bool has(const EmbeddingTable& table, int64_t id) {
  RowIndex row = 0;
  table.find({&id, 1}, {&row, 1});
  return row != kNoRow;
}

std::vector<float> default_of(const EmbeddingTable& table, int64_t id) {
  std::vector<float> row(kDim);
  table.default_row(id, absl::MakeSpan(row));
  return row;
}

TEST(TablePoliciesTest, RefusesBadConfigurationsNamingTheTable) {
  EXPECT_THAT(create("admission { count {} }"), StatusIs(kInvalid, HasSubstr("table items.adm")));
  EXPECT_THAT(create("eviction {}"), StatusIs(kInvalid, HasSubstr("table items.eviction")));
  EXPECT_THAT(create("limit { max_rows: -1 }"), StatusIs(kInvalid, HasSubstr("items.limit")));
  EXPECT_THAT(create("default_value { constant { value: inf } }"), StatusIs(kInvalid));
  EXPECT_THAT(create("limit { max_bytes: 127 }"),
              StatusIs(kInvalid, HasSubstr("table items.limit: max_bytes is 127, but one row takes "
                                           "128")));
}

TEST(TablePoliciesTest, MaxBytesIsAPriceForRows) {
  absl::StatusOr<std::unique_ptr<EmbeddingTable>> table = create("limit { max_bytes: 1300 }");
  ASSERT_OK(table);
  EXPECT_EQ((*table)->row_bytes(), 128);
  EXPECT_EQ((*table)->row_limit(), 10);
  EXPECT_OK((*table)->bind({{"m", 14, 0.0f}}));  // 17 numbers are beyond 64 bytes
  EXPECT_EQ((*table)->row_bytes(), 192);
  EXPECT_EQ((*table)->row_limit(), 6);
  EXPECT_THAT((*table)->bind({{"m", 1000, 0.0f}}), StatusIs(kInvalid, HasSubstr("max_bytes")));
  EXPECT_EQ((*table)->row_limit(), 6);
  EXPECT_EQ(make("limit { max_rows: 4 max_bytes: 1300 }")->row_limit(), 4);
}

TEST(AdmissionInTableTest, CountedIdsGetRowsInALaterStep) {
  std::unique_ptr<EmbeddingTable> table = make("admission { count { min_count: 3 } }");
  step(*table, 1, {1, 1, 2});
  EXPECT_THAT(ids_of(*table), IsEmpty());
  EXPECT_THAT(look_up(*table, {2, 1, 1, 1}), ElementsAre(kNoRow, 0, 0, 0));
  EXPECT_TRUE(table->has_tentative_rows());
  table->see(2, {{0}}, {{3}});
  table->commit(2);
  EXPECT_THAT(ids_of(*table), ElementsAre(1));
  EXPECT_EQ(table->store().frequency(0), 3);
  step(*table, 3, {2});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 2));
  EXPECT_EQ(table->statistics().candidates, 0);
  EXPECT_EQ(table->statistics().unadmitted, 4);
  EXPECT_EQ(table->statistics().occurrences, 8);
}

TEST(AdmissionInTableTest, ADiscardedStepAdmitsAndCountsNothing) {
  for (const char* kind : {"", "sketch {}"}) {
    std::unique_ptr<EmbeddingTable> table =
        make(absl::StrCat("admission { count { min_count: 2 ", kind, " } }"));
    step(*table, 1, {1, 2});
    step(*table, 2, {1, 3});
    const absl::uint128 digest = table->content_digest();
    const AdmissionState state = table->admission_state();
    const TableStatistics before = table->statistics();
    EXPECT_THAT(look_up(*table, {2, 4, 4, 4, 3, 1}).back(), 0u);
    table->discard();
    EXPECT_EQ(table->content_digest(), digest);
    EXPECT_EQ(table->admission_state(), state);
    EXPECT_EQ(table->statistics().rows, before.rows);
    EXPECT_EQ(table->statistics().unadmitted, before.unadmitted);
    EXPECT_EQ(look_up(*table, {4})[0], kNoRow);
    EXPECT_NE(look_up(*table, {2})[0], kNoRow);
    table->discard();
  }
}

TEST(AdmissionInTableTest, ReadOnlyTablesServeWhatWasLoaded) {
  std::unique_ptr<EmbeddingTable> from = make(""), table = make("admission { read_only {} }");
  step(*from, 5, {1, 2});
  ASSERT_OK(table->load_rows(from->export_rows()));
  step(*table, 6, {1, 3, 3});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 2));
  EXPECT_EQ(table->statistics().unadmitted, 2);
  EXPECT_EQ(table->statistics().inserted, 0);
}

TEST(AdmissionInTableTest, ProbabilityFollowsTheStepsCommitted) {
  std::unique_ptr<EmbeddingTable> a = make("admission { probability { probability: 0.2 } }");
  std::unique_ptr<EmbeddingTable> b = make("admission { probability { probability: 0.2 } }");
  Ids ids(200);
  for (int i = 0; i < 200; ++i) ids[i] = i;
  Ids reversed(ids.rbegin(), ids.rend());
  std::vector<size_t> sizes;
  for (int64_t number = 1; number <= 6; ++number) {
    look_up(*b, ids);  // tried, refused, tried again
    b->discard();
    step(*a, number, ids);
    step(*b, number, reversed);
    EXPECT_EQ(a->content_digest(), b->content_digest());
    sizes.push_back(ids_of(*a).size());
  }
  EXPECT_NEAR(sizes[0], 40, 20);
  EXPECT_NEAR(sizes[5], 200 * (1 - 0.262), 25);  // 1 - 0.8^6
}

TEST(AdmissionInTableTest, IdsWithoutARowReadTheDefault) {
  const std::unique_ptr<EmbeddingTable> initial = make("");
  std::vector<float> row(kDim);
  initial->initial_row(12, absl::MakeSpan(row));
  EXPECT_EQ(default_of(*initial, 12), row);
  EXPECT_EQ(default_of(*make("default_value { initial {} }"), 12), row);
  EXPECT_THAT(default_of(*make("default_value { constant {} }"), 12), ElementsAre(0, 0, 0));
  EXPECT_THAT(default_of(*make("default_value { constant { value: -2.5 } }"), 12),
              ElementsAre(-2.5, -2.5, -2.5));
}

TEST(AdmissionInTableTest, StateOfAnotherTableIsRefused) {
  std::unique_ptr<EmbeddingTable> table = make("admission { count { min_count: 3 } }");
  step(*table, 1, {1});
  EXPECT_THAT(make("")->set_admission_state(table->admission_state()),
              StatusIs(kInvalid, HasSubstr("table items: ")));
  std::unique_ptr<EmbeddingTable> other = make("admission { count { min_count: 3 } }");
  ASSERT_OK(other->set_admission_state(table->admission_state()));
  step(*other, 2, {1});
  step(*other, 3, {1});
  EXPECT_TRUE(has(*other, 1));
}

TEST(LimitTest, FailRefusesTheStepBeforeAnythingChanges) {
  std::unique_ptr<EmbeddingTable> table = make("limit { max_rows: 4 }");
  step(*table, 1, {1, 2, 3});
  const absl::uint128 digest = table->content_digest();
  std::vector<RowIndex> rows(6, 77);
  EXPECT_THAT(table->find_or_insert({{1, 4, 4, 4, 2, 5}}, absl::MakeSpan(rows)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("table items has 3 rows and needs 2 more"),
                             HasSubstr("its limit is 4 rows"), HasSubstr("on_full: FAIL"))));
  EXPECT_FALSE(table->has_tentative_rows());
  EXPECT_EQ(table->content_digest(), digest);
  // Tentative rows count too, whichever lookup of the step they come from.
  look_up(*table, {4, 4, 4, 4, 4, 4});
  EXPECT_FALSE(table->find_or_insert({{5}}, absl::MakeSpan(rows).first(1)).ok());
  table->discard();
  EXPECT_EQ(table->content_digest(), digest);
  step(*table, 2, {1, 2, 3, 4});
  step(*table, 3, {1, 2, 3, 4});
  EXPECT_EQ(table->statistics().rows, 4);
}

TEST(LimitTest, FailRefusesToLoadMore) {
  std::unique_ptr<EmbeddingTable> from = make(""), table = make("limit { max_rows: 2 }");
  step(*from, 1, {1, 2, 3});
  step(*table, 1, {7});
  const absl::uint128 digest = table->content_digest();
  EXPECT_THAT(table->load_rows(from->export_rows()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("loading table items")));
  EXPECT_EQ(table->content_digest(), digest);
}

TEST(LimitTest, RejectAdmitsNothingInStepsThatBeginFull) {
  std::unique_ptr<EmbeddingTable> table = make("limit { max_rows: 3 on_full: REJECT }");
  step(*table, 1, {1, 2});
  step(*table, 2, {3, 4, 5});  // begins with two
  EXPECT_EQ(table->statistics().rows, 5);
  step(*table, 3, {1, 6});
  EXPECT_FALSE(has(*table, 6));
  EXPECT_EQ(table->statistics().unadmitted, 1);
}

TEST(LimitTest, EvictsWhatWasNotSeenForLongest) {
  std::unique_ptr<EmbeddingTable> table =
      make("limit { max_rows: 4 on_full: EVICT_LRU evict_to: 0.5 }");
  step(*table, 1, {1, 2, 3, 4});
  EXPECT_EQ(table->statistics().rows, 4);
  step(*table, 2, {2, 2});
  step(*table, 3, {1, 5});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 5));
  EXPECT_EQ(table->statistics().evicted[static_cast<int>(EvictionReason::kLimit)], 3);
  EXPECT_THAT(table->evicted_since(3), IsOkAndHolds(UnorderedElementsAre(2, 3, 4)));
}

TEST(LimitTest, EvictsWhatWasSeenLeastOften) {
  std::unique_ptr<EmbeddingTable> table =
      make("limit { max_rows: 4 on_full: EVICT_LFU evict_to: 0.5 }");
  step(*table, 1, {1, 1, 1, 2, 3, 4, 4});
  step(*table, 2, {3, 5, 5});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 5));  // 1: 3 times; 3, 4, 5: twice
}

TEST(LimitTest, EvictedShareIsOfTheLimitAndAtLeastARowStays) {
  std::unique_ptr<EmbeddingTable> table = make("limit { max_rows: 100 on_full: EVICT_LRU }");
  Ids ids(101);
  for (int i = 0; i < 101; ++i) ids[i] = i;
  step(*table, 1, ids);
  EXPECT_EQ(table->statistics().rows, 90);
  table = make("limit { max_rows: 1 on_full: EVICT_LFU evict_to: 0.01 }");
  step(*table, 1, ids);
  EXPECT_EQ(table->statistics().rows, 1);
}

TEST(EvictInTableTest, WithoutRulesNothingGoes) {
  std::unique_ptr<EmbeddingTable> table = make("");
  step(*table, 1, {1});
  EXPECT_THAT(table->evict({.step = 1'000'000}), IsOkAndHolds(EvictionCounts{}));
  EXPECT_TRUE(has(*table, 1));
}

TEST(EvictInTableTest, RefusedInsideAStep) {
  std::unique_ptr<EmbeddingTable> table =
      make("eviction { idle_steps: 1 } admission { count { min_count: 2 } }");
  look_up(*table, {1});  // not even a tentative row
  EXPECT_THAT(table->evict({.step = 9}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("table items inside")));
  table->discard();
  EXPECT_OK(table->evict({.step = 9}));
}

TEST(EvictInTableTest, AnIdThatComesBackBeginsAnew) {
  std::unique_ptr<EmbeddingTable> table = make("eviction { idle_steps: 2 }");
  std::unique_ptr<EmbeddingTable> fresh = make("eviction { idle_steps: 2 }");
  step(*table, 1, {1, 2, 3});
  step(*table, 2, {1, 2});
  step(*table, 4, {1});
  ASSERT_OK_AND_ASSIGN(const EvictionCounts counts, table->evict({.step = 4}));
  EXPECT_THAT(counts, ElementsAre(1, 0, 0, 0, 0, 0));
  EXPECT_THAT(table->evicted_since(0), IsOkAndHolds(ElementsAre(3)));
  step(*table, 7, {3, 9});  // in the place that 3 left, maybe
  step(*fresh, 7, {9, 3});
  ASSERT_OK(table->evict({.step = 7}));
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(3, 9));
  EXPECT_EQ(table->content_digest(), fresh->content_digest());
  EXPECT_THAT(table->evicted_since(0), IsOkAndHolds(UnorderedElementsAre(1, 2)));
  EXPECT_THAT(table->evicted_since(8), IsOkAndHolds(IsEmpty()));
}

TEST(EvictInTableTest, NormOfWeightsAlone) {
  std::unique_ptr<EmbeddingTable> table =
      make("initializer { constant { value: 0 } } eviction { norm_below: 1.8 }");
  step(*table, 1, {1, 2});  // norm √3 = 1.73, slots 1.5
  step(*table, 2, {2});     // √12
  ASSERT_OK_AND_ASSIGN(const EvictionCounts counts, table->evict({.step = 2}));
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
    ASSERT_OK(table->evict({.step = number}));
    EXPECT_LE(table->statistics().rows, 8000);
    if (number == 10) largest = table->store().bytes();
  }
  // Four steps' rows at a time, not a hundred's.
  EXPECT_LE(table->store().bytes(), 2 * largest);
  EXPECT_GT(table->statistics().evicted_rows(), 190'000);
}

TEST(EvictInTableTest, TheLogKnowsWhereItBegins) {
  std::unique_ptr<EmbeddingTable> table = make("eviction { idle_steps: 1 }");
  step(*table, 10, {1, 2});
  step(*table, 20, {2});
  ASSERT_OK(table->evict({.step = 20}));
  EXPECT_THAT(table->evicted_since(20), IsOkAndHolds(ElementsAre(1)));
  EXPECT_EQ(table->evicted_log_begins(), 0);
  std::unique_ptr<EmbeddingTable> loaded = make("eviction { idle_steps: 1 }");
  ASSERT_OK(loaded->load_rows(table->export_rows()));
  EXPECT_THAT(loaded->evicted_since(19),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("table items: ids evicted since step 19 are not known: the log "
                                 "begins at step 20")));
  EXPECT_THAT(loaded->evicted_since(20), IsOkAndHolds(IsEmpty()));
  loaded->restart_evicted_log(25);
  EXPECT_EQ(loaded->evicted_log_begins(), 25);
}

TEST(StatisticsTest, CountWhatWasCommitted) {
  std::unique_ptr<EmbeddingTable> table = make("admission { count { min_count: 2 } }");
  step(*table, 1, {1, 1, 1, 2});
  step(*table, 2, {1, 1, 1, 1, 2, 3, 3});
  look_up(*table, {5, 6, 7});
  table->discard();
  const TableStatistics statistics = table->statistics();
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
  EXPECT_THAT(table->hottest(3), IsEmpty());
  step(*table, 1, {1, 1, 1, -2, -2, -2, -2, 3, 4, 5});
  EXPECT_THAT(table->hottest(2), ElementsAre(HotId{-2, 4}, HotId{1, 3}));
  Ids once = {3, 4, 5};
  std::sort(once.begin(), once.end(),
            [](int64_t a, int64_t b) { return placement_hash(a) < placement_hash(b); });
  EXPECT_THAT(table->hottest(100), ElementsAre(HotId{-2, 4}, HotId{1, 3}, HotId{once[0], 1},
                                               HotId{once[1], 1}, HotId{once[2], 1}));
  EXPECT_THAT(table->hottest(3).back(), (HotId{once[0], 1}));
}

TEST(StatisticsTest, FrequenciesEndAtTheLargest) {
  std::unique_ptr<EmbeddingTable> table = make("");
  for (int64_t number = 1; number <= 3; ++number) {
    const std::vector<RowIndex> rows = look_up(*table, {1});
    table->see(number, rows, {{3'000'000'000u}});
    table->commit(number);
  }
  EXPECT_EQ(table->store().frequency(0), 4294967295);
}

// The same written down plainly, against random steps, refusals, evictions and returns.
class Reference {
 public:
  struct Row {
    float added = 0;
    int64_t frequency = 0;
    int64_t last_step = 0;
  };
  explicit Reference(const TableConfig& config) : config_(config) {}

  bool admits(int64_t id) const {
    const bool full = config_.limit().on_full() == LimitConfig::REJECT &&
                      static_cast<int64_t>(rows.size()) >= config_.limit().max_rows();
    if (full || config_.admission().has_read_only()) return false;
    if (!config_.admission().has_count()) return true;
    const auto found = counts.find(id);
    return (found == counts.end() ? 0 : found->second) + 1 >=
           config_.admission().count().min_count();
  }
  void step(int64_t number, const Ids& ids) {
    std::set<int64_t> admitted;
    for (const int64_t id : ids) {
      if (rows.count(id) > 0 || admits(id)) admitted.insert(id);
    }
    for (const int64_t id : ids) {
      if (admitted.count(id) == 0) {
        if (config_.admission().has_count()) ++counts[id];
        continue;
      }
      Row& row = rows[id];
      ++row.frequency;
      row.last_step = number;
    }
    for (const int64_t id : admitted) {
      rows[id].added += 1;
      counts.erase(id);
    }
    keep_limit(number);
  }
  void keep_limit(int64_t number) {
    const LimitConfig& limit = config_.limit();
    const bool lru = limit.on_full() == LimitConfig::EVICT_LRU;
    if ((!lru && limit.on_full() != LimitConfig::EVICT_LFU) ||
        static_cast<int64_t>(rows.size()) <= limit.max_rows()) {
      return;
    }
    const auto target =
        static_cast<size_t>(static_cast<double>(limit.max_rows()) * limit.evict_to());
    while (rows.size() > target) {
      const auto worth = [&](const auto& entry) {
        const Row& row = entry.second;
        return std::tuple(lru ? row.last_step : row.frequency, lru ? row.frequency : row.last_step,
                          placement_hash(entry.first));
      };
      drop(std::min_element(rows.begin(), rows.end(),
                            [&](const auto& a, const auto& b) { return worth(a) < worth(b); })
               ->first,
           number);
    }
  }
  void evict(int64_t number) {
    const std::map<int64_t, Row> before = rows;
    for (const auto& [id, row] : before) {
      const EvictionConfig& rules = config_.eviction();
      const int64_t idle = number - row.last_step;
      const bool goes = (rules.has_idle_steps() && idle > rules.idle_steps()) ||
                        (rules.has_frequency_below() && row.frequency < rules.frequency_below());
      if (goes) drop(id, number);
    }
  }
  void drop(int64_t id, int64_t number) {
    rows.erase(id);
    evicted.emplace_back(number, id);
  }
  std::set<int64_t> evicted_since(int64_t number) const {
    std::set<int64_t> ids;
    for (const auto& [at, id] : evicted) {
      if (at >= number && rows.count(id) == 0) ids.insert(id);
    }
    return ids;
  }

  std::map<int64_t, Row> rows;
  std::map<int64_t, int64_t> counts;
  std::vector<std::pair<int64_t, int64_t>> evicted;

 private:
  const TableConfig config_;
};

class RandomTest : public testing::TestWithParam<const char*> {};

TEST_P(RandomTest, EqualsTheReference) {
  TableConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam(), &config));
  const std::unique_ptr<EmbeddingTable> table = make(GetParam());
  Reference reference(config);
  std::mt19937 random(11);
  const auto some_ids = [&] {
    Ids ids(random() % 60);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % 40 * (random() % 40)) - 700;
    return ids;
  };
  for (int64_t number = 1; number <= 400; ++number) {
    if (random() % 4 == 0) {
      look_up(*table, some_ids());
      look_up(*table, some_ids());
      table->discard();
    }
    const Ids ids = some_ids();
    step(*table, number, ids);
    reference.step(number, ids);
    if (random() % 5 == 0) {
      ASSERT_OK(table->evict({.step = number}));
      reference.evict(number);
    }
    const TableRows rows = table->export_rows();
    ASSERT_EQ(rows.ids.size(), reference.rows.size());
    std::vector<float> initial(kDim);
    for (size_t i = 0; i < rows.ids.size(); ++i) {
      ASSERT_EQ(reference.rows.count(rows.ids[i]), 1u);
      const Reference::Row& row = reference.rows[rows.ids[i]];
      ASSERT_EQ(rows.frequency[i], row.frequency);
      ASSERT_EQ(rows.last_step[i], row.last_step);
      table->initial_row(rows.ids[i], absl::MakeSpan(initial));
      ASSERT_NEAR(rows.weights[i * kDim], initial[0] + row.added, 1e-4 * (1 + row.added));
      ASSERT_EQ(rows.slots[0].values[i * 2], 0.5f + row.added);
    }
    ASSERT_EQ(table->statistics().candidates, static_cast<int64_t>(reference.counts.size()));
    ASSERT_EQ(table->statistics().evicted_rows(), static_cast<int64_t>(reference.evicted.size()));
    const int64_t since = static_cast<int64_t>(random() % number);
    ASSERT_OK_AND_ASSIGN(const Ids evicted, table->evicted_since(since));
    ASSERT_EQ(std::set<int64_t>(evicted.begin(), evicted.end()), reference.evicted_since(since));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, RandomTest,
    testing::Values("", "eviction { idle_steps: 20 }",
                    "eviction { idle_steps: 50 frequency_below: 3 }",
                    "admission { count { min_count: 3 } }",
                    "admission { count { min_count: 4 } } eviction { idle_steps: 15 }",
                    "admission { read_only {} }", "limit { max_rows: 100 on_full: EVICT_LRU }",
                    "limit { max_rows: 100 on_full: EVICT_LFU evict_to: 0.5 }",
                    "limit { max_rows: 60 on_full: REJECT } eviction { idle_steps: 30 }",
                    "limit { max_rows: 80 on_full: EVICT_LRU evict_to: 1 } "
                    "admission { count { min_count: 2 } } eviction { frequency_below: 2 }"));

}  // namespace
}  // namespace millrace
