#include "base/catch_exceptions.h"

#include <utility>

#include "base/failure_kind.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status status_of_exception(const std::exception* exception, const ExceptionWords& words) {
  if (exception == nullptr) return annotate(absl::InternalError(words.unknown), words.doing);
  absl::Status status = status_of_exception(*exception);
  if (absl::IsInternal(status)) status = annotate(std::move(status), words.internal);
  return annotate(std::move(status), words.doing);
}

}  // namespace millrace
