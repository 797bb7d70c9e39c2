#include "io/feature/sample_filter.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Apart from what the order of an epoch is made of (io/epoch/epoch_plan.cc).
constexpr uint64_t kSampleKey = uint64_t{5} << 56;

}  // namespace

absl::StatusOr<SampleFilter> SampleFilter::create(const SampleConfig& sample,
                                                  const std::vector<std::string>& labels,
                                                  uint64_t seed) {
  RETURN_IF_ERROR(check_sample("sample", sample, labels));
  if (sample.label().empty()) return SampleFilter(sample, 0, seed);
  const auto found = std::find(labels.begin(), labels.end(), sample.label());
  return SampleFilter(sample, found - labels.begin(), seed);
}

absl::Status SampleFilter::apply(int64_t epoch, const SampledRows& rows, const ColumnPlace& place,
                                 BadRows& bad) const {
  const uint64_t drawn = sample_.resample() ? static_cast<uint64_t>(epoch) : 0;
  const uint64_t key = philox64(seed_, drawn, kSampleKey);
  const double negative_rate = sample_.rate() * sample_.negative_rate();
  const auto factor = static_cast<float>(1 / sample_.negative_rate());
  for (size_t row = 0; row < rows.numbers.size(); ++row) {
    // Whether a bad one would have been kept is not always known: all are counted.
    if (rows.keep[row] == 0 || bad.contains(static_cast<int64_t>(row))) continue;
    const bool negative = needs_label() && rows.labels[row] == 0;
    // A label that may be missing, and is, makes the example no negative.
    const bool known = needs_label() && !std::isnan(rows.labels[row]);
    if (known && !negative && rows.labels[row] != 1) {
      RETURN_IF_ERROR(
          bad.add(row, place.error(row, absl::StrCat("label ", rows.labels[row],
                                                     ", but sample.negative_rate needs 0 or 1"))));
      continue;
    }
    const uint64_t number = philox64(key, 0, static_cast<uint64_t>(rows.numbers[row]));
    const double uniform = static_cast<double>(number >> 11) * 0x1p-53;
    if (uniform >= (negative ? negative_rate : sample_.rate())) {
      rows.keep[row] = 0;
    } else if (negative && corrects_weights()) {
      rows.weights[row] *= factor;
    }
  }
  return absl::OkStatus();
}

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
