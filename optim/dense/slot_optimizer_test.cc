#include "optim/dense/slot_optimizer.h"

#include <torch/types.h>

#include <string>
#include <utility>

#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// w ← w − rate × step × sum of gradients
class SumOptimizer : public SlotOptimizer {
 public:
  explicit SumOptimizer(std::vector<NamedParameter> parameters)
      : SlotOptimizer({"sum", "unused"}, std::move(parameters),
                      make_schedule("step { length { count: 2 } gamma: 0.5 }", 1)) {}

 private:
  void update(const Update& update, at::Tensor& weight) const override {
    update.slots[0].add_(update.gradient);
    weight.sub_(update.slots[0], update.rate * static_cast<double>(update.step));
  }
};

struct Pair {
  at::Tensor a = torch::zeros({2}).requires_grad_();
  at::Tensor b = torch::zeros({1}, torch::kDouble).requires_grad_();
  SumOptimizer optimizer{{{"a", a}, {"b", b}}};

  // Makes a step with these gradients; 0: without gradient.
  absl::Status step(int64_t number, double of_a, double of_b) {
    optimizer.zero_grad();
    if (of_a != 0) a.mutable_grad() = torch::full({2}, of_a);
    if (of_b != 0) b.mutable_grad() = torch::full({1}, of_b, torch::kDouble);
    return optimizer.step({.step = number});
  }
};

std::vector<std::string> names_of(const std::vector<NamedParameter>& state) {
  std::vector<std::string> names;
  for (const NamedParameter& one : state) names.push_back(one.name);
  return names;
}

TEST(SlotOptimizerTest, EachParameterCountsItsOwnUpdates) {
  Pair pair;
  EXPECT_THAT(pair.optimizer.parameters(), ElementsAre("a", "b"));
  EXPECT_THAT(pair.optimizer.state(), IsEmpty());
  ASSERT_OK(pair.step(0, 3, 0));
  EXPECT_TRUE(pair.a.equal(torch::full({2}, -3.0)));
  EXPECT_EQ(pair.b.item<double>(), 0);
  EXPECT_THAT(names_of(pair.optimizer.state()), ElementsAre("a/step", "a/sum", "a/unused"));
  ASSERT_OK(pair.step(1, 1, 2));
  EXPECT_TRUE(pair.a.equal(torch::full({2}, -11.0)));  // -3 - 2 (3 + 1)
  EXPECT_EQ(pair.b.item<double>(), -2);
  ASSERT_OK(pair.step(2, 0, 2));
  EXPECT_EQ(pair.b.item<double>(), -6);  // -2 - 0.5 * 2 (2 + 2)
  EXPECT_EQ(pair.optimizer.learning_rate({.step = 4}), 0.25);
  const std::vector<NamedParameter> state = pair.optimizer.state();
  EXPECT_THAT(names_of(state),
              ElementsAre("a/step", "a/sum", "a/unused", "b/step", "b/sum", "b/unused"));
  EXPECT_EQ(state[3].value.item<int64_t>(), 2);
  EXPECT_TRUE(state[4].value.equal(torch::full({1}, 4.0, torch::kDouble)));
  EXPECT_FALSE(state[1].value.requires_grad());
}

TEST(SlotOptimizerTest, LoadedStateIsACopyAndReplacesAll) {
  Pair one, other;
  ASSERT_OK(one.step(0, 3, 0));
  ASSERT_OK(other.step(0, 1, 1));
  ASSERT_OK(other.optimizer.load_state(one.optimizer.state()));
  EXPECT_THAT(names_of(other.optimizer.state()), ElementsAre("a/step", "a/sum", "a/unused"));
  ASSERT_OK(other.step(1, 1, 0));
  EXPECT_TRUE(one.optimizer.state()[1].value.equal(torch::full({2}, 3.0)));
  EXPECT_TRUE(other.optimizer.state()[1].value.equal(torch::full({2}, 4.0)));
  EXPECT_EQ(other.optimizer.state()[0].value.item<int64_t>(), 2);
  EXPECT_THAT(other.optimizer.load_state({one.optimizer.state()[0]}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a/sum\" is missing")));
  EXPECT_EQ(other.optimizer.state()[0].value.item<int64_t>(), 2);
}

TEST(SlotOptimizerTest, AnErrorOfLibTorchIsAStatusThatNamesTheParameter) {
  Pair pair;
  pair.a.mutable_grad() = torch::ones({3});
  EXPECT_THAT(pair.optimizer.step(Progress()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("parameter \"a\"")));
}

}  // namespace
}  // namespace millrace
