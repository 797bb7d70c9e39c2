// Admission of EmbeddingTable, and invalid configurations of its policies.
#include <memory>
#include <vector>

#include "base/status_matchers.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/table_policies_testing.h"

namespace millrace {
namespace {

using policy_testing::create;
using policy_testing::has;
using policy_testing::Ids;
using policy_testing::ids_of;
using policy_testing::kDim;
using policy_testing::look_up;
using policy_testing::make;
using policy_testing::step;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

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
                                           "at least 128, and its slots")));
}

TEST(AdmissionInTableTest, CountedIdsGetRowsInALaterStep) {
  std::unique_ptr<EmbeddingTable> table = make("admission { count { min_count: 3 } }");
  step(*table, 1, {1, 1, 2});
  EXPECT_THAT(ids_of(*table), IsEmpty());
  EXPECT_THAT(look_up(*table, {2, 1, 1, 1}), ElementsAre(kNoRow, 0, 0, 0));
  EXPECT_TRUE(table->in_step());
  table->record_occurrences(2, {{0}}, {{3}});
  table->commit(2);
  EXPECT_THAT(ids_of(*table), ElementsAre(1));
  EXPECT_EQ(table->content().rows().frequency(0), 3);
  step(*table, 3, {2});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 2));
  EXPECT_EQ(table->maintenance().statistics().candidates, 0);
  EXPECT_EQ(table->maintenance().statistics().unadmitted, 4);
  EXPECT_EQ(table->maintenance().statistics().occurrences, 8);
}

TEST(AdmissionInTableTest, ADiscardedStepAdmitsAndCountsNothing) {
  for (const char* kind : {"", "sketch {}"}) {
    std::unique_ptr<EmbeddingTable> table =
        make(absl::StrCat("admission { count { min_count: 2 ", kind, " } }"));
    step(*table, 1, {1, 2});
    step(*table, 2, {1, 3});
    const absl::uint128 digest = table->content().digest();
    const AdmissionState state = table->content().admission_state();
    const TableStatistics before = table->maintenance().statistics();
    EXPECT_THAT(look_up(*table, {2, 4, 4, 4, 3, 1}).back(), 0u);
    table->discard();
    EXPECT_EQ(table->content().digest(), digest);
    EXPECT_EQ(table->content().admission_state(), state);
    EXPECT_EQ(table->maintenance().statistics().rows, before.rows);
    EXPECT_EQ(table->maintenance().statistics().unadmitted, before.unadmitted);
    EXPECT_EQ(look_up(*table, {4})[0], kNoRow);
    EXPECT_NE(look_up(*table, {2})[0], kNoRow);
    table->discard();
  }
}

TEST(AdmissionInTableTest, ReadOnlyTablesServeWhatWasLoaded) {
  std::unique_ptr<EmbeddingTable> from = make(""), table = make("admission { read_only {} }");
  step(*from, 5, {1, 2});
  ASSERT_OK(table->content().load_rows(from->content().export_rows()));
  step(*table, 6, {1, 3, 3});
  EXPECT_THAT(ids_of(*table), UnorderedElementsAre(1, 2));
  EXPECT_EQ(table->maintenance().statistics().unadmitted, 2);
  EXPECT_EQ(table->maintenance().statistics().inserted, 0);
}

TEST(AdmissionInTableTest, ProbabilityFollowsTheStepsCommitted) {
  std::unique_ptr<EmbeddingTable> a = make("admission { probability { probability: 0.2 } }");
  std::unique_ptr<EmbeddingTable> b = make("admission { probability { probability: 0.2 } }");
  Ids ids(200);
  for (int i = 0; i < 200; ++i) ids[i] = i;
  Ids reversed(ids.rbegin(), ids.rend());
  std::vector<size_t> sizes;
  for (int64_t number = 1; number <= 6; ++number) {
    look_up(*b, ids);  // looked up, discarded, looked up again
    b->discard();
    step(*a, number, ids);
    step(*b, number, reversed);
    EXPECT_EQ(a->content().digest(), b->content().digest());
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
  EXPECT_THAT(make("")->content().set_admission_state(table->content().admission_state()),
              StatusIs(kInvalid, HasSubstr("table items: ")));
  std::unique_ptr<EmbeddingTable> other = make("admission { count { min_count: 3 } }");
  ASSERT_OK(other->content().set_admission_state(table->content().admission_state()));
  step(*other, 2, {1});
  step(*other, 3, {1});
  EXPECT_TRUE(has(*other, 1));
}

}  // namespace
}  // namespace millrace
