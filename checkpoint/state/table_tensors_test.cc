#include "checkpoint/state/table_tensors.h"

#include "base/hash.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/tiny_state_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TableTensorsTest, TheEntryIsTheSchema) {
  const auto table = tiny_table("row_dtype: BFLOAT16");
  step_table(*table, 1, {3, 4, 5});
  const CheckpointManifest::Table entry = table_entry(*table->content().view(), /*row_state=*/true);
  EXPECT_EQ(entry.name(), "items");
  EXPECT_EQ(entry.dim(), 3);
  EXPECT_EQ(entry.dtype(), "BF16");
  EXPECT_EQ(entry.rows(), 3);
  ASSERT_EQ(entry.slots_size(), 1);
  EXPECT_EQ(entry.slots(0).name(), "m");
  EXPECT_EQ(entry.slots(0).size(), 2);
  EXPECT_EQ(table_entry(*table->content().view(), /*row_state=*/false).slots_size(), 0);
  EXPECT_EQ(table_prefix("items"), "table/items/");
}

TEST(TableTensorsTest, EachRowTypeHasItsOwn) {
  EXPECT_EQ(tensor_type_of(RowType::kFloat32), TensorType::kF32);
  EXPECT_EQ(tensor_type_of(RowType::kFloat16), TensorType::kF16);
  EXPECT_EQ(tensor_type_of(RowType::kBfloat16), TensorType::kBf16);
}

TEST(TableTensorsTest, EveryDifferenceHasALine) {
  const auto table = tiny_table();
  const CheckpointManifest::Table same = table_entry(*table->content().view(), true);
  EXPECT_THAT(table_differences(same, *table, true), IsEmpty());
  CheckpointManifest::Table other = same;
  other.set_dim(4);
  other.set_dtype("F16");
  other.mutable_slots(0)->set_size(3);
  CheckpointManifest::Slot* more = other.add_slots();
  more->set_name("mm");
  more->set_size(1);
  EXPECT_THAT(table_differences(other, *table, true),
              ElementsAre(AllOf(HasSubstr("table items"), HasSubstr("4 there, 3 here")),
                          HasSubstr("F16 there, F32 here"),
                          HasSubstr("slot m has 3 numbers a row there, 2 here"),
                          AllOf(HasSubstr("slot mm"), HasSubstr("did you mean"))));
  EXPECT_EQ(table_differences(other, *table, false).size(), 2) << "slots do not matter";
  other = same;
  other.clear_slots();
  EXPECT_THAT(table_differences(other, *table, true),
              ElementsAre(HasSubstr("slot m is missing there")));
  EXPECT_THAT(table_differences(other, *table, false), IsEmpty());
}

// The example of docs/checkpoint_format.md.
TEST(TableStateDigestTest, GoldenDigest) {
  const AdmissionState candidate = {.ids = {7}, .counts = {3}, .sketch = {}};
  EXPECT_EQ(format_digest(table_state_digest(candidate, {}, {})),
            "68f561ef46800fa8f2a0c10a15ffeda2");
  const EvictedLogState evicted = {.begins = 2, .ids = {-1}, .steps = {9}};
  EXPECT_EQ(format_digest(table_state_digest(candidate, evicted, {})),
            "2a8caff3f48208ea03c848302285265d");
  EXPECT_EQ(table_state_digest({}, {}, {}), 0);
}

TEST(SketchRangesTest, EachRangeIsInOneFile) {
  for (const int world_size : {1, 3, 7, 1024}) {
    int64_t next = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      const Placement placement = {rank, world_size};
      const auto [begin, end] = sketch_ranges(placement.first_hash(), placement.last_hash());
      EXPECT_EQ(begin, next);
      EXPECT_EQ(end, Placement::first_part(rank + 1, world_size));
      next = end;
    }
    EXPECT_EQ(next, kSketchRanges);
  }
  const uint64_t within = (uint64_t{5} << 54) + 1;
  EXPECT_EQ(sketch_ranges(0, within).end, 6);
  EXPECT_EQ(sketch_ranges(within + 1, within + 2).begin, 6);
  EXPECT_EQ(sketch_ranges(within + 1, within + 2).end, 6) << "none";
}

}  // namespace
}  // namespace millrace
