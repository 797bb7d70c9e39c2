#include "checkpoint/state/table_tensors.h"

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

}  // namespace
}  // namespace millrace
