#include "proto/field_errors.h"

#include <string>
#include <utility>

#include "absl/strings/str_join.h"

namespace millrace {

void FieldErrors::add(absl::Status status) {
  if (!status.ok()) all_.push_back(std::move(status));
}

absl::Status FieldErrors::status() const {
  if (all_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrJoin(all_, "\n", [](std::string* out, const absl::Status& error) {
        out->append(error.message().data(), error.message().size());
      }));
}

absl::Status all_errors(std::initializer_list<absl::Status> statuses) {
  FieldErrors errors;
  for (const absl::Status& status : statuses) errors.add(status);
  return errors.status();
}

}  // namespace millrace
