// The filter for a random part of the rows of a source, and the rules of its configuration.
#ifndef MILLRACE_IO_FEATURE_SAMPLE_FILTER_H_
#define MILLRACE_IO_FEATURE_SAMPLE_FILTER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/bad_rows.h"
#include "io/feature/feature_transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Rows of one unit, as many in each span.
struct SampledRows {
  absl::Span<const int64_t> numbers;  // file ordinal << 40 | row
  absl::Span<const float> labels;     // of SampleFilter::label(); looked at if it needs them
  absl::Span<uint8_t> keep;           // 0: a row that is left out already
  absl::Span<float> weights;          // looked at if it corrects them
};

// A row is kept if u < rate, or, if its label is 0, u < rate * negative_rate. u is uniform in [0,
// 1): the upper 53 bits of Philox of the row's number, with a key made of (seed, epoch), or of the
// seed alone without `resample`. So which rows are kept follows from those numbers and the files,
// never from the order of reading; and a higher rate keeps every row of a lower rate.
//
// Kept rows with label 0 weigh 1 / negative_rate times as much, so that sampling does not change
// the expectation of the sum of their weights. Immutable; thread-safe.
class SampleFilter {
 public:
  // `labels`: FeatureSchema::labels(). Errors: as check_sample.
  static absl::StatusOr<SampleFilter> create(const SampleConfig& sample,
                                             const std::vector<std::string>& labels, uint64_t seed);

  bool takes_all() const { return sample_.rate() == 1 && !needs_label(); }
  bool needs_label() const { return sample_.negative_rate() < 1; }
  bool corrects_weights() const { return needs_label() && sample_.correct_weights(); }
  int64_t label() const { return label_; }  // index into `labels`

  // Sets `keep` to 0 for the rows that are left out, and corrects the weights of the others. Bad
  // rows stay as they are. Bad rows: those whose label is needed and is neither 0 nor 1. Errors:
  // those of `bad`.
  absl::Status apply(int64_t epoch, const SampledRows& rows, const ColumnPlace& place,
                     BadRows& bad) const;

 private:
  SampleFilter(SampleConfig sample, int64_t label, uint64_t seed)
      : sample_(std::move(sample)), label_(label), seed_(seed) {}

  const SampleConfig sample_;
  const int64_t label_;
  const uint64_t seed_;
};

// Checks the rates and that `sample` names one of `labels`, the names of the LABEL features.
// Errors: InvalidArgument that begins with `where`, the place of the message in the configuration,
// and names the field.
absl::Status check_sample(absl::string_view where, const SampleConfig& sample,
                          const std::vector<std::string>& labels);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_SAMPLE_FILTER_H_
