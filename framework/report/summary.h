// Summary of a run.
#ifndef MILLRACE_FRAMEWORK_REPORT_SUMMARY_H_
#define MILLRACE_FRAMEWORK_REPORT_SUMMARY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/progress.h"
#include "hook/hook_statistics.h"

namespace millrace {

enum class Outcome {
  kCompleted,  // the data or a limit ended it
  kStopped,    // a hook asked for it
  kFailed,
};

// The best score of a run.
struct BestSummary {
  double value = 0;
  int64_t step = 0;
  std::string checkpoint;  // path of the step's checkpoint, in the folder of this run; "": none
  std::string score;       // what the value is, such as "eval/auc, higher is better"
};

// Wall time of one run by phase, on the trainer's thread of this rank.
struct RunTimes {
  absl::Duration data_wait = absl::ZeroDuration();  // for batches and windows, also of evaluations
  absl::Duration forward = absl::ZeroDuration();
  absl::Duration backward = absl::ZeroDuration();
  // Exchange of table rows, of gradient sums, and of the decision of all ranks.
  absl::Duration exchange = absl::ZeroDuration();
  absl::Duration update = absl::ZeroDuration();
  absl::Duration hooks = absl::ZeroDuration();
  absl::Duration evaluation = absl::ZeroDuration();
  absl::Duration checkpoint = absl::ZeroDuration();  // saving and loading
  absl::Duration other = absl::ZeroDuration();       // start and end, reports, between steps

  absl::Duration total() const {
    return data_wait + forward + backward + exchange + update + hooks + evaluation + checkpoint +
           other;
  }
};

// The report whose metrics are Summary::train.
struct ReportSummary {
  int64_t step = 0;      // its last one
  int64_t steps = 0;     // since the report before
  int64_t examples = 0;  // in these steps
};

struct Summary {
  Outcome outcome = Outcome::kFailed;
  std::string stop_reason;       // of a stop
  bool stopped_by_rank = false;  // one rank alone asked (a signal): run the job again
  std::string error;             // of a failure
  int64_t steps_begun = 0;       // in this run, including failed and refused steps
  Progress progress;             // totals over resumes
  int64_t examples_this_run = 0;
  absl::Duration elapsed_this_run = absl::ZeroDuration();  // training, without evaluations
  int world_size = 1;
  std::string checkpoint;        // the newest one saved, or else resumed from; "": none
  int64_t dropped_examples = 0;  // in this run, of all ranks, where uneven data ends with the first
  // Examples skipped as bad data in this run, on all ranks, or after a failure on this rank alone.
  int64_t bad_examples = 0;
  int64_t damaged_windows = 0;          // in this run, skipped as a whole
  std::map<std::string, double> train;  // metrics of the last report
  std::map<std::string, std::map<std::string, double>>
      eval;                                  // set → metrics of its last evaluation
  std::map<std::string, int64_t> eval_step;  // set → the step of its last evaluation
  // Set → EvaluationResult::unknown_shares of its last evaluation.
  std::map<std::string, std::map<std::string, double>> unknown_shares;
  std::optional<BestSummary> best;              // none: no score is kept, or no step has a score
  std::map<std::string, int64_t> rows;          // table → rows
  std::map<std::string, HookStatistics> hooks;  // hook → its cost in this run, on this rank
  RunTimes times;
  ReportSummary train_report;  // 0 steps: none
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SUMMARY_H_
