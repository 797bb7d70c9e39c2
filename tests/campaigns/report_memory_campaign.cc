#include "tests/campaigns/report_memory_campaign.h"

#include <sys/resource.h>

#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "framework/trainer.h"
#include "hook/hook.h"
#include "job/checked_job.h"
#include "job/job.h"
#include "job/job_checkpoints.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr int64_t kExamples = 64;

constexpr char kJob[] = R"(
  train {
    train_data { batch_size: 8 }
    feature { name: "label" kind: LABEL }
    feature { name: "user" kind: GROUP_ID }
    feature { name: "d" kind: DENSE }
    feature { name: "c" }
    table { name: "c" dim: 4 }
    model { name: "deepfm" [millrace.deepfm] { hidden: [4] } }
    metric: ["auc", "logloss", "ne", "calibration", "auc_buckets", "calibration_error", "gauc"]
    custom_metric { name: "auc_buckets" [millrace.auc_buckets] { buckets: 1000 } }
    slice { feature: "c" max_ids: 2 metric: "logloss" }
    max_epochs: 0
  }
  run {
    threads: 1
    checkpoint { when { every_steps: 1000000000 } keep_last: 1 }
    log { style: LINES }
    report { when { every_steps: 1 } span: [EPOCH, TOTAL, MOVING] }
    sink { csv {} }
    sink { tensorboard {} }
    sink { prometheus { port: 0 } }
  })";

// Takes samples at reports, and reports the late value.
class SampleHook : public Hook {
 public:
  SampleHook(const ReportMemoryOptions& options,
             const std::function<void(const MemorySample&)>& sample)
      : options_(options), sample_(sample) {}
  absl::string_view name() const override { return "sample"; }
  absl::Status after_step(HookContext& context, const StepResult&) override {
    if (context.progress().step >= options_.reports * 9 / 10) context.report("late", 1);
    return absl::OkStatus();
  }
  absl::Status after_report(HookContext&, const Report& report) override {
    const int64_t step = report.progress.step;  // each step has a report
    if (step % options_.sample_every != 0) return absl::OkStatus();
    rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return absl::UnavailableError("getrusage failed");
    sample_({step, report.process.resident_bytes, int64_t{usage.ru_maxrss} << 10});
    return absl::OkStatus();
  }

 private:
  const ReportMemoryOptions& options_;
  const std::function<void(const MemorySample&)>& sample_;
};

absl::Status write_data(const std::string& path) {
  std::string rows = "label,user,d,c\n";
  for (int64_t i = 0; i < kExamples; ++i) {
    absl::StrAppend(&rows, i % 3 == 0 ? 1 : 0, ",", i % 9, ",", i % 7, ",", i % 5, "\n");
  }
  return write_file_atomically(FileSystem::local(), path, rows);
}

absl::Status train(JobConfig config, int64_t max_steps, const ReportMemoryOptions& options,
                   const std::function<void(const MemorySample&)>& sample) {
  config.mutable_train()->set_max_steps(max_steps);
  std::ofstream console(join_path(options.directory, "console.txt"), std::ios::app);
  JobResources resources;
  resources.log = &console;
  ASSIGN_OR_RETURN(const CheckedJob job,
                   CheckedJob::check(FileSystem::local(), std::move(config), "the campaign"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, build_trainer(job, resources));
  RETURN_IF_ERROR(trainer->add_hook(std::make_unique<SampleHook>(options, sample)));
  RETURN_IF_ERROR(
      resume_training(job.config(), FileSystem::local(), *trainer, /*print=*/false).status());
  return trainer->train().status();
}

}  // namespace

absl::Status run_report_memory(const ReportMemoryOptions& options,
                               const std::function<void(const MemorySample&)>& sample) {
  const std::string data = join_path(options.directory, "data.csv");
  RETURN_IF_ERROR(write_data(data));
  JobConfig config;
  RETURN_IF_ERROR(parse_text(kJob, "the campaign", &config));
  config.mutable_train()->mutable_train_data()->add_path(data);
  config.mutable_run()->set_output_dir(join_path(options.directory, "out"));
  RETURN_IF_ERROR(train(config, options.reports * 3 / 4, options, sample));
  return train(config, options.reports, options, sample);
}

}  // namespace millrace
