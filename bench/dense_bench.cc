#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "bench/benchmark.h"
#include "bench/flag_checks.h"
#include "bench/matrix_products.h"
#include "bench/measured_window.h"
#include "bench/memory_dataset.h"
#include "config/training_size.h"
#include "framework/trainer.h"
#include "hook/hook.h"
#include "job/checked_job.h"
#include "job/generated_data.h"
#include "job/job.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr int64_t kBatches = 8;  // used in turn
constexpr int64_t kDenseWarmUpSteps = 2 * kBatches;

// Figures of one window of steps and of the following window of matrix products.
struct StepWindow {
  MeasuredWindow::Figures steps;
  MeasuredWindow::Figures products;
  int64_t count = 0;     // number of steps, and of computations of the products
  int64_t examples = 0;  // of all steps
  StepTimings phases;    // of all steps
};

// Measures the steps of a run. Warms up, records the matrix products of one step, finds the number
// of steps in kWindowSeconds, and then measures windows of steps and windows of products,
// alternating. Products are computed between two steps. Stops the run after the last window.
class StepMeasurement : public Hook {
 public:
  // `steps`: the number of steps of a window; 0: as many as take kWindowSeconds.
  StepMeasurement(int64_t windows, int64_t steps) : windows_due_(windows), steps_(steps) {}

  absl::string_view name() const override { return "step_measurement"; }

  absl::Status before_step(HookContext& context) override {
    if (context.progress().step == kDenseWarmUpSteps) recorder_.emplace();
    return absl::OkStatus();
  }

  absl::Status after_step(HookContext& context, const StepResult& result) override {
    if (!result.applied) {
      return absl::FailedPreconditionError(
          absl::StrCat("the job refused step ", context.progress().step + 1, ": ", result.refused));
    }
    if (recorder_.has_value()) return end_recording();
    if (!open_.has_value()) return absl::OkStatus();  // warm-up
    ++current_.count;
    current_.examples += result.examples;
    current_.phases.forward += result.timings.forward;
    current_.phases.backward += result.timings.backward;
    current_.phases.update += result.timings.update;
    if (current_.count < (steps_ > 0 ? steps_ : kBatches)) return absl::OkStatus();
    return end_window(context);
  }

  const std::vector<StepWindow>& windows() const { return windows_; }
  const std::vector<MatrixProduct>& products() const { return products_; }

 private:
  absl::Status end_recording() {
    products_ = recorder_->stop();
    recorder_.reset();
    return begin_window();
  }

  absl::Status begin_window() {
    current_ = StepWindow();
    ASSIGN_OR_RETURN(open_, MeasuredWindow::begin());
    return absl::OkStatus();
  }

  absl::Status end_window(HookContext& context) {
    ASSIGN_OR_RETURN(current_.steps, open_->end());
    if (steps_ == 0) {  // a trial
      const double rounds = std::ceil(kWindowSeconds / current_.steps.seconds);
      steps_ = kBatches * std::max<int64_t>(1, static_cast<int64_t>(rounds));
      return begin_window();
    }
    ASSIGN_OR_RETURN(const MeasuredWindow window, MeasuredWindow::begin());
    for (int64_t i = 0; i < current_.count; ++i) {
      for (const MatrixProduct& product : products_) product.run();
    }
    ASSIGN_OR_RETURN(current_.products, window.end());
    windows_.push_back(current_);
    if (static_cast<int64_t>(windows_.size()) < windows_due_) return begin_window();
    open_.reset();
    context.requests().stop("everything is measured");
    return absl::OkStatus();
  }

  const int64_t windows_due_;
  int64_t steps_;  // of a window; 0: not known yet
  std::optional<MatrixProductRecorder> recorder_;
  std::vector<MatrixProduct> products_;
  std::optional<MeasuredWindow> open_;
  StepWindow current_;
  std::vector<StepWindow> windows_;
};

absl::Status set_batch_size(int64_t batch, TrainConfig& train) {
  RETURN_IF_ERROR(check_at_least("batch", batch, 0));
  if (batch == 0) return absl::OkStatus();
  if (train.global_batch_size() > 0) {
    train.set_global_batch_size(batch);
  } else {
    train.mutable_train_data()->set_batch_size(batch);
  }
  return absl::OkStatus();
}

absl::Status set_compute(const std::string& compute, JobConfig& config) {
  if (compute.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(
      apply_override(absl::StrCat("train.precision.compute=", absl::AsciiStrToUpper(compute)),
                     &config),
      "--compute");
  PrecisionConfig& precision = *config.mutable_train()->mutable_precision();
  if (precision.compute() != PrecisionConfig::FLOAT16) precision.clear_loss_scale();
  return absl::OkStatus();
}

// Returns the job of --config with the changes of all flags.
absl::StatusOr<CheckedJob> read_job(const BenchmarkFlags& flags) {
  if (flags.config.empty()) {
    return absl::InvalidArgumentError("this benchmark trains a job: give --config FILE");
  }
  const auto change = [&](JobConfig* config) -> absl::Status {
    for (const std::string& assignment : flags.set) {
      RETURN_IF_ERROR(apply_override(assignment, config), "--set");
    }
    RETURN_IF_ERROR(set_compute(flags.dense.compute, *config));
    RETURN_IF_ERROR(set_batch_size(flags.dense.batch, *config->mutable_train()));
    config->mutable_run()->set_threads(static_cast<int32_t>(flags.threads));
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const CheckedJob job,
                   CheckedJob::load(FileSystem::local(), flags.config,
                                    {.use = CheckedJob::Use::kModel, .change = change}));
  if (job.train().train_data().has_windows()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.config,
                     ": this benchmark reads the first batches of an epoch, and train_data has "
                     "windows; give a configuration with the path of some of its files"));
  }
  // Writes the data before the measurement begins.
  RETURN_IF_ERROR(make_generated_data(FileSystem::local(), job.train()).status());
  return job;
}

absl::StatusOr<std::unique_ptr<Trainer>> make_trainer(const CheckedJob& job) {
  ASSIGN_OR_RETURN(const StepSize size, step_size(job.train(), /*ranks=*/1), "train");
  const auto keep_in_memory =
      [&](std::unique_ptr<Dataset> configured) -> absl::StatusOr<std::unique_ptr<Dataset>> {
    ASSIGN_OR_RETURN(std::vector<Batch> batches,
                     read_full_batches(*configured, kBatches, size.batch_size));
    return std::make_unique<MemoryDataset>(std::move(batches));
  };
  return build_step_trainer(job, {}, keep_in_memory);
}

double milliseconds_of(absl::Duration duration, int64_t count) {
  return absl::ToDoubleMilliseconds(duration) / static_cast<double>(count);
}

void print_windows(const std::vector<StepWindow>& windows, double operations,
                   const std::map<std::string, std::string>& parameters,
                   const PrintMeasurement& print) {
  Measurement rate{"dense/examples_per_second", parameters, "examples/s", true, {}};
  Measurement step{"dense/step", parameters, "ms", false, {}};
  Measurement products{"dense/matrix_products", parameters, "ms", false, {}};
  Measurement share{"dense/matrix_product_share", parameters, "share of the step", true, {}};
  Measurement speed{"dense/matrix_product_speed", parameters, "GFLOP/s", true, {}};
  Measurement forward{"dense/forward", parameters, "ms", false, {}};
  Measurement backward{"dense/backward", parameters, "ms", false, {}};
  Measurement update{"dense/update", parameters, "ms", false, {}};
  Measurement rest{"dense/rest", parameters, "ms", false, {}};
  Measurement foreign{"dense/foreign", parameters, "cores", false, {}};
  Measurement stolen{"dense/stolen", parameters, "cores", false, {}};
  for (const StepWindow& window : windows) {
    const double count = static_cast<double>(window.count);
    rate.values.push_back(static_cast<double>(window.examples) / window.steps.seconds);
    step.values.push_back(1e3 * window.steps.seconds / count);
    products.values.push_back(1e3 * window.products.seconds / count);
    share.values.push_back(window.products.seconds / window.steps.seconds);
    speed.values.push_back(1e-9 * operations * count / window.products.seconds);
    forward.values.push_back(milliseconds_of(window.phases.forward, window.count));
    backward.values.push_back(milliseconds_of(window.phases.backward, window.count));
    update.values.push_back(milliseconds_of(window.phases.update, window.count));
    // The rest is the time that no phase has, such as the loop of the trainer.
    rest.values.push_back(step.values.back() - forward.values.back() - backward.values.back() -
                          update.values.back());
    // Other programs may have disturbed either window, so the larger figure counts.
    foreign.values.push_back(std::max(window.steps.foreign_cores, window.products.foreign_cores));
    stolen.values.push_back(std::max(window.steps.stolen_cores, window.products.stolen_cores));
  }
  for (const Measurement* each : {&rate, &step, &products, &share, &speed, &forward, &backward,
                                  &update, &rest, &foreign, &stolen}) {
    print(*each);
  }
}

}  // namespace

absl::Status bench_dense(const BenchmarkFlags& flags, const PrintMeasurement& print) {
  ASSIGN_OR_RETURN(const CheckedJob job, read_job(flags));
  ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer, make_trainer(job));
  auto owned = std::make_unique<StepMeasurement>(flags.repeats, flags.steps);
  const StepMeasurement& measurement = *owned;  // the trainer outlives its use
  RETURN_IF_ERROR(trainer->add_hook(std::move(owned)));
  RETURN_IF_ERROR(trainer->train().status());
  double operations = 0;
  for (const MatrixProduct& product : measurement.products()) operations += product.operations();
  const std::vector<StepWindow>& windows = measurement.windows();
  const int64_t examples = windows[0].examples / windows[0].count;
  print_windows(windows, operations,
                {{"config", flags.config},
                 {"batch", absl::StrCat(examples)},
                 {"compute", absl::AsciiStrToLower(
                                 PrecisionConfig::Compute_Name(job.train().precision().compute()))},
                 {"threads", absl::StrCat(flags.threads)}},
                print);
  return absl::OkStatus();
}

}  // namespace millrace
