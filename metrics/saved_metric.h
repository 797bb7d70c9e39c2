// The bytes that metrics save themselves as.
#ifndef MILLRACE_METRICS_SAVED_METRIC_H_
#define MILLRACE_METRICS_SAVED_METRIC_H_

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/byte_stream.h"

namespace millrace {

// All metrics begin with a version and their name, so that bytes of one are never taken for those
// of another; what follows is the metric's own. A metric whose state is a few sums needs no more
// than save_sums and merge_saved_sums.

// A writer that stands behind the beginning.
ByteWriter begin_saved_metric(absl::string_view name);

// A reader that stands behind the beginning; borrows `bytes`.
// Errors: DataLoss if it is not one, or of another version or metric.
absl::StatusOr<ByteReader> open_saved_metric(absl::string_view name, absl::string_view bytes);

// "the saved metric auc <what>" as a DataLoss error.
absl::Status saved_metric_error(absl::string_view name, absl::string_view what);

// Checks that bytes were saved by a metric with the same option as the one that reads them, so that
// counts of different meaning are not added. Errors: DataLoss naming both values.
absl::Status check_saved_option(absl::string_view name, absl::string_view option, double saved,
                                double own);

// A metric that is so many sums.
std::string save_sums(absl::string_view name, std::initializer_list<double> sums);

// Adds what save_sums gave, in the same order. Errors: DataLoss; then nothing has changed.
absl::Status merge_saved_sums(absl::string_view name, absl::string_view bytes,
                              std::initializer_list<double*> sums);

}  // namespace millrace

#endif  // MILLRACE_METRICS_SAVED_METRIC_H_
