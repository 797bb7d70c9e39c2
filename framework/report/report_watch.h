// Warnings about training whose reports look wrong.
#ifndef MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_
#define MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/events.h"

namespace millrace {

// Examines the reports of a run for data and options that cannot train a model although no step
// fails: labels of one class, and a loss that ends far above its start.
class ReportWatch {
 public:
  // `tasks`: the names of the labels.
  explicit ReportWatch(std::vector<std::string> tasks) : tasks_(std::move(tasks)) {}

  void begin_run();
  // Examines a report. Returns a warning for each task whose labels have one value in the first
  // report, so that auc and ne do not exist. Returns none for a report of less than 100 examples.
  std::vector<std::string> add(const Report& report);
  // Returns a warning if the loss of the last report is more than 3 times that of the first one,
  // or if an ne of the last report is above 3: the predictions are worse than a constant.
  std::optional<std::string> end() const;

 private:
  std::vector<std::string> tasks_;
  bool examined_labels_ = false;
  std::optional<Report> first_, last_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_
