// What a run came to.
#ifndef MILLRACE_FRAMEWORK_SUMMARY_H_
#define MILLRACE_FRAMEWORK_SUMMARY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/progress.h"
#include "framework/hook_statistics.h"

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
  std::string checkpoint;  // that of the step, in the folder of this run; "": none
};

// Where the wall time of one run went, on the trainer's thread of this rank.
struct RunTimes {
  absl::Duration data_wait = absl::ZeroDuration();  // for batches, also of evaluations, and windows
  absl::Duration forward = absl::ZeroDuration();
  absl::Duration backward = absl::ZeroDuration();
  // Rows of tables from other ranks, and the sums of gradients and the decision of all ranks.
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

struct Summary {
  Outcome outcome = Outcome::kFailed;
  std::string stop_reason;       // of a stop
  bool stopped_by_rank = false;  // the stop was one rank's own (a signal): run again
  std::string error;             // of a failure
  int64_t steps_begun = 0;       // in this run, failed and refused ones too
  Progress progress;             // totals over resumes
  int64_t examples_this_run = 0;
  absl::Duration elapsed_this_run = absl::ZeroDuration();  // training, without evaluations
  int world_size = 1;
  std::string checkpoint;        // the newest that was saved, or else resumed from; "": none
  int64_t dropped_examples = 0;  // in this run, of all ranks, where uneven data ends with the first
  int64_t bad_examples = 0;      // in this run, of this rank, left out as bad data
  int64_t damaged_windows = 0;   // in this run, left out as a whole
  std::map<std::string, double> train;  // metrics of the last report
  std::map<std::string, std::map<std::string, double>>
      eval;                                     // set → metrics of its last evaluation
  std::map<std::string, int64_t> eval_step;     // set → the step of that
  std::optional<BestSummary> best;              // none: no score is kept, or no step has had one
  std::map<std::string, int64_t> rows;          // table → rows
  std::map<std::string, HookStatistics> hooks;  // hook → what it cost this run, on this rank
  RunTimes times;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_SUMMARY_H_
