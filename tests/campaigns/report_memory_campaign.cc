#include "tests/campaigns/report_memory_campaign.h"

#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "config/config_check.h"
#include "framework/hook.h"
#include "framework/trainer.h"
#include "job/job.h"
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
    checkpoint { enabled: false }
    log { style: LINES }
    report { when { every_steps: 1 } span: [EPOCH, TOTAL, MOVING] }
    sink { csv {} }
    sink { tensorboard {} }
    sink { prometheus { port: 0 } }
  })";

// Takes samples at reports.
class SampleHook : public Hook {
 public:
  SampleHook(int64_t every, const std::function<void(const MemorySample&)>& sample)
      : every_(every), sample_(sample) {}
  absl::string_view name() const override { return "sample"; }
  absl::Status after_report(HookContext&, const Report& report) override {
    if (++reports_ % every_ == 0) sample_({reports_, report.process.resident_bytes});
    return absl::OkStatus();
  }

 private:
  const int64_t every_;
  const std::function<void(const MemorySample&)>& sample_;
  int64_t reports_ = 0;
};

absl::Status write_data(const std::string& path) {
  std::string rows = "label,user,d,c\n";
  for (int64_t i = 0; i < kExamples; ++i) {
    absl::StrAppend(&rows, i % 3 == 0 ? 1 : 0, ",", i % 9, ",", i % 7, ",", i % 5, "\n");
  }
  return write_file_atomically(FileSystem::local(), path, rows);
}

}  // namespace

absl::Status run_report_memory(const ReportMemoryOptions& options,
                               const std::function<void(const MemorySample&)>& sample) {
  const std::string data = join_path(options.directory, "data.csv");
  RETURN_IF_ERROR(write_data(data));
  JobConfig config;
  RETURN_IF_ERROR(parse_text(kJob, "the campaign", &config));
  config.mutable_train()->mutable_train_data()->add_path(data);
  config.mutable_train()->set_max_steps(options.reports);
  config.mutable_run()->set_output_dir(join_path(options.directory, "out"));
  expand_names(config.mutable_train());
  RETURN_IF_ERROR(validate(config));
  std::ofstream console(join_path(options.directory, "console.txt"));
  JobResources resources;
  resources.log = &console;
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, build_trainer(config, resources));
  RETURN_IF_ERROR(trainer->add_hook(std::make_unique<SampleHook>(options.sample_every, sample)));
  return trainer->train().status();
}

}  // namespace millrace
