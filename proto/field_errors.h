// Collects all errors of a message instead of returning the first.
#ifndef MILLRACE_PROTO_FIELD_ERRORS_H_
#define MILLRACE_PROTO_FIELD_ERRORS_H_

#include <initializer_list>
#include <vector>

#include "absl/status/status.h"

namespace millrace {

// Collects the results of the functions of proto/field_check.h. Not safe for concurrent use.
class FieldErrors {
 public:
  // Appends `status` unless it is OK.
  void add(absl::Status status);

  bool empty() const { return all_.empty(); }
  // Returns the errors in the order in which they were added.
  const std::vector<absl::Status>& all() const { return all_; }
  // Returns: OK if there are no errors.
  // Errors: InvalidArgument with one line for each error.
  absl::Status status() const;

 private:
  std::vector<absl::Status> all_;
};

// Returns FieldErrors::status() of `statuses`.
absl::Status all_errors(std::initializer_list<absl::Status> statuses);

}  // namespace millrace

#endif  // MILLRACE_PROTO_FIELD_ERRORS_H_
