// What a configuration says about clipping, checked.
#ifndef MILLRACE_OPTIM_CLIPPING_CHECK_H_
#define MILLRACE_OPTIM_CLIPPING_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that there is a limit and that it is above 0. Errors: InvalidArgument that begins with
// `where`, the place of the message in the configuration.
absl::Status check_clipping(absl::string_view where, const ClippingConfig& config);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_CLIPPING_CHECK_H_
