// What a configuration says about sampling, checked.
#ifndef MILLRACE_PROTO_SAMPLE_CHECK_H_
#define MILLRACE_PROTO_SAMPLE_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// `train` says which labels there are. Errors: InvalidArgument that begins with `where`, its place
// in the configuration, and names the field.
absl::Status check_sample(absl::string_view where, const SampleConfig& sample,
                          const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_PROTO_SAMPLE_CHECK_H_
