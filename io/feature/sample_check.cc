#include "io/feature/sample_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
absl::Status check_sample(absl::string_view where, const SampleConfig& sample,
                          const std::vector<std::string>& labels) {
  RETURN_IF_ERROR(check_ranges(where, sample));
  if (sample.label().empty()) return absl::OkStatus();
  if (std::find(labels.begin(), labels.end(), sample.label()) != labels.end()) {
    return absl::OkStatus();
  }
  return wrong(where, absl::StrCat("no label \"", sample.label(), "\"",
                                   did_you_mean(sample.label(), labels)));
}

}  // namespace millrace
