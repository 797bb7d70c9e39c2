// A separate program that trains from a configuration. The program has no commands and no flags.
// Its models are the linked models. It adds a hook in code, and registers a schedule that the
// configuration may name.
#include <cmath>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "framework/report/summary.h"
#include "framework/trainer.h"
#include "hook/hook.h"
#include "job/checked_job.h"
#include "job/generated_data.h"
#include "job/job.h"
#include "optim/schedule/schedule_registry.h"

namespace millrace {
namespace {

// Writes the metrics and learning rates of each report to a stream of the program.
class ReportPrinter : public Hook {
 public:
  explicit ReportPrinter(std::ostream& out) : out_(out) {}
  absl::string_view name() const override { return "report_printer"; }
  absl::Status after_report(HookContext&, const Report& report) override {
    out_ << "step " << report.progress.step;
    for (const auto& [name, value] : report.metrics) out_ << "  " << name << " " << value;
    for (const auto& [name, rate] : report.learning_rates) out_ << "  " << name << " rate " << rate;
    out_ << "\n";
    return absl::OkStatus();
  }

 private:
  std::ostream& out_;
};

// Halves the learning rate after each unit, such as an epoch.
class HalvingSchedule : public Schedule {
 public:
  explicit HalvingSchedule(const ScheduleInput& input)
      : Schedule(input.unit), learning_rate_(input.learning_rate) {}
  double rate_at(double position) const override {
    return learning_rate_ * std::exp2(-std::floor(position));
  }

 private:
  const double learning_rate_;
};
MILLRACE_REGISTER_SCHEDULE(halving, "halves the rate after each unit",
                           [](const CustomConfig&, const ScheduleInput& input) {
                             return std::make_unique<HalvingSchedule>(input);
                           });

absl::StatusOr<Summary> train(const std::string& path) {
  FileSystem& files = FileSystem::local();
  ASSIGN_OR_RETURN(const CheckedJob job, CheckedJob::load(files, path));
  RETURN_IF_ERROR(make_generated_data(files, job.train()).status());
  JobResources resources;
  resources.log = &std::cerr;
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, build_trainer(job, resources));
  RETURN_IF_ERROR(trainer->add_hook(std::make_unique<ReportPrinter>(std::cout)));
  return trainer->train();
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: own_program CONFIGURATION\n";
    return 64;
  }
  const absl::StatusOr<millrace::Summary> summary = millrace::train(argv[1]);
  if (!summary.ok()) {
    std::cerr << summary.status() << "\n";
    return 1;
  }
  std::cout << "steps " << summary->progress.step << "\n";
  return 0;
}
