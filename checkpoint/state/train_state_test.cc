#include "checkpoint/state/train_state.h"

#include <ATen/ATen.h>

#include <functional>
#include <stdexcept>
#include <utility>

#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/testing/tiny_state_testing.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Returns the content of `from` as if it had been read for `to`.
LoadedState loaded(const TinyState& from, const TinyState& to) {
  LoadedState loaded = begin_loading(to.state());
  for (const NamedParameter& tensor : from.dense) {
    loaded.dense.push_back({tensor.name, tensor.value.detach().clone()});
  }
  loaded.optimizer_tensors = from.state().optimizer_tensors();
  for (size_t t = 0; t < from.tables.size(); ++t) {
    EXPECT_OK(loaded.tables[t]->content().load_rows(from.tables[t]->content().export_rows()));
    EXPECT_OK(loaded.tables[t]->content().set_admission_state(
        from.tables[t]->content().admission_state()));
    EXPECT_OK(loaded.tables[t]->content().set_evicted_log(from.tables[t]->content().evicted_log()));
  }
  loaded.shared = from.state().shared;
  loaded.ranks = {from.state().rank};
  return loaded;
}

// Forwards all calls; after loading, calls `then`.
class Fails : public DenseOptimizer {
 public:
  Fails(DenseOptimizer& under, std::function<absl::Status()> then)
      : under_(under), then_(std::move(then)) {}
  absl::Status step(const Progress& progress) override { return under_.step(progress); }
  void zero_grad() override { under_.zero_grad(); }
  double learning_rate(const Progress& progress) const override {
    return under_.learning_rate(progress);
  }
  const std::vector<std::string>& parameters() const override { return under_.parameters(); }
  std::vector<NamedParameter> state() const override { return under_.state(); }
  std::vector<std::string> state_differences(
      const std::vector<NamedParameter>& state) const override {
    return under_.state_differences(state);
  }
  absl::Status load_state(const std::vector<NamedParameter>& state) override {
    RETURN_IF_ERROR(under_.load_state(state));
    return then_();
  }

 private:
  DenseOptimizer& under_;
  const std::function<absl::Status()> then_;
};

class TrainStateTest : public testing::Test {
 protected:
  TrainStateTest() : from_(tiny_state(1, {kCounted})), to_(tiny_state(2, {kCounted})) {
    for (const std::vector<int64_t>& ids : {Ids{1, 2, 3}, Ids{2, 3, 4}, Ids{4, 5}}) {
      step_state(from_, ids);
    }
    step_state(to_, {8, 9});
    step_state(to_, {9});
    before_ = to_.to_string();
  }
  absl::Status put(LoadedState& state) { return put(to_.state(), state); }
  absl::Status put(const TrainState& target, LoadedState& state) {
    return put_state(target, 0, 1, state);
  }
  using Ids = std::vector<int64_t>;
  static constexpr char kCounted[] = "admission { count { min_count: 2 } }";

  TinyState from_, to_;
  std::string before_;
};

TEST_F(TrainStateTest, AllOfItIsPutInPlace) {
  LoadedState state = loaded(from_, to_);
  ASSERT_NE(before_, from_.to_string());
  ASSERT_OK(put(state));
  EXPECT_EQ(to_.to_string(), from_.to_string());
  // Both continue alike.
  step_state(from_, {1, 2, 7});
  to_.step = from_.step - 1;
  step_state(to_, {1, 2, 7});
  EXPECT_EQ(to_.to_string(), from_.to_string());
}

TEST_F(TrainStateTest, WhatDoesNotFitIsListedAndChangesNothing) {
  LoadedState state = loaded(from_, to_);
  state.dense[0].name = "fc.wait";
  state.dense[2].value = state.dense[2].value.to(at::kFloat);
  state.dense.push_back(state.dense[1]);
  state.optimizer_tensors[0].name = "optimizer/fc.other/exp_avg";
  state.tables.clear();
  EXPECT_THAT(
      put(state),
      StatusIs(kInvalid, AllOf(HasSubstr("\"fc.weight\""), HasSubstr("\"fc.wait\""),
                               HasSubstr("\"half\""), HasSubstr("\"fc.bias\" is there twice"),
                               HasSubstr("fc.other"), HasSubstr("table items is missing"))));
  EXPECT_EQ(to_.to_string(), before_);
}

TEST_F(TrainStateTest, TablesInsideAStepAndDamagedCountersAreRefused) {
  LoadedState damaged = loaded(from_, to_);
  damaged.ranks[0].mutable_table(0)->set_steps(-1);
  EXPECT_THAT(put(damaged), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("items")));
  LoadedState state = loaded(from_, to_);
  to_.tables.clear();
  to_.tables.push_back(tiny_table());
  RowIndex row;
  ASSERT_OK(to_.tables[0]->find_or_insert({{77}}, {&row, 1}));
  EXPECT_THAT(put(state), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("items")));
}

TEST_F(TrainStateTest, TheAverageGoesWithTheOptimizers) {
  for (TinyState* state : {&from_, &to_}) {
    begin_average(*state);
    step_state(*state, {1});
  }
  ASSERT_THAT(from_.state().optimizer_tensors(), testing::SizeIs(6 + 4));
  EXPECT_EQ(from_.state().optimizer_tensors()[7].name, average_name("fc.weight"));
  for (const NamedParameter& tensor : from_.state().optimizer_tensors()) {
    const bool of_average = is_of_average(tensor.name);
    EXPECT_EQ(of_average, tensor.name.find("/average") != std::string::npos) << tensor.name;
    EXPECT_EQ(is_of_model(tensor.name), of_average && tensor.name.back() == 'e') << tensor.name;
  }
  LoadedState state = loaded(from_, to_);
  ASSERT_NE(from_.to_string(), to_.to_string());
  ASSERT_OK(put(state));
  EXPECT_EQ(to_.to_string(), from_.to_string());
  to_.step = from_.step - 1;
  step_state(from_, {1});
  to_.step = from_.step - 1;
  step_state(to_, {1});
  EXPECT_EQ(to_.to_string(), from_.to_string()) << "the number of updates counts in the warm-up";
}

TEST_F(TrainStateTest, AnAverageThatIsMissingBeginsAnew) {
  begin_average(to_);
  step_state(to_, {8});
  LoadedState state = loaded(from_, to_);
  ASSERT_OK(put(state));
  const std::vector<NamedParameter> average = to_.average->state();
  EXPECT_EQ(average[0].value.item<int64_t>(), 0);
  EXPECT_TRUE(average[1].value.equal(from_.dense[0].value));
}

TEST_F(TrainStateTest, AnAverageThatTheTargetHasNotIsRefused) {
  begin_average(from_);
  step_state(from_, {1});
  LoadedState state = loaded(from_, to_);
  EXPECT_THAT(put(state),
              StatusIs(kInvalid, HasSubstr("\"fc.weight/average\" is not one of this optimizer")));
  EXPECT_EQ(to_.to_string(), before_);
  begin_average(to_);
  state.optimizer_tensors.back().value = at::zeros({3});
  EXPECT_THAT(put(state), StatusIs(kInvalid, HasSubstr("\"fc.bias/average\" is float32 [3]")));
}

TEST_F(TrainStateTest, OfWhatIsLeftOutTheAverageStaysAsItIs) {
  for (TinyState* state : {&from_, &to_}) {
    begin_average(*state);
    step_state(*state, {1});
  }
  const at::Tensor own = to_.average->state()[1].value.clone();
  LoadedState state = loaded(from_, to_);
  state.left_out = {"fc.weight"};
  state.dense.erase(state.dense.begin());
  TrainState saved = from_.state();
  saved.left_out = state.left_out;
  state.optimizer_tensors = saved.optimizer_tensors();
  EXPECT_THAT(state.optimizer_tensors, testing::SizeIs(3 + 2));
  ASSERT_OK(put(state));
  EXPECT_TRUE(to_.average->state()[1].value.equal(own));
  EXPECT_TRUE(to_.average->state()[3].value.equal(from_.average->state()[3].value));
}

TEST_F(TrainStateTest, AnOptimizerThatFailsHalfWayIsUndone) {
  const std::vector<std::function<absl::Status()>> failures = {
      [] { return absl::ResourceExhaustedError("no memory"); },
      []() -> absl::Status { throw std::runtime_error("no memory"); }};
  for (const auto& failure : failures) {
    TinyState to = tiny_state(2, {kCounted});
    step_state(to, {8, 9});
    const std::string before = to.to_string();
    int calls = 0;
    Fails optimizer(*to.optimizer, [&] { return ++calls == 1 ? failure() : absl::OkStatus(); });
    TrainState target = to.state();
    target.dense_optimizers = {&optimizer};
    LoadedState state = loaded(from_, to);
    EXPECT_THAT(put(target, state).message(), HasSubstr("no memory"));
    EXPECT_EQ(to.to_string(), before);
    EXPECT_EQ(calls, 2);
    ASSERT_OK(put(target, state)) << "what was read is still there";
    EXPECT_EQ(to.to_string(), from_.to_string());
  }
}

TEST_F(TrainStateTest, WhatCannotBePutBackIsSaid) {
  Fails optimizer(*to_.optimizer, [] { return absl::UnavailableError("never"); });
  TrainState target = to_.state();
  target.dense_optimizers = {&optimizer};
  LoadedState state = loaded(from_, to_);
  EXPECT_THAT(put(target, state),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("the state is lost")));
}

// The tensor's elements share their memory, so no value can be copied into it.
TEST_F(TrainStateTest, ATensorThatCannotBeWrittenIsUndone) {
  to_.dense[4].value = at::zeros({1}, at::kBool).expand({2});
  before_ = to_.to_string();
  LoadedState state = loaded(from_, to_);
  EXPECT_THAT(put(state), StatusIs(absl::StatusCode::kInternal, HasSubstr("memory location")));
  EXPECT_EQ(to_.to_string(), before_);
}

TEST_F(TrainStateTest, CountersOfAnotherNumberOfRanksAreAddedOnTheFirst) {
  LoadedState state = loaded(from_, to_);
  state.ranks.push_back(state.ranks[0]);
  const int64_t inserted = from_.tables[0]->content().counters().counted.inserted;
  ASSERT_GT(inserted, 0);
  ASSERT_OK(put_state(to_.state(), 0, 1, state));
  EXPECT_EQ(to_.tables[0]->content().counters().counted.inserted, 2 * inserted);
  EXPECT_EQ(to_.tables[0]->content().counters().applied_steps,
            from_.tables[0]->content().counters().applied_steps);
  LoadedState again = loaded(from_, to_);
  ASSERT_OK(put_state(to_.state(), 1, 3, again));
  EXPECT_EQ(to_.tables[0]->content().counters().counted.inserted, 0);
}

TEST_F(TrainStateTest, DifferencesAreNoneOfItself) {
  const LoadedState state = loaded(from_, to_);
  EXPECT_THAT(state_differences(to_.state(), state), IsEmpty());
  EXPECT_OK(check_state(to_.state(), 0, 1, state));
  EXPECT_THAT(begin_loading(to_.state()).tables,
              ElementsAre(testing::Pointee(testing::Property(&EmbeddingTable::name, "items"))));
}

}  // namespace
}  // namespace millrace
