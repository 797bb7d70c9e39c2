// Named values that hooks and models report between two reports.
#ifndef MILLRACE_FRAMEWORK_REPORT_REPORTED_VALUES_H_
#define MILLRACE_FRAMEWORK_REPORT_REPORTED_VALUES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/ranks/rank_part.h"
#include "hook/reported_value.h"

namespace millrace {

// Reduces values in double. A not-a-number among the values makes the result not-a-number, except
// under kLast. Not thread-safe.
class ReportedValues : public RankPart {
 public:
  // Adds a value. A name keeps the reduction of its first value. `weight`, used by means, is at
  // least 0; a value of weight 0 does not count, and a mean without any other value is
  // not-a-number.
  void add(absl::string_view name, double value, Reduction reduction, double weight = 1);
  // Adds name → reduced value to `values`, and clears this object.
  void drain(std::map<std::string, double>* values);

  std::string save() const override;
  // Merges the names of all ranks. Errors: DataLoss for bytes that save() did not write;
  // InvalidArgument naming a name that two ranks reduce differently, and both ranks.
  absl::Status load_ranks(absl::Span<const absl::string_view> ranks) override;

 private:
  struct Entry {
    Reduction reduction = Reduction::kMean;
    double value = 0;   // of a mean: the sum of values times weights
    double weight = 0;  // the sum of weights
    int64_t count = 0;
    int rank = 0;  // the first rank that reported the name; known after load_ranks
  };

  absl::Status load_rank(int rank, absl::string_view bytes);
  // Adds all values of another entry of the same reduction.
  static void merge(const Entry& from, Entry& into);

  std::map<std::string, Entry> entries_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_REPORTED_VALUES_H_
