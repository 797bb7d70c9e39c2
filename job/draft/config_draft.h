// A first configuration of a job, drafted from its data.
#ifndef MILLRACE_JOB_DRAFT_CONFIG_DRAFT_H_
#define MILLRACE_JOB_DRAFT_CONFIG_DRAFT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/look/data_look.h"

namespace millrace {

// Returns the configuration in text format, with comments that give reasons. The configuration
// trains without changes, as far as the sample shows. `output_dir`: of the run.
//
// Holds out evaluation data if there is none, see draft_data().
//
// Errors: InvalidArgument without a label, with the columns that could be one, and for labels other
// than 0 and 1; DataLoss for labels of one class, and if no column can be a feature.
absl::StatusOr<std::string> draft_config(const DataLook& look, absl::string_view output_dir);

}  // namespace millrace

#endif  // MILLRACE_JOB_DRAFT_CONFIG_DRAFT_H_
