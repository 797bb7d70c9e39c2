// Rules for the batches of a DataConfig.
#ifndef MILLRACE_IO_EPOCH_BATCHES_CHECK_H_
#define MILLRACE_IO_EPOCH_BATCHES_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks batch_size and shuffle_rows. Errors: InvalidArgument that begins with `where`, the place
// of the data in the configuration, and names the field.
absl::Status check_batches(absl::string_view where, const DataConfig& data);

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_BATCHES_CHECK_H_
