#include "proto/sample_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

bool is_share(double rate) { return rate > 0 && rate <= 1; }

}  // namespace

absl::Status check_sample(absl::string_view where, const SampleConfig& sample,
                          const TrainConfig& train) {
  constexpr char kRule[] = "; must be above 0 and at most 1";
  if (!is_share(sample.rate())) {
    return wrong(where, absl::StrCat("rate is ", sample.rate(), kRule));
  }
  if (!is_share(sample.negative_rate())) {
    return wrong(where, absl::StrCat("negative_rate is ", sample.negative_rate(), kRule));
  }
  if (sample.label().empty()) return absl::OkStatus();
  std::vector<std::string> labels;
  for (const FeatureConfig& feature : train.feature()) {
    if (feature.kind() == FeatureConfig::LABEL) labels.push_back(feature.name());
  }
  if (std::find(labels.begin(), labels.end(), sample.label()) != labels.end()) {
    return absl::OkStatus();
  }
  return wrong(where, absl::StrCat("no label \"", sample.label(), "\"",
                                   did_you_mean(sample.label(), labels)));
}

}  // namespace millrace
