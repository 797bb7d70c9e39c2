// What to say to who starts a run that has nothing left to do.
#ifndef MILLRACE_JOB_RUN_END_H_
#define MILLRACE_JOB_RUN_END_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/progress.h"
#include "framework/loop/limits.h"
#include "proto/config.pb.h"

namespace millrace {

// The limits of a configuration, where 0 is none as well.
Limits limits_of(const TrainConfig& config);

// A sentence for each limit that is reached, with what the run stands at: "train.max_steps is 10,
// but this run stands at step 20 already". Empty if no limit ends training.
std::vector<std::string> reached_limits(const TrainConfig& config, const Progress& progress);

// Of a run that was finished before it was started: how it came to its end, and what would let it
// go on. `how`: Trainer::finished.
std::string finished_text(const TrainConfig& config, const Progress& progress,
                          absl::string_view how);

// Of one that was not, and ended without a step.
std::string no_step_text(const TrainConfig& config, const Progress& progress);

}  // namespace millrace

#endif  // MILLRACE_JOB_RUN_END_H_
