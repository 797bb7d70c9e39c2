#include "io/look/label_look.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"

namespace millrace {
namespace {

constexpr absl::string_view kLabelNames[] = {"label",      "click",    "clicked",   "is_click",
                                             "is_clicked", "clk",      "target",    "y",
                                             "converted",  "purchase", "conversion"};

}  // namespace

absl::StatusOr<LabelRule> parse_label_rule(absl::string_view text) {
  const size_t sign = text.find_first_of("<>=");
  LabelRule rule;
  rule.column = std::string(absl::StripAsciiWhitespace(text.substr(0, sign)));
  if (rule.column.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" names no column; write COLUMN or 'COLUMN>=NUMBER'"));
  }
  if (sign == absl::string_view::npos) return rule;
  double number = 0;
  if (text.substr(sign, 2) != ">=" ||
      !absl::SimpleAtod(absl::StripAsciiWhitespace(text.substr(sign + 2)), &number) ||
      !std::isfinite(number)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not a comparison that a label can have; write 'COLUMN>=NUMBER'"));
  }
  rule.at_least = number;
  return rule;
}

std::optional<std::string> find_label_name(absl::Span<const std::string> columns) {
  std::optional<std::string> between_blanks;
  for (const absl::string_view name : kLabelNames) {
    for (const std::string& column : columns) {
      if (absl::EqualsIgnoreCase(column, name)) return column;
      if (between_blanks || !absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(column), name)) {
        continue;
      }
      between_blanks = column;
    }
  }
  return between_blanks;
}

namespace {

constexpr int64_t kFewestTieRows = 100;
constexpr int64_t kFewestOfEach = 15;  // of both labels, for the area under the curve
constexpr double kChance = 1e-9;
constexpr double kTellingArea = 0.98;

constexpr const char* kGroupTexts[] = {"where it is missing", "where it is not missing",
                                       "where it is below 0", "where it is above 0"};

}  // namespace

void LabelTie::add(std::optional<double> value, bool label) {
  const auto count = [label](Labels& labels) {
    ++labels.rows;
    labels.positives += label;
  };
  count(all_);
  count(groups_[value ? kPresent : kMissing]);
  const bool is_text = value && std::isnan(*value);
  has_text_ |= is_text;
  is_binary_ &= value && (*value == 0 || *value == 1);
  if (value && *value < 0) count(groups_[kBelow]);
  if (value && *value > 0) count(groups_[kAbove]);
  const uint64_t hash = placement_hash(all_.rows);
  if (is_text || (hash & mask_) != 0) return;
  kept_.push_back({value.value_or(-std::numeric_limits<double>::infinity()), label, hash});
  if (static_cast<int64_t>(kept_.size()) < max_pairs_) return;
  mask_ = 2 * mask_ + 1;
  const auto is_out = [this](const Kept& one) { return (one.hash & mask_) != 0; };
  kept_.erase(std::remove_if(kept_.begin(), kept_.end(), is_out), kept_.end());
}

double LabelTie::area() const {
  std::vector<Kept> sorted = kept_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Kept& a, const Kept& b) { return a.value < b.value; });
  double negatives = 0, positives = 0, pairs = 0;  // pairs in the order of the labels; ties: half
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    double tied_negatives = 0, tied_positives = 0;
    for (end = begin; end < sorted.size() && sorted[end].value == sorted[begin].value; ++end) {
      (sorted[end].label ? tied_positives : tied_negatives) += 1;
    }
    pairs += tied_positives * (negatives + tied_negatives / 2);
    negatives += tied_negatives;
    positives += tied_positives;
  }
  return negatives > 0 && positives > 0 ? pairs / (negatives * positives) : 0.5;
}

std::string LabelTie::reason() const {
  const auto rows = static_cast<double>(all_.rows), positives = static_cast<double>(all_.positives);
  if (all_.rows < kFewestTieRows || positives == 0 || positives == rows) return "";
  const int64_t kept_positives =
      std::count_if(kept_.begin(), kept_.end(), [](const Kept& one) { return one.label; });
  const int64_t fewer =
      std::min(kept_positives, static_cast<int64_t>(kept_.size()) - kept_positives);
  const double area = has_text_ || fewer < kFewestOfEach ? 0.5 : this->area();
  if (std::max(area, 1 - area) >= kTellingArea) {
    return absl::StrFormat("its order is that of the label: the area under the curve is %.4f",
                           area);
  }
  for (const Group group : {kMissing, kPresent, kBelow, kAbove}) {
    const Labels& labels = groups_[group];
    // Strong features, too, have values of negatives alone.
    const bool of_zero = labels.positives == 0 && (group == kMissing || group == kPresent);
    const bool pure = of_zero || labels.positives == labels.rows;
    if (labels.rows < kFewestTieRows || labels.rows == all_.rows || !pure) continue;
    const bool label = labels.positives > 0;
    const double share = label ? positives / rows : 1 - positives / rows;
    if (static_cast<double>(labels.rows) * std::log(share) > std::log(kChance)) continue;
    return absl::StrCat(kGroupTexts[group], ", the label is ", label ? 1 : 0, " in all ",
                        labels.rows, " rows");
  }
  return "";
}

bool LabelTie::is_nested() const {
  return is_binary_ && groups_[kAbove].rows > 0 &&
         groups_[kAbove].positives == groups_[kAbove].rows;
}

}  // namespace millrace
