#include "base/catch_exceptions.h"

#include <utility>

#include "base/failure_kind.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status status_of_exception(const std::exception* exception, const ExceptionWords& words) {
  absl::Status status = absl::InternalError(words.unknown);
  if (exception != nullptr) {
    status = status_of_exception(*exception);
    if (absl::IsInternal(status)) status = annotate(std::move(status), words.internal);
  }
  if (words.of_part) status = as_part_failure(std::move(status));
  return annotate(std::move(status), words.doing);
}

}  // namespace millrace
