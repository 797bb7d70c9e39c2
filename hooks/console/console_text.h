// Figures for people: items of a line as wide as the terminal allows, and metrics.
#ifndef MILLRACE_HOOKS_CONSOLE_CONSOLE_TEXT_H_
#define MILLRACE_HOOKS_CONSOLE_CONSOLE_TEXT_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

// Collects the items of a line, such as "step 200" and "loss 0.4733".
//
//   ConsoleLine line;
//   line.add("step 200", 9);
//   line.add("rows 1.25 k", 1);
//   line.text(12);  // "step 200"
class ConsoleLine {
 public:
  // Appends an item. Items of higher importance are kept if not all fit.
  void add(std::string text, int importance);
  // Appends the items of `other`.
  void add(const ConsoleLine& other);
  bool empty() const { return items_.empty(); }

  // Returns the items in the order of add(), separated by two spaces. While the text exceeds
  // `width` characters, omits the least important item, and among equals the last. Cuts the text of
  // an item only if no other item is left.
  std::string text(int64_t width) const;
  // Returns all items.
  std::string text() const;

 private:
  struct Item {
    std::string text;
    int importance;
  };
  std::vector<Item> items_;
};

// Returns true if `logloss` and `loss` exist and have the same text with `decimals` decimals, so
// that a line needs only one of the two.
bool logloss_repeats_loss(const std::map<std::string, double>& metrics, int decimals);

// Returns "NAME VALUE UNIT" with the unit and decimals of MetricTraits, with at most
// `most_decimals`. `name` may begin with the label, slice or span of the metric.
std::string metric_text(absl::string_view name, double value, int most_decimals);

// Returns `title`, the metric_text() of each metric, and `ending` unless empty, each after two
// spaces: "eval:  auc 0.76700  loss 0.47220  examples 500". Omits a logloss that repeats the loss.
// Each slice has a line below: "  country=7:  auc 0.74100  examples 60". A line longer than
// `columns` characters is broken, and the next line begins with two spaces.
std::string metrics_text(absl::string_view title, const std::map<std::string, double>& metrics,
                         absl::string_view ending,
                         int64_t columns = std::numeric_limits<int64_t>::max());

// Returns "no row: items 12.3 %, users 2.1 %", the tables with the largest shares of lookups whose
// ids have no row first; omits shares below 0.5 %, and is "" without any other.
std::string unknown_ids_text(const std::map<std::string, double>& shares);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CONSOLE_CONSOLE_TEXT_H_
