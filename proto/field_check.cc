#include "proto/field_check.h"

#include <cmath>

#include "absl/strings/ascii.h"

namespace millrace {

std::string entry(absl::string_view list, int index, absl::string_view name) {
  return name.empty() ? absl::StrCat(list, "[", index, "]")
                      : absl::StrCat(list, "[", index, "] \"", name, "\"");
}

absl::Status wrong(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::Status at_least(absl::string_view where, absl::string_view field, int64_t value,
                      int64_t minimum) {
  if (value >= minimum) return absl::OkStatus();
  return wrong_number(where, field, value, absl::StrCat("at least ", minimum));
}

absl::Status within(absl::string_view where, absl::string_view field, int64_t value,
                    int64_t minimum, int64_t maximum) {
  if (value >= minimum && value <= maximum) return absl::OkStatus();
  return wrong_number(where, field, value, absl::StrCat(minimum, " to ", maximum));
}

absl::Status not_negative(absl::string_view where, absl::string_view field, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return wrong_number(where, field, value, "at least 0 and finite");
}

absl::Status plain_name(absl::string_view where, absl::string_view name) {
  if (name.empty()) return wrong(where, "name is missing");
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '-') {
      return wrong(where,
                   "name may hold letters, digits, _ and - only; a range is written {1..26}");
    }
  }
  return absl::OkStatus();
}

absl::Status check_unique(absl::string_view where, absl::string_view name,
                          std::set<std::string>* seen) {
  if (seen->insert(std::string(name)).second) return absl::OkStatus();
  return wrong(where, "the name is taken by an entry before it");
}

}  // namespace millrace
