// Warnings about training and evaluations whose figures look wrong.
#ifndef MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_
#define MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "framework/report/slice_metrics.h"
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

struct EvaluationWarning {
  std::string subject;  // what is wrong, the same in each evaluation of a set
  std::string text;
};

// Returns a warning for
//   * each table whose lookups are mostly of ids without a row;
//   * each task whose labels are known and have one value, so that auc or, without auc, ne does not
//     exist;
//   * each feature with slices of texts that no example has.
// `tasks`: the names of the labels; `slices`: of the evaluation.
std::vector<EvaluationWarning> check_evaluation(const EvaluationResult& result,
                                                absl::Span<const std::string> tasks,
                                                absl::Span<const SliceOptions> slices);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_REPORT_WATCH_H_
