#include "tests/conformance/hook_conformance.h"

#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using MakeHook = std::function<std::unique_ptr<Hook>()>;

HookState saved(const Hook& hook) {
  HookState state;
  EXPECT_OK(hook.save_state(state));
  return state;
}

void expect_equal(const HookState& a, const HookState& b) {
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.bytes, b.bytes);
}

// Checks that a state survives a save and a load into a new instance.
void check_state_round(const Hook& hook, const MakeHook& make) {
  const HookState state = saved(hook);
  expect_equal(saved(hook), state);
  const std::unique_ptr<Hook> fresh = make();
  EXPECT_OK(fresh->load_state({&state, 1}));
  expect_equal(saved(*fresh), state);
}

// Forwards every event to the hook under test and observes the hook's reactions.
class WatchingHook : public Hook {
 public:
  explicit WatchingHook(const MakeHook& make) : make_(make), hook_(make()) {}

  absl::string_view name() const override { return hook_->name(); }
  absl::Status start(HookContext& c) override { return hook_->start(c); }
  absl::Status before_epoch(HookContext& c) override { return hook_->before_epoch(c); }
  absl::Status before_window(HookContext& c, const Window& window) override {
    return hook_->before_window(c, window);
  }
  absl::Status before_step(HookContext& c) override { return hook_->before_step(c); }
  absl::Status after_data(HookContext& c, const Batch& batch, int64_t micro_batch) override {
    return hook_->after_data(c, batch, micro_batch);
  }
  absl::Status after_backward(HookContext& c, const Gradients& gradients) override {
    return hook_->after_backward(c, gradients);
  }
  absl::Status after_step(HookContext& c, const StepResult& result) override {
    const absl::Status status = hook_->after_step(c, result);
    if (c.phase() == Phase::kTrain) check_state_round(*hook_, make_);
    return status;
  }
  absl::Status out_of_data(HookContext& c, DataEnd what) override {
    return hook_->out_of_data(c, what);
  }
  absl::Status after_window(HookContext& c, const Window& window) override {
    return hook_->after_window(c, window);
  }
  absl::Status after_epoch(HookContext& c) override { return hook_->after_epoch(c); }
  absl::Status after_report(HookContext& c, const Report& report) override {
    return hook_->after_report(c, report);
  }
  absl::Status after_evaluate(HookContext& c, const EvaluationResult& result) override {
    return hook_->after_evaluate(c, result);
  }
  absl::Status after_checkpoint(HookContext& c, const CheckpointInfo& checkpoint) override {
    return hook_->after_checkpoint(c, checkpoint);
  }
  absl::Status end(HookContext& c, const absl::Status& outcome) override {
    const absl::Status status = hook_->end(c, outcome);
    EXPECT_OK(status) << "end, after " << outcome;
    check_state_round(*hook_, make_);
    return status;
  }

 private:
  const MakeHook make_;
  const std::unique_ptr<Hook> hook_;
};

// Requests evaluations and a stop at given steps.
class Asking : public Hook {
 public:
  Asking(int64_t evaluate_at, int64_t stop_at, Scope scope)
      : evaluate_at_(evaluate_at), stop_at_(stop_at), scope_(scope) {}
  absl::string_view name() const override { return "asking_of_the_conformance_suite"; }
  absl::Status after_step(HookContext& context, const StepResult&) override {
    if (context.phase() == Phase::kEvaluate) return absl::OkStatus();
    if (context.progress().step == evaluate_at_) context.requests().evaluate("", scope_);
    if (context.progress().step == stop_at_) context.requests().stop("enough", scope_);
    return absl::OkStatus();
  }

 private:
  const int64_t evaluate_at_;
  const int64_t stop_at_;
  const Scope scope_;
};

TinyTrainerOptions two_epochs() {
  TinyTrainerOptions options;
  options.trainer.max_epochs = 2;
  options.trainer.micro_batches = 2;
  options.trainer.report = {.every_steps = 2, .at_end = true};
  options.train = {.batches = 5, .batch_size = 4, .sparse = 2};
  options.optimizer = "adam";
  return options;
}

void add(Trainer& trainer, std::unique_ptr<Hook> hook) {
  EXPECT_OK(trainer.add_hook(std::move(hook)));
}

void check_name(const HookConformance& conformance) {
  const std::unique_ptr<Hook> one = conformance.make();
  const std::unique_ptr<Hook> two = conformance.make();
  const std::string name(one->name());
  EXPECT_FALSE(name.empty()) << "a hook needs a name";
  EXPECT_EQ(one->name(), name) << "the name changed between two calls";
  EXPECT_EQ(two->name(), name) << "two instances have different names";
}

// Trains twice, and evaluates before and after. Returns the model's fingerprint after the first
// run.
std::string train(const MakeHook* make, bool changes_result = false) {
  std::unique_ptr<Trainer> trainer = tiny_trainer(two_epochs());
  if (make != nullptr) add(*trainer, std::make_unique<WatchingHook>(*make));
  add(*trainer, std::make_unique<Asking>(2, -1, Scope::kCommon));
  EXPECT_OK(trainer->evaluate("eval")) << "evaluate() before training";
  EXPECT_OK(trainer->train_and_evaluate());
  const std::string trained = fingerprint(trainer->model());
  EXPECT_OK(trainer->train()) << "a second time, with nothing to do";
  EXPECT_OK(trainer->evaluate("eval")) << "evaluate() after training";
  if (changes_result) return trained;
  EXPECT_EQ(fingerprint(trainer->model()), trained)
      << "evaluation, or a run without a step, changed the model";
  return trained;
}

std::string train_to_a_stop(const MakeHook* make, Scope scope) {
  std::unique_ptr<Trainer> trainer = tiny_trainer(two_epochs());
  if (make != nullptr) add(*trainer, std::make_unique<WatchingHook>(*make));
  add(*trainer, std::make_unique<Asking>(1, 2, scope));
  EXPECT_OK(trainer->train());
  EXPECT_OK(trainer->train()) << "going on after the stop";
  return fingerprint(trainer->model());
}

constexpr char kChanged[] = "the result changed; say changes_result if it is meant to";

void check_training(const HookConformance& conformance) {
  const std::string with = train(&conformance.make, conformance.changes_result);
  if (conformance.changes_result) return;
  EXPECT_EQ(with, train(nullptr)) << kChanged;
}

void check_stop(const HookConformance& conformance, Scope scope) {
  const std::string with = train_to_a_stop(&conformance.make, scope);
  if (conformance.changes_result) return;
  EXPECT_EQ(with, train_to_a_stop(nullptr, scope)) << kChanged;
}

void check_common_stop(const HookConformance& conformance) {
  check_stop(conformance, Scope::kCommon);
}

void check_stop_of_this_rank(const HookConformance& conformance) {
  check_stop(conformance, Scope::kThisRank);
}

// Returns the outcome of training on two ranks, one with more data, by rank: "after step n:
// status".
std::vector<std::string> train_hook_on_two_ranks(const MakeHook* make) {
  std::unique_ptr<Hook> hooks[2];
  for (std::unique_ptr<Hook>& hook : hooks) hook = make != nullptr ? (*make)() : nullptr;
  std::vector<std::string> ends(2);
  const auto train_rank = [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
    const int rank = collectives->rank();
    TinyTrainerOptions options = two_epochs();
    options.train.sparse = 0;
    options.train.batches = rank == 0 ? 5 : 3;
    TrainerParts parts = tiny_parts(options);
    parts.collectives = std::move(collectives);
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::create(options.trainer, std::move(parts)));
    if (hooks[rank] != nullptr) RETURN_IF_ERROR(trainer->add_hook(std::move(hooks[rank])));
    RETURN_IF_ERROR(trainer->add_hook(std::make_unique<Asking>(2, -1, Scope::kCommon)));
    const absl::Status status = trainer->train().status();
    ends[rank] = absl::StrCat("after step ", trainer->progress().step, ": ", status.ToString());
    return absl::OkStatus();
  };
  for (const absl::Status& made : run_thread_ranks({.world_size = 2}, train_rank)) EXPECT_OK(made);
  return ends;
}

void check_two_ranks(const HookConformance& conformance) {
  const std::vector<std::string> ends = train_hook_on_two_ranks(&conformance.make);
  EXPECT_THAT(ends, testing::Each(HasSubstr(": OK"))) << "two ranks";
  EXPECT_EQ(ends[0], ends[1]) << "the two ranks ended differently";
  if (!conformance.changes_result) {
    EXPECT_EQ(ends, train_hook_on_two_ranks(nullptr)) << "two ranks";
  }
}

// Returns the error of a run that fails by `options`.
absl::Status run_error(const MakeHook* make, TinyTrainerOptions options) {
  std::unique_ptr<Trainer> trainer = tiny_trainer(std::move(options));
  if (make != nullptr) add(*trainer, std::make_unique<WatchingHook>(*make));
  return trainer->train().status();
}

// Returns options whose model fails in its fourth training forward pass, in the middle of a step.
TinyTrainerOptions failing_model() {
  TinyTrainerOptions options = two_epochs();
  auto forwards = std::make_shared<int>(0);  // shared by the copies of the std::function
  options.on_forward = [forwards](const Batch&) {
    if (!c10::GradMode::is_enabled()) return absl::OkStatus();
    return ++*forwards == 4 ? absl::DataLossError("planted") : absl::OkStatus();
  };
  return options;
}

void check_hook_at_error(const HookConformance& conformance,
                         const std::function<TinyTrainerOptions()>& failing) {
  const absl::Status with = run_error(&conformance.make, failing());
  if (conformance.changes_result) return;
  EXPECT_EQ(with, run_error(nullptr, failing())) << "the error changed";
}

void check_model_error(const HookConformance& conformance) {
  check_hook_at_error(conformance, failing_model);
}

void check_empty_data(const HookConformance& conformance) {
  check_hook_at_error(conformance, [] {
    TinyTrainerOptions options = two_epochs();
    options.train.batches = 0;
    return options;
  });
}

void check_refused_step(const HookConformance& conformance) {
  TinyTrainerOptions options = two_epochs();
  options.train.nan_at = 2;
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  auto hook = std::make_unique<WatchingHook>(conformance.make);
  const std::string name(hook->name());
  add(*trainer, std::move(hook));
  const absl::Status status = trainer->train().status();
  if (status.ok()) return;
  EXPECT_THAT(std::string(status.message()), HasSubstr("hook " + name));
}

void check_end_without_start(const HookConformance& conformance) {
  FakeHookContext context;
  context.ending = true;
  const std::unique_ptr<Hook> hook = conformance.make();
  EXPECT_OK(hook->end(context, absl::OkStatus()));
  EXPECT_OK(hook->end(context, absl::InternalError("planted")));
}

void check_destruction_without_end(const HookConformance& conformance) {
  {
    FakeHookContext context;
    context.starting = true;
    EXPECT_OK(conformance.make()->start(context));
  }
  FakeHookContext context;
  const std::unique_ptr<Hook> hook = conformance.make();
  EXPECT_OK(hook->start(context)) << "after another instance was destroyed without end";
  EXPECT_OK(context.asked.run_callbacks());
  EXPECT_OK(hook->end(context, absl::OkStatus()));
  EXPECT_OK(context.asked.run_callbacks());
}

std::vector<HookState> damaged_states(const HookState& good) {
  std::vector<HookState> states = {
      {good.version, ""},
      {good.version, std::string("\xff\x00\x01 no state", 12)},
      {good.version, std::string(1 << 16, '9')},
      {good.version, "-1"},
      {good.version + 1, good.bytes},
      {-1, good.bytes},
  };
  if (!good.bytes.empty()) {
    states.push_back({good.version, good.bytes.substr(0, good.bytes.size() - 1)});
    states.push_back({good.version, good.bytes + good.bytes});
  }
  return states;
}

void check_load(const HookConformance& conformance, absl::Span<const HookState> states) {
  std::unique_ptr<Trainer> trainer = tiny_trainer(two_epochs());
  std::unique_ptr<Hook> hook = conformance.make();
  const HookState before = saved(*hook);
  const absl::Status status = hook->load_state(states);
  if (!status.ok()) {
    expect_equal(saved(*hook), before);
    return;
  }
  add(*trainer, std::move(hook));
  EXPECT_OK(trainer->train()) << "after a damaged state that load_state accepted";
}

void check_state(const HookConformance& conformance) {
  const std::unique_ptr<Hook> hook = conformance.make();
  check_state_round(*hook, conformance.make);
  EXPECT_OK(conformance.make()->load_state({})) << "no rank wrote a state";
}

void check_damaged_state(const HookConformance& conformance) {
  const HookState good = saved(*conformance.make());
  for (const HookState& state : damaged_states(good)) {
    SCOPED_TRACE(
        absl::StrCat("state of version ", state.version, " and ", state.bytes.size(), " bytes"));
    check_load(conformance, {&state, 1});
  }
  const HookState two_ranks[] = {good, {good.version, "not what rank 0 wrote"}};
  SCOPED_TRACE("the second rank's state is damaged");
  check_load(conformance, two_ranks);
}

}  // namespace

std::vector<Property> hook_properties(const HookConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("KeepsItsName", check_name),
      property("Trains", check_training),
      property("TrainsToACommonStop", check_common_stop),
      property("TrainsToAStopOfThisRank", check_stop_of_this_rank),
      property("KeepsTheErrorOfTheModel", check_model_error),
      property("KeepsTheErrorOfEmptyData", check_empty_data),
      property("SurvivesARefusedStep", check_refused_step),
      property("EndsWithoutStart", check_end_without_start),
      property("IsDestroyedWithoutEnd", check_destruction_without_end),
      property("SavesItsState", check_state),
      property("SurvivesDamagedStates", check_damaged_state),
  };
  if (!conformance.one_per_process) {
    properties.push_back(property("EndsAlikeOnTwoRanks", check_two_ranks));
  }
  return properties;
}

bool register_hook_conformance(const std::string& suite, const HookConformance& conformance,
                               std::source_location place) {
  return register_properties(suite, hook_properties(conformance), place);
}

}  // namespace millrace
