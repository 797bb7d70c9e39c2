// The label of data: the rule that makes it, and columns that give it away.
#ifndef MILLRACE_IO_LOOK_LABEL_LOOK_H_
#define MILLRACE_IO_LOOK_LABEL_LOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// A column, or whether its value is at least a number.
struct LabelRule {
  std::string column;
  std::optional<double> at_least;

  // The label of a value.
  double label_of(double value) const { return at_least ? value >= *at_least : value; }
};

// Parses "COLUMN" or "COLUMN>=NUMBER"; spaces around the three parts do not count.
// Errors: InvalidArgument for an empty column, another comparison and what is no number.
absl::StatusOr<LabelRule> parse_label_rule(absl::string_view text);

// The first of `columns` that has a usual name of a label, such as "label", "click" or "target",
// in any case, else one that has it between blanks; none if no column has.
std::optional<std::string> find_label_name(absl::Span<const std::string> columns);

// Counts the labels of the values of one column, to find columns that are known only with the
// label:
//   * columns whose order is that of the label: an area under the ROC curve of at least 0.98, or of
//     at most 0.02 (a missing value counts as the least);
//   * columns that have one label alone in all rows where they are missing or where they are not,
//   or
//     label 1 in all rows where they are below or above 0, in at least 100 rows and more than
//     chance explains.
class LabelTie {
 public:
  // Keeps at most `max_pairs` values, of rows drawn by a hash, for the area under the curve.
  explicit LabelTie(int64_t max_pairs) : max_pairs_(max_pairs) {}

  // Adds a row. `value`: not-a-number for text and lists; none if it is missing.
  void add(std::optional<double> value, bool label);

  // Returns what gives the label away, "where it is above 0, the label is 1 in all 7595 rows", or
  // "".
  std::string reason() const;
  // Returns true if all values are 0 or 1, and 1 only where the label is 1: a second label.
  bool is_nested() const;

 private:
  struct Labels {
    int64_t rows = 0, positives = 0;
  };
  enum Group { kMissing, kPresent, kBelow, kAbove, kGroups };

  // Returns the area under the curve of the kept values.
  double area() const;

  int64_t max_pairs_;
  struct Kept {
    double value;
    bool label;
    uint64_t hash;  // of the row
  };

  uint64_t mask_ = 0;  // rows are kept whose hash has none of these bits
  std::vector<Kept> kept_;
  Labels all_;
  Labels groups_[kGroups];
  bool is_binary_ = true;  // all values are 0 or 1
  bool has_text_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_LABEL_LOOK_H_
