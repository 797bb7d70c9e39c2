// Reports whose figures are all different numbers.
#ifndef MILLRACE_FRAMEWORK_REPORT_NUMBERED_REPORTS_TESTING_H_
#define MILLRACE_FRAMEWORK_REPORT_NUMBERED_REPORTS_TESTING_H_

#include <vector>

#include "hook/events.h"

namespace millrace {

// A report or an evaluation of step 10, with the numbers that a sink of all figures must hold: one
// for each figure of report_figures.h except progress, each metric, each value, each learning rate
// and each reason of evictions. All numbers are different integers above 1000, and exact in
// float32.
struct NumberedReport {
  Report report;
  std::vector<double> numbers;
};
NumberedReport numbered_report();

struct NumberedEvaluation {
  EvaluationResult result;
  std::vector<double> numbers;
};
NumberedEvaluation numbered_evaluation();

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_NUMBERED_REPORTS_TESTING_H_
