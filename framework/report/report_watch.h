// Warnings about training whose reports look wrong.
#ifndef MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_
#define MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hook/events.h"

namespace millrace {

// Examines the reports of a run for data and options that cannot train a model although no step
// fails: labels of one class, a frozen table of other ids, and a loss that ends far above its
// start.
class ReportWatch {
 public:
  // `tasks`: the names of the labels.
  explicit ReportWatch(std::vector<std::string> tasks) : tasks_(std::move(tasks)) {}

  void begin_run();
  // Examines a report of at least 100 examples. Returns a warning for
  //   * each task whose labels have one value in the first report, so that auc and ne do not exist;
  //   * each table, once, whose lookups are mostly of ids without a row although each id is
  //     admitted: a frozen table that does not know the ids of the data.
  std::vector<std::string> add(const Report& report);
  // Returns a warning if the loss of the last report is more than 3 times that of the first one,
  // or if a logloss of the last report is above 1: the predictions are worse than 0.5 for each
  // example, which gives ln 2. Ignores reports of less than 100 examples, and of less than half of
  // the steps of the report before.
  std::optional<std::string> end() const;

 private:
  std::vector<std::string> tasks_;
  bool examined_labels_ = false;
  std::map<std::string, double> first_, last_;  // metrics; empty: no report yet
  int64_t last_steps_ = 0;
  std::set<std::string> warned_tables_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_
