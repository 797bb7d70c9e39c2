// The bytes of saved metrics.
#ifndef MILLRACE_METRICS_SAVED_METRIC_H_
#define MILLRACE_METRICS_SAVED_METRIC_H_

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/byte_stream.h"

namespace millrace {

// The bytes of a saved metric begin with a version and its name, so that another metric refuses
// them. The metric defines the rest. save_sums() and merge_saved_sums() suffice for a metric whose
// state is a few sums.

// Returns a writer that has written the version and the name.
ByteWriter begin_saved_metric(absl::string_view name);

// Returns a reader that has read the version and the name. Borrows `bytes`. Errors: DataLoss if
// `bytes` is no saved metric, or is of another version or metric.
absl::StatusOr<ByteReader> open_saved_metric(absl::string_view name, absl::string_view bytes);

// Returns DataLoss with the message "the saved metric NAME WHAT".
absl::Status saved_metric_error(absl::string_view name, absl::string_view what);

// Checks that the metric that saved the bytes had the same option as the one that reads them:
// counts of different meaning must not be added. Errors: DataLoss naming both values.
absl::Status check_saved_option(absl::string_view name, absl::string_view option, double saved,
                                double own);

// Returns the bytes of a metric whose state is `sums`.
std::string save_sums(absl::string_view name, std::initializer_list<double> sums);

// Adds the sums of save_sums() to `sums`, in the same order. Errors: DataLoss, and then the sums
// are unchanged.
absl::Status merge_saved_sums(absl::string_view name, absl::string_view bytes,
                              std::initializer_list<double*> sums);

}  // namespace millrace

#endif  // MILLRACE_METRICS_SAVED_METRIC_H_
