// The complete content of a table, copied to another table.
#include <google/protobuf/text_format.h>

#include <algorithm>

#include "base/status_matchers.h"
#include "embedding/table/embedding_table.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Ids = std::vector<int64_t>;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::unique_ptr<EmbeddingTable> make(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  config.set_name("items");
  config.set_dim(3);
  auto table = EmbeddingTable::create(EmbeddingTableOptions::from_config(config, 7));
  EXPECT_OK(table);
  EXPECT_OK((*table)->bind({{"m", 2, 0.5f}}));
  return *std::move(table);
}

// Runs a step with eight distinct ids; some occurred in the previous steps.
void step(EmbeddingTable& table, int64_t number) {
  Ids ids;
  for (int64_t i = 0; i < 8; ++i) ids.push_back((number * 3 + i * 5) % 40);
  std::vector<RowIndex> rows(ids.size());
  ASSERT_OK(table.find_or_insert(ids, absl::MakeSpan(rows)));
  std::vector<RowIndex> seen;
  for (const RowIndex row : rows) {
    if (row == kNoRow) continue;
    seen.push_back(row);
    std::vector<float> weights(3);
    table.content().rows().read_weights(row, absl::MakeSpan(weights));
    for (float& weight : weights) weight += static_cast<float>(number) * 0.25f;
    table.content().write_weights(row, weights);
    table.content().mutable_row(row).slots[0] += 1;
  }
  table.record_occurrences(number, seen, std::vector<uint32_t>(seen.size(), 2));
  table.commit(number);
  ASSERT_OK(table.maintenance().evict({.step = number}).status());
}

// Restores as from a checkpoint: in several pieces, into an empty table that is then swapped in.
void restore(const EmbeddingTable& from, EmbeddingTable& to) {
  const std::unique_ptr<EmbeddingTable> staged = to.make_empty();
  const TableRows all = from.content().export_rows();
  for (size_t i = 0; i < all.ids.size(); ++i) {
    const auto begin = static_cast<int64_t>(i), end = begin + 1;
    TableRows one;
    one.dim = all.dim;
    one.ids = {all.ids[i]};
    one.weights = {all.weights.begin() + begin * 3, all.weights.begin() + end * 3};
    one.slots = {
        {"m", 2, {all.slots[0].values.begin() + begin * 2, all.slots[0].values.begin() + end * 2}}};
    one.frequency = {all.frequency[i]};
    one.last_step = {all.last_step[i]};
    ASSERT_OK(staged->content().load_rows(one));
  }
  ASSERT_OK(staged->content().set_admission_state(from.content().admission_state()));
  ASSERT_OK(staged->content().set_evicted_log(from.content().evicted_log()));
  ASSERT_OK(staged->content().set_counters(from.content().counters()));
  to.content().swap(staged->content());
}

void expect_equal(const EmbeddingTable& a, const EmbeddingTable& b) {
  EXPECT_EQ(a.content().digest(), b.content().digest());
  EXPECT_EQ(a.content().admission_state(), b.content().admission_state());
  EXPECT_EQ(a.content().evicted_log(), b.content().evicted_log());
  EXPECT_EQ(a.applied_steps(), b.applied_steps());
  EXPECT_EQ(a.content().counters().last_step, b.content().counters().last_step);
  const TableStatistics one = a.maintenance().statistics(), other = b.maintenance().statistics();
  EXPECT_EQ(one.rows, other.rows);
  EXPECT_EQ(one.inserted, other.inserted);
  EXPECT_EQ(one.evicted, other.evicted);
  EXPECT_EQ(one.unadmitted, other.unadmitted);
  EXPECT_EQ(one.candidates, other.candidates);
}

// Any step of a table may be the last one of a process.
TEST(TableContentTest, ARestoredTableGoesOnAsIfNothingHadBeen) {
  constexpr int kSteps = 24;
  for (const char* dtype : {"FLOAT32", "FLOAT16", "BFLOAT16"}) {
    for (const char* admission :
         {"", "count { min_count: 3 }", "count { min_count: 2 sketch { capacity: 100 } }",
          "probability { probability: 0.3 }", "read_only {}"}) {
      for (const char* limit : {"", "limit { max_rows: 9 on_full: EVICT_LFU }"}) {
        SCOPED_TRACE(absl::StrCat(dtype, " ", admission, " ", limit));
        const std::string text = absl::StrCat("row_dtype: ", dtype, " admission { ", admission,
                                              " } eviction { idle_steps: 5 } ", limit);
        for (int cut = 0; cut <= kSteps; cut += 3) {
          std::unique_ptr<EmbeddingTable> whole = make(text), first = make(text);
          std::unique_ptr<EmbeddingTable> second = make(text);
          for (int s = 1; s <= cut; ++s) step(*first, s);
          step(*second, 99);  // its content must not remain
          restore(*first, *second);
          expect_equal(*first, *second);
          for (int s = cut + 1; s <= kSteps; ++s) step(*second, s);
          for (int s = 1; s <= kSteps; ++s) step(*whole, s);
          expect_equal(*whole, *second);
        }
      }
    }
  }
}

TEST(TableContentTest, RowsAreFoundAfterASwapAndAreAnothersAfterwards) {
  std::unique_ptr<EmbeddingTable> table = make("");
  step(*table, 1);
  const absl::uint128 before = table->content().digest();
  std::unique_ptr<EmbeddingTable> other = table->make_empty();
  EXPECT_EQ(other->maintenance().statistics().rows, 0);
  table->content().swap(other->content());
  EXPECT_EQ(table->maintenance().statistics().rows, 0);
  EXPECT_EQ(other->content().digest(), before);
  RowIndex row = 0;
  table->find({{3}}, {&row, 1});
  EXPECT_EQ(row, kNoRow);
  other->find({{3}}, {&row, 1});
  EXPECT_NE(row, kNoRow);
  step(*table, 2);  // both tables continue
  step(*other, 2);
  EXPECT_EQ(table->maintenance().statistics().rows, 8);
}

TEST(TableContentTest, RefusesWhatDoesNotFit) {
  std::unique_ptr<EmbeddingTable> table = make("");
  step(*table, 1);
  EXPECT_THAT(table->content().set_counters({.applied_steps = -1}),
              StatusIs(kInvalid, AllOf(HasSubstr("items"), HasSubstr("-1 steps"))));
  EXPECT_THAT(table->content().set_counters({.applied_steps = 1, .last_step = int64_t{1} << 32}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr("table items cannot note step 4294967296"),
                             HasSubstr("4294967295 is the largest"))));
  EXPECT_EQ(table->applied_steps(), 1);
  EXPECT_THAT(table->content().set_evicted_log({0, {1}, {}}),
              StatusIs(kInvalid, HasSubstr("items")));
}

}  // namespace
}  // namespace millrace
