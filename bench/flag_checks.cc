#include "bench/flag_checks.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status check_at_least(const char* name, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, " is ", value, "; at least ", least, " is due"));
}

absl::Status check_zipf(double zipf) {
  if (std::isfinite(zipf) && zipf >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--zipf is ", zipf, "; at least 0 and finite is due"));
}

}  // namespace millrace
