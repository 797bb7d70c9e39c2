#include "hooks/console/console_text.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/utf8/characters.h"
#include "metrics/metric_registry.h"

namespace millrace {

void ConsoleLine::add(std::string text, int importance) {
  items_.push_back({std::move(text), importance});
}

void ConsoleLine::add(const ConsoleLine& other) {
  items_.insert(items_.end(), other.items_.begin(), other.items_.end());
}

std::string ConsoleLine::text(int64_t width) const {
  const auto joined = [](const std::vector<Item>& items) {
    return absl::StrJoin(items, "  ",
                         [](std::string* out, const Item& item) { out->append(item.text); });
  };
  const size_t limit = static_cast<size_t>(std::max<int64_t>(width, 0));
  std::vector<Item> items = items_;
  std::string text = joined(items);
  while (count_characters(text) > limit && items.size() > 1) {
    const auto least =
        std::min_element(items.rbegin(), items.rend(),
                         [](const Item& a, const Item& b) { return a.importance < b.importance; });
    items.erase(std::next(least).base());
    text = joined(items);
  }
  return std::string(first_characters(text, limit));
}

std::string ConsoleLine::text() const { return text(std::numeric_limits<int64_t>::max()); }

namespace {

constexpr absl::string_view kExamples = "examples";  // number of examples of a slice

// Returns the slice of "FEATURE=ID/METRIC"; "" for other metrics.
absl::string_view slice_of(absl::string_view name) {
  const size_t end = name.find('/');
  const absl::string_view slice = name.substr(0, end);
  return end == name.npos || slice.find('=') == slice.npos ? "" : slice;
}

// Lines of a title and items, each item after two spaces.
class Lines {
 public:
  explicit Lines(int64_t columns) : columns_(columns) {}

  // Begins a line.
  void begin(absl::string_view title) {
    absl::StrAppend(&text_, text_.empty() ? "" : "\n", title);
    length_ = count_characters(title);
  }
  // Appends to the line, or to a new line if the item does not fit.
  void add(absl::string_view item) {
    const size_t length = 2 + count_characters(item);
    if (static_cast<int64_t>(length_ + length) > columns_ && length_ > 0) {
      text_ += '\n';
      length_ = 0;
    }
    absl::StrAppend(&text_, "  ", item);
    length_ += length;
  }
  const std::string& text() const { return text_; }

 private:
  const int64_t columns_;
  std::string text_;
  size_t length_ = 0;  // characters of the last line
};

}  // namespace

bool logloss_repeats_loss(const std::map<std::string, double>& metrics, int decimals) {
  const auto logloss = metrics.find("logloss");
  const auto loss = metrics.find("loss");
  if (logloss == metrics.end() || loss == metrics.end()) return false;
  return absl::StrFormat("%.*f", decimals, logloss->second) ==
         absl::StrFormat("%.*f", decimals, loss->second);
}

std::string metric_text(absl::string_view name, double value, int most_decimals) {
  const absl::string_view metric = name.substr(name.rfind('/') + 1);
  const MetricTraits traits = traits_of_metric(metric);
  const int decimals = metric == kExamples ? 0 : std::min(traits.decimals, most_decimals);
  return absl::StrFormat("%s %.*f%s%s", name, decimals, value, traits.unit.empty() ? "" : " ",
                         traits.unit);
}

std::string metrics_text(absl::string_view title, const std::map<std::string, double>& metrics,
                         absl::string_view ending, int64_t columns) {
  constexpr int kAllDecimals = std::numeric_limits<int>::max();
  const bool omits = logloss_repeats_loss(metrics, MetricTraits().decimals);
  Lines lines(columns);
  lines.begin(title);
  for (const auto& [name, value] : metrics) {
    if (!slice_of(name).empty() || (omits && name == "logloss")) continue;
    lines.add(metric_text(name, value, kAllDecimals));
  }
  if (!ending.empty()) lines.add(ending);
  absl::string_view last;
  for (const auto& [name, value] : metrics) {
    const absl::string_view slice = slice_of(name);
    if (slice.empty()) continue;
    if (slice != last) lines.begin(absl::StrCat("  ", slice, ":"));
    last = slice;
    lines.add(metric_text(absl::string_view(name).substr(slice.size() + 1), value, kAllDecimals));
  }
  return lines.text();
}

std::string unknown_ids_text(const std::map<std::string, double>& shares) {
  constexpr double kLeast = 0.005;
  std::vector<std::pair<double, std::string>> shown;
  for (const auto& [table, share] : shares) {
    if (share >= kLeast) shown.emplace_back(-share, table);
  }
  std::sort(shown.begin(), shown.end());
  std::vector<std::string> texts;
  for (const auto& [share, table] : shown) {
    texts.push_back(absl::StrFormat("%s %.1f %%", table, -share * 100));
  }
  return texts.empty() ? "" : absl::StrCat("no row: ", absl::StrJoin(texts, ", "));
}

}  // namespace millrace
