#include "tests/resume/metric_job.h"

#include <torch/types.h>

#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "framework/model/model.h"
#include "framework/model/model_parts.h"
#include "framework/trainer.h"
#include "metrics/metric.h"
#include "metrics/metric_registry.h"
#include "optim/dense_optimizer_factory.h"
#include "proto/metric_options.pb.h"
#include "tests/fakes/fake_dataset.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/fake_windowed_dataset.h"

namespace millrace {
namespace {

// Replaces the examples of a fake dataset by metric_example().
template <typename Fake>
class MetricData : public Fake {
 public:
  using Fake::Fake;

  absl::StatusOr<std::optional<Batch>> next() override {
    ASSIGN_OR_RETURN(std::optional<Batch> batch, Fake::next());
    if (batch.has_value()) fill(*batch);
    return batch;
  }

 private:
  static void fill(Batch& batch) {
    const Cursor& cursor = batch.cursor;
    const int64_t pass = cursor.stream.has_value() ? cursor.stream->window : cursor.epoch;
    batch.labels = at::empty({batch.size, 2});
    batch.weights = at::empty({batch.size});
    batch.group_ids = at::empty({batch.size}, at::kLong);
    std::vector<int64_t> ids, offsets = {0};
    for (int64_t row = 0; row < batch.size; ++row) {
      const int64_t place = batch.example_ids.const_data_ptr<int64_t>()[row];
      const MetricExample example = metric_example(pass, place);
      for (size_t task = 0; task < 2; ++task) {
        const size_t cell = 2 * static_cast<size_t>(row) + task;
        batch.dense.mutable_data_ptr<float>()[cell] = example.predictions[task];
        batch.labels.mutable_data_ptr<float>()[cell] = example.labels[task];
      }
      batch.weights.mutable_data_ptr<float>()[row] = example.weight;
      batch.group_ids.mutable_data_ptr<int64_t>()[row] = example.group;
      if (example.slice.has_value()) ids.push_back(*example.slice);
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
    batch.sparse.values = at::tensor(ids, at::kLong);
    batch.sparse.offsets = at::tensor(offsets, at::kLong);
  }
};

// Predicts the dense columns. The loss is the squared error, on which the parameter has no effect.
class ColumnModel : public Model {
 public:
  ColumnModel() { weight_ = register_parameter("weight", torch::ones({1})); }

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    const at::Tensor errors = batch.dense - batch.labels;
    return ModelOutput{.loss = errors.square().nan_to_num().sum(0) + 0 * weight_,
                       .predictions = batch.dense};
  }
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
    const at::Tensor counts = batch.labels.isnan().logical_not().sum(0);
    return std::vector<int64_t>{counts[0].item<int64_t>(), counts[1].item<int64_t>()};
  }

 private:
  at::Tensor weight_;
};

// The outcome of a rank of a run so far.
struct RankRun {
  std::vector<MetricReport> reports;
  std::vector<size_t> reports_at_points;
  std::vector<MemoryCheckpoint> points;
};

// Records reports and requests a checkpoint after each step.
class ReportsHook : public Hook {
 public:
  explicit ReportsHook(RankRun& run) : run_(run) {}
  absl::string_view name() const override { return "reports"; }
  absl::Status after_step(HookContext& context, const StepResult&) override {
    context.requests().checkpoint();
    return absl::OkStatus();
  }
  absl::Status after_report(HookContext&, const Report& report) override {
    run_.reports.push_back({report.progress.step, report.steps, report.metrics});
    return absl::OkStatus();
  }

 private:
  RankRun& run_;
};

TrainerOptions trainer_options(const MetricJob& job) {
  TrainerOptions options;
  options.micro_batches = job.micro_batches;
  options.max_epochs = job.windows ? 0 : kMetricPasses;
  options.save_at_end = false;
  options.report = {.every_steps = 2, .every_epochs = 1, .every_windows = 1, .at_end = true};
  options.tasks = {kMetricTasks[0], kMetricTasks[1]};
  options.metrics = all_metrics();
  CustomConfig& buckets = options.metric_configs.emplace_back();
  buckets.set_name("auc_buckets");
  buckets.MutableExtension(auc_buckets)->set_buckets(kAucBuckets);
  options.slices = {{.name = "country", .max_ids = kMostSlices, .metrics = slice_metrics()}};
  options.spans = {.spans = {ReportConfig::EPOCH, ReportConfig::TOTAL, ReportConfig::MOVING},
                   .moving_reports = kMovingReports};
  if (job.windows) options.spans.spans[0] = ReportConfig::WINDOW;
  return options;
}

absl::StatusOr<TrainerParts> trainer_parts(const MetricJob& job, int rank) {
  TrainerParts parts;
  parts.model = std::make_shared<ColumnModel>();
  DenseOptimizerConfig config;
  config.set_learning_rate(0.1);
  config.mutable_sgd();
  ASSIGN_OR_RETURN(std::unique_ptr<DenseOptimizer> optimizer,
                   create_dense_optimizer(config, parameters_of(*parts.model)));
  parts.dense_optimizers.push_back(std::move(optimizer));
  FakeDatasetOptions data;
  data.batches = kMetricSteps * job.micro_batches;
  data.batch_size = kMetricStepExamples / job.micro_batches;
  data.rank = rank;
  data.world_size = job.ranks;
  if (job.windows) {
    const std::vector<FakeWindow> windows(kMetricPasses, FakeWindow{.batches = data.batches});
    parts.train_data = std::make_unique<MetricData<FakeWindowedDataset>>(data, windows);
  } else {
    parts.train_data = std::make_unique<MetricData<FakeDataset>>(data);
  }
  return parts;
}

absl::Status restore(const MetricPoint& point, Trainer& trainer) {
  ASSIGN_OR_RETURN(const TrainState target, trainer.capture());
  std::vector<const MemoryCheckpoint*> ranks;
  for (const MemoryCheckpoint& rank : point.ranks) ranks.push_back(&rank);
  std::vector<std::string> notes;
  return trainer.restore(MemoryCheckpoint::load(target, ranks), &notes);
}

absl::Status train_rank(const MetricJob& job, const MetricPoint* point,
                        std::unique_ptr<Collectives> collectives, RankRun& run) {
  FakeClock clock;
  ASSIGN_OR_RETURN(TrainerParts parts, trainer_parts(job, collectives->rank()));
  parts.collectives = std::move(collectives);
  parts.clock = &clock;
  parts.saver = std::make_unique<FakeSaver>(
      [&](const TrainState& state, const auto&) -> absl::StatusOr<CheckpointInfo> {
        run.points.emplace_back(state);
        run.reports_at_points.push_back(run.reports.size());
        return CheckpointInfo();
      });
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                   Trainer::create(trainer_options(job), std::move(parts)));
  RETURN_IF_ERROR(trainer->add_hook(std::make_unique<ReportsHook>(run)));
  if (point != nullptr) RETURN_IF_ERROR(restore(*point, *trainer));
  return trainer->train().status();
}

}  // namespace

MetricExample metric_example(int64_t pass, int64_t place) {
  const auto random = [&](uint64_t purpose) {
    return philox(static_cast<uint64_t>(pass), purpose, static_cast<uint64_t>(place))[0];
  };
  MetricExample example;
  // Neither number is a bound of a bucket.
  example.predictions = {(static_cast<float>(random(0) % 16) + 0.5f) / 16, uniform24(random(1))};
  for (size_t task = 0; task < 2; ++task) {
    const bool missing = random(2 + task) % (task == 0 ? 8 : 3) == 0;
    const bool positive = uniform24(random(4 + task)) < 0.2f + 0.6f * example.predictions[task];
    example.labels[task] = missing    ? std::numeric_limits<float>::quiet_NaN()
                           : positive ? 1.0f
                                      : 0.0f;
  }
  example.weight = static_cast<float>(random(6) % 9) / 4;
  example.group = static_cast<int64_t>(random(7) % 9) - 3;
  if (random(8) % 5 > 0) example.slice = static_cast<int64_t>(random(9) % 40);
  return example;
}

std::vector<std::string> all_metrics() {
  std::vector<std::string> names = {"mrr@3"};
  for (const std::string& name : metric_names()) {
    absl::string_view base = name;
    const bool has_cutoff = absl::ConsumeSuffix(&base, "_at");
    names.push_back(has_cutoff ? absl::StrCat(base, "@3") : name);
  }
  return names;
}

std::vector<std::string> slice_metrics() { return {"auc", "gauc", "logloss", "recall@3"}; }

std::string to_text(const std::vector<MetricReport>& reports) {
  std::string text;
  for (const MetricReport& report : reports) {
    absl::StrAppend(&text, "step ", report.step, ", ", report.steps, " steps\n");
    for (const auto& [name, value] : report.metrics) {
      absl::StrAppendFormat(&text, "  %s %a\n", name, value);
    }
  }
  return text;
}

absl::StatusOr<MetricRun> run_metric_job(const MetricJob& job, const MetricPoint* point) {
  std::vector<RankRun> ranks(static_cast<size_t>(job.ranks));
  const std::vector<absl::Status> outcomes =
      run_thread_ranks({.world_size = job.ranks, .inject = job.inject},
                       [&](std::unique_ptr<Collectives> collectives) {
                         RankRun& run = ranks[static_cast<size_t>(collectives->rank())];
                         return train_rank(job, point, std::move(collectives), run);
                       });
  for (const absl::Status& outcome : outcomes) RETURN_IF_ERROR(outcome);
  MetricRun run;
  for (size_t i = 0; i < ranks[0].points.size(); ++i) {
    MetricPoint& point = run.points.emplace_back();
    point.reports = ranks[0].reports_at_points[i];
    for (RankRun& rank : ranks) point.ranks.push_back(std::move(rank.points[i]));
  }
  for (const RankRun& rank : ranks) {
    if (to_text(rank.reports) != to_text(ranks[0].reports)) {
      return absl::InternalError("ranks report different bits");
    }
  }
  run.reports = std::move(ranks[0].reports);
  return run;
}

}  // namespace millrace
