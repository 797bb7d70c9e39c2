// Rules of a configuration as a whole. The rules of a message are next to the class that it
// configures, in a file *_check.h; rules of messages without such a class are here.
#ifndef MILLRACE_CONFIG_CONFIG_CHECK_H_
#define MILLRACE_CONFIG_CONFIG_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks a configuration by itself: ranges of numbers, unique names, references between parts.
// job/job_check.h has the rules that depend on linked parts, metrics and ranks.
// REQUIRES: names are expanded.
// Errors: InvalidArgument naming entry and field: `train.table[3] "c4": dim is 0; must be ...`.
absl::Status validate(const JobConfig& config);

// Returns a line for each entry of train.table that no feature uses, with the nearest name of a
// table that one does: the entry sets nothing. A model of one's own may look up such a table
// itself. REQUIRES: validate() accepts the configuration.
std::vector<std::string> config_warnings(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_CONFIG_CONFIG_CHECK_H_
