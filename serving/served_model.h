// A predictor and the place whose newest version it takes.
#ifndef MILLRACE_SERVING_SERVED_MODEL_H_
#define MILLRACE_SERVING_SERVED_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/mutex.h"
#include "io/column.h"
#include "serving/follower.h"
#include "serving/predictor.h"

namespace millrace {

// Serves Python (millrace.Predictor) and C (serving/c/millrace_serving.h). Thread-safe.
class ServedModel {
 public:
  // Opens a path of a user (resolve_served_place()). Borrows `files`. `options.files` is not used.
  // Errors: as resolve_served_place(), load_newest() and Predictor::create().
  static absl::StatusOr<std::unique_ptr<ServedModel>> open(FileSystem& files,
                                                           const std::string& path,
                                                           PredictorOptions options);

  // Takes a newer version if there is one. Returns true if the version changed; false also for a
  // place with one checkpoint.
  bool follow() {
    MutexLock lock(follow_mutex_);
    return follower_ != nullptr && follower_->poll();
  }
  Predictor& predictor() { return *predictor_; }
  const Predictor& predictor() const { return *predictor_; }

 private:
  ServedPlace place_;  // first: the others borrow its files
  std::unique_ptr<Predictor> predictor_;
  Mutex follow_mutex_;
  std::unique_ptr<Follower> follower_ ABSL_GUARDED_BY(follow_mutex_);  // null: one checkpoint
};

// Divides the values of a column into rows of these lengths. `where` begins the errors, such as
// `column "items": `. Errors: InvalidArgument for lengths below 0 or that do not add up to
// `values`.
absl::Status set_row_lengths(const std::string& where, int64_t values,
                             absl::Span<const int64_t> lengths, Column* column);

}  // namespace millrace

#endif  // MILLRACE_SERVING_SERVED_MODEL_H_
