// The kind of a failure, in addition to the status code.
#ifndef MILLRACE_BASE_FAILURE_KIND_H_
#define MILLRACE_BASE_FAILURE_KIND_H_

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

enum class FailureKind {
  kOther = 0,       // as the code says
  kDiverged = 1,    // a loss or gradient that is not finite ended training
  kEvaluation = 2,  // an evaluation within training failed
  kMachine = 3,     // the machine gives no more memory, threads or open files
  kLimit = 4,       // a limit that the configuration sets was reached
  kBusy = 5,        // another process holds a resource that this one needs, and may soon release it
  kPart = 6,        // a part, such as a hook, a model or a metric, threw or broke its contract
};

// Marks a failure with a kind; annotate() retains the mark. Does not replace an existing mark.
// Returns OK for OK.
absl::Status with_kind(absl::Status status, FailureKind kind);
// Does the same, but replaces an existing mark: for a caller with better knowledge of the kind.
absl::Status replace_kind(absl::Status status, FailureKind kind);
FailureKind kind_of(const absl::Status& status);

// Marks the error of a part as kPart if its code names no cause outside of the part: Internal,
// Unknown, Cancelled, DeadlineExceeded or Unauthenticated. Other errors mean the same as anywhere.
absl::Status as_part_failure(absl::Status status);

// Returns InvalidArgument of kind kPart, for a result that breaks the contract of a part.
absl::Status wrong_result(absl::string_view what);

// Appends `text` to the message of a failure; code and payloads stay the same. Returns OK for OK.
absl::Status with_more(const absl::Status& status, absl::string_view text);

// Converts an exception to a failure. Returns ResourceExhausted of kind kMachine, with advice, if
// memory, threads or open files ran out, also within a library such as LibTorch; otherwise Internal
// with the first line of the exception's text.
absl::Status status_of_exception(const std::exception& exception);

// Returns the failure of exhausted memory, for an allocation without exceptions.
absl::Status out_of_memory(absl::string_view detail = "");

// Returns ResourceExhausted of kind kMachine for a low limit of open files. `what`: the cause of
// the need for more.
absl::Status too_few_files(absl::string_view what);

}  // namespace millrace

#endif  // MILLRACE_BASE_FAILURE_KIND_H_
