#include "framework/report/metric_set.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "metrics/metric_registry.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

StepResult step(double loss, at::Tensor predictions, at::Tensor labels) {
  StepResult step;
  step.applied = true;
  step.examples = predictions.size(0);
  step.loss = at::scalar_tensor(loss);
  step.predictions = std::move(predictions);
  step.labels = std::move(labels);
  return step;
}

// Returns a step with two examples and one task.
StepResult two(double loss) {
  return step(loss, at::tensor({0.75f, 0.25f}).view({2, 1}), at::tensor({1.0f, 0.0f}).view({2, 1}));
}

std::string throwing_function;

class ThrowingMetric : public Metric {
 public:
  absl::string_view name() const override { return "throwing"; }
  void update(const MetricInput&) override { throw_in("update"); }
  double compute() const override {
    throw_in("compute");
    return 0;
  }
  void reset() override {}
  void merge(const Metric&) override { throw_in("merge"); }
  std::string save() const override {
    throw_in("save");
    return "";
  }
  absl::Status merge_saved(absl::string_view) override {
    throw_in("merge_saved");
    return absl::OkStatus();
  }

 private:
  static void throw_in(absl::string_view function) {
    if (function == throwing_function) throw std::runtime_error("no value today");
  }
};
MILLRACE_REGISTER_METRIC(throwing, "throws", &create_plain_metric<ThrowingMetric>);

TEST(MetricSetTest, AMetricThatThrowsIsNamed) {
  for (const bool sliced : {false, true}) {
    StepResult one = two(0.5);
    std::vector<SliceOptions> slices;
    std::vector<std::string> metrics = {"throwing"};
    if (sliced) {
      metrics = {"mean"};
      slices = {{.name = "country", .max_ids = 1, .metrics = {"throwing"}}};
      one.slices = {{at::tensor({7, 3}, at::kLong), at::ones({2}, at::kBool)}};
    }
    for (const char* function : {"update", "compute", "save", "merge", "merge_saved"}) {
      if (!sliced && std::string(function) == "merge") continue;
      ASSERT_OK_AND_ASSIGN(MetricSet set,
                           MetricSet::create(metrics, {"click"}, LossScope::kThisRank, {}, slices));
      throwing_function = function;
      const absl::Status status = catch_part_exceptions("the report", [&] {
        RETURN_IF_ERROR(set.update(one));
        set.compute();
        const std::string saved = set.save();
        return set.load_ranks({saved});
      });
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                   HasSubstr("metric throwing: no value today")))
          << function << (sliced ? " of slices" : "");
      EXPECT_EQ(kind_of(status), FailureKind::kPart);
    }
  }
  throwing_function.clear();
}

TEST(MetricSetTest, OneTask) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc", "mean"}, {"click"}));
  ASSERT_OK(set.update(two(0.5)));
  ASSERT_OK(set.update(step(2, at::full({6, 1}, 0.5), at::ones({6, 1}))));
  EXPECT_THAT(set.compute(), ElementsAre(Pair("auc", 1), Pair("loss", 1.625), Pair("mean", 0.5)))
      << "the loss is a mean over examples, not steps";
}

TEST(MetricSetTest, TasksArePrefixes) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"mean"}, {"click", "buy"}));
  // The columns are strided views of the tensor.
  ASSERT_OK(
      set.update(step(1, at::tensor({0.5f, 0.1f, 1.0f, 0.3f}).view({2, 2}), at::ones({2, 2}))));
  const auto values = set.compute();
  EXPECT_EQ(values.size(), 3);
  EXPECT_DOUBLE_EQ(values.at("click/mean"), 0.75);
  EXPECT_NEAR(values.at("buy/mean"), 0.2, 1e-7);
}

TEST(MetricSetTest, AnExampleWithoutALabelCountsInNoMetricOfItsTask) {
  const float missing = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc", "mean"}, {"click", "buy"}));
  StepResult result = step(1, at::tensor({0.9f, 0.1f, 0.2f, 0.2f, 0.5f, 0.3f}).view({3, 2}),
                           at::tensor({1.0f, missing, 0.0f, missing, missing, 0.0f}).view({3, 2}));
  result.weights = at::tensor({1.0f, 3.0f, 100.0f});
  ASSERT_OK(set.update(result));
  const auto values = set.compute();
  EXPECT_EQ(values.at("click/auc"), 1);
  EXPECT_NEAR(values.at("click/mean"), (0.9 + 3 * 0.2) / 4, 1e-7);
  EXPECT_NEAR(values.at("buy/mean"), 0.3, 1e-7);
  EXPECT_TRUE(std::isnan(values.at("buy/auc"))) << "there is no positive";
  EXPECT_EQ(set.examples(), 3);
}

TEST(MetricSetTest, OfOneTaskToo) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"mean"}, {"click"}));
  ASSERT_OK(set.update(
      step(1, at::tensor({0.25f, 0.5f}).view({2, 1}), at::tensor({NAN, 1.0f}).view({2, 1}))));
  EXPECT_EQ(set.compute().at("mean"), 0.5);
  ASSERT_OK(set.update(step(1, at::full({2, 1}, 0.75), at::full({2, 1}, NAN))));
  EXPECT_EQ(set.compute().at("mean"), 0.5);
}

// Returns a step of a model that counts targets.
StepResult step_of_tasks(std::vector<float> losses, std::vector<int64_t> targets) {
  const auto tasks = static_cast<int64_t>(losses.size());
  StepResult result = step(0, at::full({4, tasks}, 0.5), at::ones({4, tasks}));
  result.task_losses = at::tensor(losses);
  result.loss = result.task_losses.sum();
  result.task_targets = std::move(targets);
  return result;
}

TEST(MetricSetTest, LossesOfTasksAreMeansOverTargets) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({}, {"click", "buy"}));
  ASSERT_OK(set.update(step_of_tasks({1, 0}, {4, 0})));
  EXPECT_EQ(set.compute().at("click/loss"), 1);
  EXPECT_TRUE(std::isnan(set.compute().at("buy/loss")));
  EXPECT_EQ(set.compute().at("loss"), 1) << "a task without targets has none";
  ASSERT_OK(set.update(step_of_tasks({3, 8}, {4, 2})));
  EXPECT_THAT(set.compute(),
              ElementsAre(Pair("buy/loss", 8), Pair("click/loss", 2), Pair("loss", 10)));
  EXPECT_EQ(set.examples(), 8);
  set.reset();
  ASSERT_OK(set.update(step_of_tasks({5, 1}, {1, 1})));
  EXPECT_EQ(set.compute().at("loss"), 6);
}

TEST(MetricSetTest, TheLossOfOneTaskWithTargets) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({}, {"click"}));
  ASSERT_OK(set.update(step_of_tasks({0}, {0})));
  EXPECT_TRUE(std::isnan(set.compute().at("loss"))) << "nothing was learnt";
  ASSERT_OK(set.update(step_of_tasks({2}, {1})));
  ASSERT_OK(set.update(step_of_tasks({5}, {2})));
  EXPECT_THAT(set.compute(), ElementsAre(Pair("loss", 4)));
}

// Returns a step of a model that gives ModelOutput::targets.
StepResult step_with_targets(double loss, double targets) {
  StepResult result = two(loss);
  result.loss_targets = at::scalar_tensor(targets);
  return result;
}

TEST(MetricSetTest, LossOverTheTargetsOfTheModel) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({}, {"click"}));
  ASSERT_OK(set.update(step_with_targets(0, 0)));
  EXPECT_TRUE(std::isnan(set.compute().at("loss"))) << "there are no targets";
  ASSERT_OK(set.update(step_with_targets(1, 3)));
  ASSERT_OK(set.update(step_with_targets(5, 1)));
  EXPECT_THAT(set.compute(), ElementsAre(Pair("loss", 2)));
  EXPECT_EQ(set.examples(), 6);
  const absl::Status status = set.update(step_with_targets(1, -3));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("targets are -3")));
  EXPECT_EQ(kind_of(status), FailureKind::kPart);
  const std::string saved = set.save();
  ASSERT_OK(set.load_ranks({saved, saved}));
  EXPECT_EQ(set.compute().at("loss"), 2);
  EXPECT_EQ(set.examples(), 12);
  ASSERT_OK(set.update(step_with_targets(6, 8)));
  EXPECT_EQ(set.compute().at("loss"), 4) << "(16 + 48) / (8 + 8)";
}

TEST(MetricSetTest, Weights) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"mean"}, {"click"}));
  StepResult weighted = two(1);
  weighted.weights = at::tensor({3.0f, 1.0f});
  ASSERT_OK(set.update(weighted));
  EXPECT_EQ(set.compute().at("mean"), 0.625);
  weighted.weights = at::tensor({3.0, 1.0}, at::kDouble);
  ASSERT_OK(set.update(weighted)) << "of another type";
}

TEST(MetricSetTest, ResetForgets) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc"}, {"click"}));
  ASSERT_OK(set.update(two(7)));
  set.reset();
  EXPECT_TRUE(std::isnan(set.compute().at("loss")));
  EXPECT_TRUE(std::isnan(set.compute().at("auc")));
  ASSERT_OK(set.update(two(1)));
  EXPECT_EQ(set.compute().at("loss"), 1);
}

TEST(MetricSetTest, AStepWithoutExamplesCountsNothing) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc"}, {"click"}));
  ASSERT_OK(set.update(StepResult()));
  EXPECT_TRUE(std::isnan(set.compute().at("loss")));
}

TEST(MetricSetTest, UnknownMetric) {
  EXPECT_THAT(MetricSet::create({"auk"}, {"click"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"auc\"?")));
}

TEST(MetricSetTest, ShapesThatDoNotFit) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc"}, {"click"}));
  const auto expect_refused = [&](const StepResult& step, const char* what, const char* shape) {
    EXPECT_THAT(set.update(step), StatusIs(absl::StatusCode::kInvalidArgument,
                                           AllOf(HasSubstr(what), HasSubstr(shape))));
  };
  expect_refused(step(1, at::zeros({2, 2}), at::zeros({2, 1})), "predictions", "[2, 2]");
  expect_refused(step(1, at::zeros({2}), at::zeros({2, 1})), "predictions", "[2]");
  expect_refused(step(1, at::zeros({2, 1}), at::zeros({2, 3})), "labels", "[2, 3]");
  expect_refused(step(1, at::zeros({2, 1}), at::zeros({3, 1})), "labels", "[3, 1]");
  expect_refused(step(1, at::zeros({2, 1}), {}), "labels", "missing");
  StepResult weighted = two(1);
  weighted.weights = at::ones({3});
  expect_refused(weighted, "3 weights", "2 examples");
  EXPECT_TRUE(std::isnan(set.compute().at("loss"))) << "a refused step counts nothing";
}

TEST(MetricSetTest, ARankWithoutExamplesAddsTheLossAlone) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"mean"}, {"click"}));
  StepResult elsewhere;
  elsewhere.examples = 8;
  elsewhere.loss = at::scalar_tensor(3.0);
  ASSERT_OK(set.update(elsewhere));
  elsewhere.predictions = elsewhere.labels = at::zeros({0, 1});
  ASSERT_OK(set.update(elsewhere));
  EXPECT_EQ(set.compute().at("loss"), 3);
  EXPECT_EQ(set.examples(), 16);
  EXPECT_TRUE(std::isnan(set.compute().at("mean")));
}

// Tests of merging over ranks.

const std::vector<std::string> kAll = {"auc", "calibration", "logloss", "mean", "ne"};

MetricSet all_metrics(LossScope scope) { return *MetricSet::create(kAll, {"click", "buy"}, scope); }

StepResult random_step(int64_t examples, double loss) {
  StepResult result = step(loss, at::rand({examples, 2}), at::rand({examples, 2}).round());
  result.weights = at::rand({examples});
  return result;
}

// Returns the values of every rank's set after merge_ranks(), after checking that all ranks agree
// to the last bit.
std::map<std::string, double> merged(std::vector<MetricSet>& ranks) {
  std::vector<std::string> bits(ranks.size());
  const auto statuses = run_thread_ranks(
      {.world_size = static_cast<int>(ranks.size())}, [&](std::unique_ptr<Collectives> self) {
        MetricSet& set = ranks[self->rank()];
        const absl::Status status = merge_ranks(*self, {&set});
        set.compute();  // AUC sorts: bits are compared in one order
        bits[self->rank()] = set.save();
        return status;
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
  for (const std::string& rank : bits) EXPECT_EQ(rank, bits[0]);
  return ranks[0].compute();
}

TEST(MetricSetTest, OverRanksEqualsOnePass) {
  at::manual_seed(1);
  for (const int world_size : {1, 2, 3}) {
    std::vector<MetricSet> ranks;
    MetricSet one_pass = all_metrics(LossScope::kThisRank);
    for (int rank = 0; rank < world_size; ++rank) {
      ranks.push_back(all_metrics(LossScope::kThisRank));
      for (int i = 0; i < 5 - rank; ++i) {
        const StepResult result = random_step(10 + rank, rank + 0.5);
        ASSERT_OK(ranks.back().update(result));
        ASSERT_OK(one_pass.update(result));
      }
    }
    const auto values = merged(ranks);
    EXPECT_EQ(ranks[0].examples(), one_pass.examples());
    EXPECT_EQ(values.size(), 11);
    for (const auto& [name, expected] : one_pass.compute()) {
      EXPECT_NEAR(values.at(name), expected, 1e-12) << name;
    }
    EXPECT_EQ(values.at("click/auc"), one_pass.compute().at("click/auc"));
    EXPECT_EQ(values.at("buy/auc"), one_pass.compute().at("buy/auc"));
  }
}

TEST(MetricSetTest, OverRanksOneThatSawNothingGetsTheSame) {
  at::manual_seed(2);
  std::vector<MetricSet> ranks;
  for (int rank = 0; rank < 3; ++rank) ranks.push_back(all_metrics(LossScope::kThisRank));
  ASSERT_OK(ranks[1].update(random_step(50, 2)));
  const auto expected = ranks[1].compute();
  EXPECT_EQ(merged(ranks), expected);
}

TEST(MetricSetTest, OverRanksTheLossOfWholeStepsCountsOnce) {
  std::vector<MetricSet> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(all_metrics(LossScope::kWholeStep));
    StepResult result = step(1.5, at::full({4, 2}, 0.25 + 0.5 * rank), at::ones({4, 2}));
    result.examples = 8;  // of both ranks
    ASSERT_OK(ranks.back().update(result));
  }
  const auto values = merged(ranks);
  EXPECT_EQ(values.at("loss"), 1.5);
  EXPECT_EQ(ranks[1].examples(), 8);
  EXPECT_EQ(values.at("click/mean"), 0.5) << "of all predictions";
}

TEST(MetricSetTest, OverRanksLossesOfTasks) {
  for (const LossScope scope : {LossScope::kThisRank, LossScope::kWholeStep}) {
    std::vector<MetricSet> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(all_metrics(scope));
    const StepResult whole = step_of_tasks({3, 8}, {6, 1});
    for (int rank = 0; rank < 2; ++rank) {
      const bool of_rank = scope == LossScope::kThisRank;
      ASSERT_OK(ranks[rank].update(!of_rank   ? whole
                                   : rank > 0 ? step_of_tasks({2, 0}, {4, 0})
                                              : step_of_tasks({5, 8}, {2, 1})));
    }
    if (scope == LossScope::kWholeStep) {
      ASSERT_OK(ranks[2].update(whole));
    }
    const auto values = merged(ranks);
    EXPECT_EQ(values.at("click/loss"), 3);
    EXPECT_EQ(values.at("buy/loss"), 8);
    EXPECT_EQ(values.at("loss"), 11);
  }
}

TEST(MetricSetTest, SavedLossesOfTasks) {
  MetricSet set = *MetricSet::create({"mean"}, {"click", "buy"});
  ASSERT_OK(set.update(step_of_tasks({1, 4}, {3, 1})));
  const std::string good = set.save();
  const auto values = set.compute();
  ASSERT_OK(set.load_ranks({good}));
  EXPECT_EQ(set.save(), good);
  EXPECT_EQ(set.compute(), values);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(set.load_ranks({absl::string_view(good).substr(0, size)}),
                StatusIs(absl::StatusCode::kDataLoss))
        << size;
  }
}

TEST(MetricSetTest, RanksWithOtherMetrics) {
  MetricSet here = *MetricSet::create({"auc", "mean"}, {"click"});
  const std::string same = here.save();
  const auto expect_refused = [&](const std::vector<std::string>& metrics,
                                  const std::vector<std::string>& tasks, const char* what) {
    const std::string other = MetricSet::create(metrics, tasks)->save();
    EXPECT_THAT(
        here.load_ranks({same, other}),
        StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("rank 1"), HasSubstr(what))));
  };
  expect_refused({"auc"}, {"click"}, "they are 1, but here there are 2");
  expect_refused({"mean", "auc"}, {"click"}, "\"mean\" is where here \"auc\" is");
  expect_refused({"auc"}, {"click", "buy"}, "click/auc");
}

TEST(MetricSetTest, BytesThatAreNone) {
  MetricSet set = *MetricSet::create({"auc", "mean"}, {"click"});
  ASSERT_OK(set.update(two(1)));
  const std::string good = set.save();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(set.load_ranks({good, absl::string_view(good).substr(0, size)}),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("rank 1")))
        << size;
    EXPECT_EQ(set.examples(), 0) << "nothing is kept";
  }
  EXPECT_THAT(set.load_ranks({good + "x"}), StatusIs(absl::StatusCode::kDataLoss));
  for (uint64_t i = 0; i < 2000; ++i) {
    const PhiloxBlock bits = philox(i, 4, 0);
    std::string changed = good;
    changed[bits[0] % changed.size()] = static_cast<char>(bits[1]);
    const absl::Status status = set.load_ranks({changed});
    if (status.ok()) continue;
    EXPECT_TRUE(absl::IsDataLoss(status) || absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(set.examples(), 0);
  }
}

}  // namespace
}  // namespace millrace
