// Messages for a run that has no steps left.
#ifndef MILLRACE_JOB_RUN_END_H_
#define MILLRACE_JOB_RUN_END_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/progress.h"
#include "framework/loop/limits.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the limits of a configuration, where 0 is no limit, too.
Limits limits_of(const TrainConfig& config);

// Returns a sentence for each limit that is reached, with the progress of the run: "train.max_steps
// is 10, but this run stands at step 20 already". Empty if no limit ends training.
std::vector<std::string> reached_limits(const TrainConfig& config, const Progress& progress);

// Returns a text for a run that was finished before the start: how the run finished, and how to
// continue. `how`: Trainer::finished.
std::string finished_text(const TrainConfig& config, const Progress& progress,
                          absl::string_view how);

// Returns a text for a run that was not finished, and ended without a step.
std::string no_step_text(const TrainConfig& config, const Progress& progress);

}  // namespace millrace

#endif  // MILLRACE_JOB_RUN_END_H_
