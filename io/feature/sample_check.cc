#include "io/feature/sample_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

bool is_share(double rate) { return rate > 0 && rate <= 1; }

}  // namespace

absl::Status check_sample(absl::string_view where, const SampleConfig& sample,
                          const std::vector<std::string>& labels) {
  constexpr char kRule[] = "; must be above 0 and at most 1";
  if (!is_share(sample.rate())) {
    return wrong(where, absl::StrCat("rate is ", sample.rate(), kRule));
  }
  if (!is_share(sample.negative_rate())) {
    return wrong(where, absl::StrCat("negative_rate is ", sample.negative_rate(), kRule));
  }
  if (sample.label().empty()) return absl::OkStatus();
  if (std::find(labels.begin(), labels.end(), sample.label()) != labels.end()) {
    return absl::OkStatus();
  }
  return wrong(where, absl::StrCat("no label \"", sample.label(), "\"",
                                   did_you_mean(sample.label(), labels)));
}

}  // namespace millrace
