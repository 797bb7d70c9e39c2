// Tests of the trainer with a model bank. tests/resume/model_bank_test covers the sources of a
// bank.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/state/state_loader.h"
#include "framework/trainer.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

// A source that provides `content`, and adds `amount` to all dense tensors at each reload().
class FakeBank : public StateLoader {
 public:
  struct Behavior {
    bool dynamic = true;
    const MemoryCheckpoint* content = nullptr;  // null: the trainer's current state
    float amount = 1;                           // 0: nothing has changed
    absl::Status status;
    std::string lacks = {};
  };
  FakeBank(const Behavior& behavior, std::vector<std::string>* log)
      : behavior_(behavior), log_(log) {}

  bool dynamic() const override { return behavior_.dynamic; }
  absl::StatusOr<LoadedState> load(const TrainState& target, Collectives&) override {
    log_->push_back("load");
    RETURN_IF_ERROR(behavior_.status);
    if (behavior_.content != nullptr) return behavior_.content->load(target);
    return MemoryCheckpoint(target).load(target);
  }
  absl::StatusOr<bool> reload(const TrainState& target, Collectives&) override {
    log_->push_back(absl::StrCat("reload at ", target.shared.progress().step()));
    RETURN_IF_ERROR(behavior_.status);
    for (const NamedParameter& tensor : target.dense) tensor.value.detach().add_(behavior_.amount);
    ++loads_;
    return behavior_.amount != 0;
  }
  // Provides all names except `behavior_.lacks`.
  absl::StatusOr<std::vector<std::string>> fill(const TrainState& target,
                                                const std::vector<std::string>& names,
                                                Collectives&) override {
    log_->push_back(
        absl::StrCat("fill ", absl::StrJoin(names, ", "), " at ", target.shared.progress().step()));
    RETURN_IF_ERROR(behavior_.status);
    std::vector<std::string> missing;
    for (const std::string& name : names) {
      if (name == behavior_.lacks) missing.push_back(name);
    }
    return missing;
  }
  absl::Status save_state(ObjectState& state) const override {
    state = {1, absl::StrCat(loads_)};
    return absl::OkStatus();
  }
  absl::Status load_state(absl::Span<const ObjectState> per_rank) override {
    log_->push_back(absl::StrCat("state ", per_rank[0].bytes));
    return absl::OkStatus();
  }

 private:
  const Behavior& behavior_;
  std::vector<std::string>* log_;
  int loads_ = 0;
};

class TrainerBankTest : public testing::Test {
 protected:
  TrainerBankTest() {
    options_.train.sparse = 2;
    options_.trainer.max_steps = 4;
    options_.trainer.report = {};
    options_.trainer.save_at_end = false;
    options_.clock = &clock_;
  }
  std::unique_ptr<Trainer> make(RecordingHook::OnEvent on_event = nullptr) {
    TrainerParts parts = tiny_parts(options_);
    parts.model_bank = std::make_unique<FakeBank>(bank_, &log_);
    parts.saver = std::make_unique<FakeSaver>([this](const TrainState& state, const auto& metrics) {
      log_.push_back(absl::StrCat("save with ", metrics.size(), " metrics"));
      saved_.push_back(std::make_unique<MemoryCheckpoint>(state));
      return CheckpointInfo{"saved", {}};
    });
    auto trainer = Trainer::create(options_.trainer, std::move(parts));
    EXPECT_OK(trainer.status());
    EXPECT_OK((*trainer)->add_hook(std::make_unique<RecordingHook>(&events_, std::move(on_event))));
    return *std::move(trainer);
  }
  static std::string text_of(Trainer& trainer) {
    auto state = trainer.capture();
    EXPECT_OK(state.status());
    return MemoryCheckpoint(*state).to_string();
  }

  FakeClock clock_;
  TinyTrainerOptions options_;
  FakeBank::Behavior bank_;
  std::vector<std::string> log_;  // of the bank and the saver
  std::vector<std::string> events_;
  std::vector<std::string> notes_;
  std::vector<std::unique_ptr<MemoryCheckpoint>> saved_;
};

// Returns a callback that makes a request after one step.
template <typename What>
RecordingHook::OnEvent after_step(int64_t step, What what) {
  return [step, what](HookContext& context, absl::string_view event) {
    if (event == "after_step" && context.progress().step == step) what(context.requests());
    return absl::OkStatus();
  };
}

TEST_F(TrainerBankTest, BeginsWithWhatItGives) {
  bank_.dynamic = false;
  std::unique_ptr<Trainer> from = make();
  ASSERT_OK(from->train());
  ASSERT_OK_AND_ASSIGN(const TrainState state, from->capture());
  const MemoryCheckpoint content(state);
  bank_.content = &content;
  std::unique_ptr<Trainer> to = make();
  ASSERT_NE(text_of(*to), text_of(*from));
  ASSERT_OK(to->load_model_bank(&notes_));
  EXPECT_EQ(text_of(*to), text_of(*from));
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(log_, ElementsAre("load"));
}

TEST_F(TrainerBankTest, WithoutOneNothingIsLoaded) {
  std::unique_ptr<Trainer> trainer = tiny_trainer(options_);
  const std::string before = text_of(*trainer);
  ASSERT_OK(trainer->load_model_bank(&notes_));
  EXPECT_EQ(text_of(*trainer), before);
}

TEST_F(TrainerBankTest, WhatFailsChangesNothing) {
  std::unique_ptr<Trainer> trainer = make();
  const std::string before = text_of(*trainer);
  bank_.status = absl::DataLossError("torn");
  EXPECT_THAT(trainer->load_model_bank(&notes_), StatusIs(kDataLoss, "torn"));
  EXPECT_EQ(text_of(*trainer), before);
}

TEST_F(TrainerBankTest, ReloadsBetweenSteps) {
  std::unique_ptr<Trainer> whole = make();
  ASSERT_OK(whole->train());
  std::unique_ptr<Trainer> trainer =
      make(after_step(2, [](Requests& requests) { requests.reload(); }));
  ASSERT_OK(trainer->train());
  EXPECT_THAT(log_, ElementsAre("reload at 2"));
  EXPECT_NE(text_of(*trainer), text_of(*whole));
}

TEST_F(TrainerBankTest, AfterTheCheckpointOfTheSamePoint) {
  std::unique_ptr<Trainer> trainer = make(after_step(2, [](Requests& requests) {
    requests.reload();
    requests.checkpoint();
  }));
  ASSERT_OK(trainer->train());
  const std::string end = text_of(*trainer);
  EXPECT_THAT(log_, ElementsAre("save with 0 metrics", "reload at 2"));
  // The checkpoint includes the pending reload.
  log_.clear();
  std::unique_ptr<Trainer> resumed = make();
  ASSERT_OK_AND_ASSIGN(const TrainState target, resumed->capture());
  ASSERT_OK(resumed->restore(saved_[0]->load(target), &notes_));
  ASSERT_OK(resumed->train());
  EXPECT_THAT(log_, ElementsAre("state 0", "reload at 2"));
  EXPECT_EQ(text_of(*resumed), end);
}

TEST_F(TrainerBankTest, EvaluationsOfAFormerModelAreForgotten) {
  for (const float amount : {0.0F, 1.0F}) {
    SCOPED_TRACE(amount);
    log_.clear();
    events_.clear();
    bank_.amount = amount;
    std::unique_ptr<Trainer> trainer = make([](HookContext& context, absl::string_view event) {
      if (event == "start") context.requests().evaluate_at_end();
      if (event == "after_step" && context.progress().step == 4) {
        context.requests().evaluate();
        context.requests().reload();
      }
      if (event == "after_evaluate") context.requests().checkpoint();
      return absl::OkStatus();
    });
    ASSERT_OK(trainer->train());
    const auto evaluations = std::count(events_.begin(), events_.end(), "after_evaluate");
    EXPECT_EQ(evaluations, amount == 0 ? 1 : 2);
    EXPECT_EQ(log_[1] == "save with 0 metrics", amount != 0) << log_[1];
  }
}

TEST_F(TrainerBankTest, AReloadThatFailsEndsTheRun) {
  std::unique_ptr<Trainer> trainer = make(after_step(3, [this](Requests& requests) {
    bank_.status = absl::DataLossError("torn");
    requests.reload();
  }));
  EXPECT_THAT(trainer->train(), StatusIs(kDataLoss, HasSubstr("reloading: torn")));
}

TEST_F(TrainerBankTest, OneThatIsNotDynamicIsNotAskedAgain) {
  bank_.dynamic = false;
  std::unique_ptr<Trainer> trainer =
      make(after_step(2, [](Requests& requests) { requests.reload(); }));
  EXPECT_THAT(trainer->train(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("no model bank with a dynamic source")));
}

TEST_F(TrainerBankTest, ItsNameIsTaken) {
  std::unique_ptr<Trainer> trainer = make();
  FakeBank other(bank_, &log_);
  EXPECT_THAT(trainer->add_state(kModelBank, other, StatePlacement::kOnce),
              StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST_F(TrainerBankTest, WhatACheckpointLacksIsAskedOfTheBank) {
  const std::unique_ptr<Trainer> trainer = make();
  EXPECT_THAT(*trainer->load_left_out({}, {}), IsEmpty());
  EXPECT_THAT(log_, IsEmpty());
  ASSERT_OK(trainer->train().status());
  log_.clear();
  bank_.lacks = "b";
  ASSERT_OK_AND_ASSIGN(const auto missing, trainer->load_left_out({"a", "b"}, {}));
  EXPECT_THAT(missing, ElementsAre("b"));
  EXPECT_THAT(log_, ElementsAre("fill a, b at 4"));
}

}  // namespace
}  // namespace millrace
