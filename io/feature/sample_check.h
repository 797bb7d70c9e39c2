// Rules of the configuration of sampling.
#ifndef MILLRACE_IO_FEATURE_SAMPLE_CHECK_H_
#define MILLRACE_IO_FEATURE_SAMPLE_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the rates and that `sample` names one of `labels`, the names of the LABEL features.
// Errors: InvalidArgument that begins with `where`, the place of the message in the configuration,
// and names the field.
absl::Status check_sample(absl::string_view where, const SampleConfig& sample,
                          const std::vector<std::string>& labels);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_SAMPLE_CHECK_H_
