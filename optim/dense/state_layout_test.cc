#include "optim/dense/state_layout.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const StateLayout kLayout = {{{"step", true}, {"sum", false}}};

std::vector<NamedParameter> parameters() { return {{"a", at::ones({2})}, {"b/c", at::ones({3})}}; }

std::vector<NamedParameter> state() {
  return {{"b/c/sum", at::zeros({3})}, {"b/c/step", at::scalar_tensor(7, at::kLong)}};
}

TEST(StateLayoutTest, AParameterHasAllFieldsOrNone) {
  EXPECT_THAT(state_differences(kLayout, parameters(), state()), IsEmpty());
  EXPECT_THAT(state_differences(kLayout, parameters(), {}), IsEmpty());
  EXPECT_THAT(state_differences(kLayout, parameters(), {state()[0]}),
              ElementsAre("optimizer state \"b/c/step\" is missing"));
  StateLayout always = kLayout;
  always.always_there = true;
  EXPECT_THAT(
      state_differences(always, parameters(), state()),
      ElementsAre("optimizer state \"a/step\" is missing", "optimizer state \"a/sum\" is missing"));
}

TEST(StateLayoutTest, TypesShapesAndNamesAreCompared) {
  std::vector<NamedParameter> wrong = state();
  wrong[0].value = at::zeros({2});
  wrong[1].value = at::scalar_tensor(7, at::kInt);
  wrong.push_back(wrong[0]);
  wrong.push_back({"b/c/sun", at::zeros({3})});
  EXPECT_THAT(state_differences(kLayout, parameters(), wrong),
              ElementsAre("optimizer state \"b/c/sum\" is there twice",
                          "optimizer state \"b/c/step\" is int32 []; it must be int64 []",
                          "optimizer state \"b/c/sum\" is float32 [2]; it must be float32 [3]",
                          "optimizer state \"b/c/sun\" is not one of this optimizer; did you mean "
                          "\"b/c/sum\"?"));
}

TEST(StateLayoutTest, StateIsDealtOutInTheOrderOfTheLayout) {
  const auto dealt = deal_out_state(kLayout, parameters(), state());
  ASSERT_THAT(dealt, ElementsAre(IsEmpty(), SizeIs(2)));
  EXPECT_EQ(dealt[1][0].item<int64_t>(), 7);
  EXPECT_TRUE(dealt[1][1].equal(at::zeros({3})));
}

}  // namespace
}  // namespace millrace
