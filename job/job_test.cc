#include "job/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"
#include "hook/hook_registry.h"
#include "job/default_hooks.h"
#include "proto/config_reader.h"
#include "tools/event_report.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Names = std::vector<std::string>;

class FailingHook : public Hook {
 public:
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig&, const HookResources&) {
    return std::make_unique<FailingHook>();
  }
  absl::string_view name() const override { return "failing"; }
  absl::Status after_step(HookContext&, const StepResult&) override {
    return absl::DataLossError("planted");
  }
};
MILLRACE_REGISTER_HOOK(failing, "fails after each step", &FailingHook::create);

absl::StatusOr<std::unique_ptr<Hook>> refuse_config(const HookConfig&, const HookResources&) {
  return absl::InvalidArgumentError("a is 0\nb is 0");
}
MILLRACE_REGISTER_HOOK(misconfigured, "refuses its configuration", &refuse_config);

class JobTest : public testing::Test {
 protected:
  JobTest() {
    const std::string data = testing::TempDir() + "/data.csv";
    EXPECT_OK(write_file_atomically(FileSystem::local(), data,
                                    "label,d,c\n1,0.5,7\n0,0.25,8\n1,0.125,7\n0,1,9\n"));
    const std::string text = absl::StrCat(
        R"(train {
             train_data { path: ")",
        data, R"(" batch_size: 2 }
             eval_data { data { path: ")",
        data, R"(" } }
             feature { name: "label" kind: LABEL }
             feature { name: "d" kind: DENSE }
             feature { name: "c" }
             table { name: "c" dim: 4 }
             model { name: "deepfm" }
           }
           run { output_dir: ")",
        testing::TempDir(), R"(/out" threads: 1 })");
    EXPECT_OK(parse_text(text, "the test", &config_));
    expand_names(config_.mutable_train());
    resources_.log = &log_;
  }

  CheckedJob checked(const CheckedJob::Options& options = CheckedJob::Options()) {
    auto job = CheckedJob::check(FileSystem::local(), config_, "the test", options);
    EXPECT_OK(job);
    return *std::move(job);
  }
  std::unique_ptr<Trainer> make() {
    auto trainer = build_trainer(checked(), resources_);
    EXPECT_OK(trainer);
    return *std::move(trainer);
  }
  Names hooks() { return make()->hook_names(); }
  void give_it_a_sink() {
    config_.mutable_run()->add_sink()->mutable_custom()->set_name("failing_sink");
  }
  void give_it_a_dynamic_source() {
    SourceConfig& source = *config_.mutable_train()->mutable_model_bank()->add_source();
    source.set_path("elsewhere");
    source.set_dynamic(true);
  }

  JobConfig config_;
  std::ostringstream log_;
  JobResources resources_;
};

// A sink that fails at the second report.
class FailingSink : public Sink {
 public:
  absl::Status write_report(const Report&) override {
    return ++reports_ < 2 ? absl::OkStatus() : absl::UnavailableError("no room");
  }
  absl::Status write_evaluation(const EvaluationResult&) override { return absl::OkStatus(); }

 private:
  int reports_ = 0;
};
absl::StatusOr<std::unique_ptr<Sink>> create_failing(const CustomConfig&, const SinkInput&) {
  return std::make_unique<FailingSink>();
}
MILLRACE_REGISTER_SINK(failing_sink, "a sink of this test", &create_failing);

TEST_F(JobTest, DefaultHooksAreAttachedInTheirOrderThenThoseOfTrainAndRun) {
  give_it_a_dynamic_source();
  give_it_a_sink();
  Names expected;
  for (const DefaultHook& hook : default_hooks()) expected.push_back(hook.name);
  ASSERT_OK(apply_override("train.train_data.windows={}", &config_));
  ASSERT_OK(apply_override("run.window_gate={min_rows: 1}", &config_));
  EXPECT_THAT(hooks(), ElementsAreArray(expected));
  config_.mutable_run()->add_hooks()->set_name("failing");
  expected.push_back("failing");
  EXPECT_THAT(hooks(), ElementsAreArray(expected));
}

TEST_F(JobTest, EachDefaultHookCanBeSwitchedOff) {
  EXPECT_THAT(hooks(), Not(Contains("checkpoint_load"))) << "without a dynamic source";
  give_it_a_dynamic_source();
  give_it_a_sink();
  ASSERT_OK(apply_override("train.train_data.windows={}", &config_));
  ASSERT_OK(apply_override("run.window_gate={min_rows: 1}", &config_));
  const JobConfig config = config_;
  for (const DefaultHook& hook : default_hooks()) {
    if (hook.switch_off.empty()) continue;
    config_ = config;
    ASSERT_OK(apply_override(hook.switch_off, &config_));
    EXPECT_THAT(hooks(), Not(Contains(hook.name))) << hook.switch_off;
    EXPECT_EQ(hooks().size() + 1, default_hooks().size()) << hook.switch_off;
  }
}

TEST_F(JobTest, OnErrorComesFromTheConfiguration) {
  HookConfig* hook = config_.mutable_run()->add_hooks();
  hook->set_name("failing");
  EXPECT_THAT(make()->train(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("hook failing")));
  hook->set_on_error(HookConfig::DISABLE);
  std::unique_ptr<Trainer> trainer = make();
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 2);
  EXPECT_EQ(summary.hooks.at("failing").errors, 1);
  EXPECT_TRUE(summary.hooks.at("failing").disabled);
}

TEST_F(JobTest, ReportsThatCannotBeWrittenAreAWarningUnlessConfiguredOtherwise) {
  const std::string metrics = testing::TempDir() + "/out/metrics";
  std::filesystem::remove_all(metrics);
  // Creates a file in place of a directory, between the check at the start and the first report.
  class InTheWay : public Hook {
   public:
    explicit InTheWay(std::string path) : path_(std::move(path)) {}
    absl::string_view name() const override { return "in_the_way"; }
    absl::Status after_step(HookContext&, const StepResult&) override {
      return write_file_atomically(FileSystem::local(), path_, "mine");
    }

   private:
    const std::string path_;
  };
  std::unique_ptr<Trainer> trainer = make();
  ASSERT_OK(trainer->add_hook(std::make_unique<InTheWay>(metrics)));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_GT(summary.hooks.at("metric_report").errors, 0);
  std::filesystem::remove_all(metrics);
  config_.mutable_run()->mutable_report()->set_on_error(HookConfig::FAIL);
  trainer = make();
  ASSERT_OK(trainer->add_hook(std::make_unique<InTheWay>(metrics)));
  EXPECT_THAT(trainer->train().status().message(), HasSubstr("hook metric_report"));
  std::filesystem::remove_all(metrics);
}

TEST_F(JobTest, AStepTrainerHasNothingButItsSteps) {
  config_.mutable_train()->set_max_steps(1);
  config_.mutable_run()->add_hooks()->set_name("failing");
  std::filesystem::remove_all(config_.run().output_dir());
  int64_t batches = 0;
  const auto count_batches =
      [&](std::unique_ptr<Dataset> configured) -> absl::StatusOr<std::unique_ptr<Dataset>> {
    RETURN_IF_ERROR(configured->start_epoch(0));
    while (true) {
      ASSIGN_OR_RETURN(const std::optional<Batch> batch, configured->next());
      if (!batch.has_value()) return configured;
      ++batches;
    }
  };
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Trainer> trainer,
                       build_step_trainer(checked(), resources_, count_batches));
  EXPECT_EQ(batches, 2);
  EXPECT_THAT(trainer->hook_names(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train_and_evaluate());
  EXPECT_EQ(summary.progress.step, 2) << "max_steps is no limit of it";
  EXPECT_THAT(summary.eval, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(config_.run().output_dir()));
}

TEST_F(JobTest, AStepTrainerNamesTheDataThatWasRefused) {
  const auto refuse = [](std::unique_ptr<Dataset>) -> absl::StatusOr<std::unique_ptr<Dataset>> {
    return absl::InvalidArgumentError("too small");
  };
  EXPECT_THAT(
      build_step_trainer(checked(), resources_, refuse),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("train.train_data: too small")));
}

TEST_F(JobTest, EachMistakeOfAHookNamesItsPlace) {
  config_.mutable_run()->add_hooks()->set_name("failing");
  config_.mutable_run()->add_hooks()->set_name("misconfigured");
  EXPECT_EQ(build_trainer(checked(), resources_).status(),
            absl::InvalidArgumentError("run.hooks[1]: hook \"misconfigured\": a is 0\n"
                                       "run.hooks[1]: b is 0"));
}

TEST_F(JobTest, OnlyAJobThatWasCheckedForTrainingTrains) {
  EXPECT_THAT(build_trainer(checked({.use = CheckedJob::Use::kModel}), resources_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("kTraining")));
}

TEST_F(JobTest, PartsAreCheckedWithoutDataAndPlugins) {
  // One rank cannot divide its 5045 examples into such micro-batches; five ranks can.
  config_.mutable_train()->mutable_train_data()->clear_batch_size();
  config_.mutable_train()->set_global_batch_size(5045);
  config_.mutable_train()->set_max_micro_batch_size(4000);
  config_.mutable_train()->mutable_train_data()->set_path(0, "missing.csv");
  config_.mutable_run()->add_hooks()->set_name("failing");
  HookConfig& of_plugin = *config_.mutable_run()->add_hooks();
  of_plugin.mutable_plugin()->set_hook("guard");
  of_plugin.mutable_plugin()->set_path("/missing/guard.so");
  config_.mutable_train()->mutable_feature(2)->add_transform()->mutable_vocabulary()->set_path(
      "/missing/words.txt");
  SliceConfig& slice = *config_.mutable_train()->add_slice();
  slice.set_feature("c");
  slice.add_text("lamp");
  EXPECT_THAT(check_parts(checked({.use = CheckedJob::Use::kModel}), resources_),
              IsOkAndHolds(ElementsAre(AllOf(HasSubstr("text of train.slice of feature \"c\""),
                                             HasSubstr("/missing/words.txt")),
                                       "hook guard of a plugin")));
  config_.mutable_run()->add_hooks()->set_name("misconfigured");
  EXPECT_THAT(check_parts(checked({.use = CheckedJob::Use::kModel}), resources_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("run.hooks[2]: hook \"misconfigured\": a is 0")));
  config_.mutable_train()->add_table()->set_name("other");  // of another dim
  FeatureConfig& other = *config_.mutable_train()->add_feature();
  other.set_name("other");
  other.set_table("other");
  EXPECT_THAT(check_parts(checked({.use = CheckedJob::Use::kModel}), resources_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("train.model: model \"deepfm\": all tables must have one dim")));
}

TEST_F(JobTest, SharesAreOfTheStepsAndExamplesOfItsFiles) {
  struct Case {
    const char* unit;
    const char* split;
    int ranks;
    int64_t total;
  };
  ASSERT_OK(apply_override("train.max_epochs=3", &config_));
  // The values of c are 7, 8, 7 and 9, and a batch has two examples.
  for (const Case& c :
       std::vector<Case>{{"STEPS", "", 1, 6},
                         {"STEPS", "by: ORDER_OF_COLUMN column: 'c' to: 9", 1, 6},
                         {"STEPS", "by: ORDER_OF_COLUMN column: 'c' to: 8", 1, 3},
                         {"STEPS", "", 2, 3},
                         {"STEPS", "by: ORDER_OF_COLUMN column: 'c' to: 9", 2, 3},
                         {"EXAMPLES", "", 1, 12},
                         {"EXAMPLES", "by: ORDER_OF_COLUMN column: 'c' to: 9", 2, 9}}) {
    ASSERT_OK(apply_override(absl::StrCat("train.train_data.split={", c.split, "}"), &config_));
    ASSERT_OK(apply_override(
        absl::StrCat("train.optimizer={schedule { unit: ", c.unit,
                     " cosine { warmup { length { count: 1000 } } length { share: 1 } } } }"),
        &config_));
    const CheckedJob job = checked({.ranks = c.ranks});  // the total is not known without data
    EXPECT_THAT(check_parts(job, resources_), IsOkAndHolds(Contains(HasSubstr("counts"))));
    const auto statuses = run_thread_ranks(
        {.world_size = c.ranks}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
          return build_trainer(job, resources_, std::move(ranks)).status();
        });
    EXPECT_THAT(statuses[0].message(), HasSubstr(absl::StrCat("in training, which has ", c.total,
                                                              "; shorten it or raise max_epochs")))
        << c.unit << " " << c.split << " " << c.ranks;
  }
}

TEST_F(JobTest, AShareAndACountAreComparedOnceTheStepsAreCounted) {
  ASSERT_OK(apply_override(
      "train.optimizer={schedule { cosine { warmup { length { share: 0.5 } } length { count: 100 } "
      "} } }",
      &config_));
  EXPECT_OK(check_parts(checked(), resources_));
  EXPECT_OK(build_trainer(checked(), resources_));
}

// Keeps the learning rates of the last report.
class RateHook : public Hook {
 public:
  explicit RateHook(std::map<std::string, double>& rates) : rates_(rates) {}
  absl::string_view name() const override { return "rates"; }
  absl::Status after_report(HookContext&, const Report& report) override {
    rates_ = report.learning_rates;
    return absl::OkStatus();
  }

 private:
  std::map<std::string, double>& rates_;
};

TEST_F(JobTest, TrainsAsManyStepsAsItCounted) {
  config_.mutable_run()->set_output_dir(testing::TempDir() + "/counted");
  std::filesystem::remove_all(config_.run().output_dir());
  for (const char* change :
       {"train.max_epochs=3", "train.train_data.split={by: ORDER_OF_COLUMN column: 'c' to: 8}",
        "train.optimizer={learning_rate: 0.5 schedule { multi_step { milestone { share: 1 } "
        "gamma: 0.25 } }}",
        "run.report.when={every_steps: 1}"}) {
    ASSERT_OK(apply_override(change, &config_));
  }
  std::map<std::string, double> rates;
  const std::unique_ptr<Trainer> trainer = make();
  ASSERT_OK(trainer->add_hook(std::make_unique<RateHook>(rates)));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 3);
  EXPECT_EQ(rates["dense"], 0.125) << "the share ends with training";
}

TEST_F(JobTest, OtherRanksLearnWhyATrainerCannotBeMade) {
  config_.mutable_run()->add_hooks()->set_name("misconfigured");
  const CheckedJob job = checked({.ranks = 2});
  const auto statuses =
      run_thread_ranks({.world_size = 2}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
        if (ranks->rank() == 0) return ranks->broadcast("", 1).status();
        return build_trainer(job, resources_, std::move(ranks)).status();
      });
  EXPECT_THAT(statuses[1], StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a is 0")));
  EXPECT_THAT(statuses[0], StatusIs(absl::StatusCode::kAborted,
                                    AllOf(HasSubstr("rank 1"), HasSubstr("a is 0"))));
}

class LeavingCollectives : public OneRankCollectives {
 public:
  explicit LeavingCollectives(bool& left) : left_(left) {}
  ~LeavingCollectives() override { left_ = true; }

 private:
  bool& left_;
};

TEST_F(JobTest, NoDataKeepsARankInTheJobThatItsTrainerLeft) {
  ASSERT_OK(apply_override("train.train_data.windows={}", &config_));
  bool left = false;
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Trainer> trainer,
      build_trainer(checked(), resources_, std::make_unique<LeavingCollectives>(left)));
  EXPECT_FALSE(left);
  trainer->leave_job();
  EXPECT_TRUE(left);
}

TEST_F(JobTest, WritesWhatWasAskedForAndDone) {
  const std::string path = testing::TempDir() + "/out/events.jsonl";
  std::filesystem::remove(path);
  ASSERT_OK(make()->train());
  ASSERT_OK_AND_ASSIGN(const EventHistory history, read_event_history(FileSystem::local(), path));
  ASSERT_GE(history.events.size(), 3);
  EXPECT_EQ(history.events.front().kind, "started");
  EXPECT_EQ(history.events.front().world_size, 1);
  EXPECT_EQ(history.events.back().kind, "ended");
  EXPECT_EQ(history.events.back().what, "completed");
  EXPECT_EQ(history.events.back().step, 2);
  EXPECT_THAT(event_report(history), HasSubstr("evaluate    eval: "));
}

}  // namespace
}  // namespace millrace
