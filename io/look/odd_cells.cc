#include "io/look/odd_cells.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/utf8/characters.h"
#include "io/cell_number.h"

namespace millrace {
namespace {

constexpr int64_t kFewest = 10;  // cells for each odd one
constexpr size_t kTexts = 3;
constexpr size_t kCharacters = 40;  // of a text

// Returns true if separators stand between groups of three digits before the decimal point.
bool has_thousands(absl::string_view text, char separator) {
  absl::ConsumePrefix(&text, "-");
  const absl::string_view whole = text.substr(0, text.find('.'));
  const size_t first = whole.find(separator);
  if (first == absl::string_view::npos || first == 0 || first > 3) return false;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool separates = i >= first && (i - first) % 4 == 0;
    if (separates ? whole[i] != separator : !absl::ascii_isdigit(whole[i])) return false;
  }
  return (whole.size() - first) % 4 == 0;
}

}  // namespace

bool has_leading_zero(absl::string_view text) {
  absl::ConsumePrefix(&text, "-");
  return text.size() > 1 && text[0] == '0' && absl::ascii_isdigit(text[1]);
}

bool is_near_number(absl::string_view text) {
  double number = 0;
  const bool has_percent = absl::ConsumeSuffix(&text, "%");
  if (has_percent) text = absl::StripTrailingAsciiWhitespace(text);
  if (!has_thousands(text, ',') && !has_thousands(text, ' ')) {
    return has_percent && parse_cell_number(text, &number);
  }
  return parse_cell_number(absl::StrReplaceAll(text, {{",", ""}, {" ", ""}}), &number);
}

void OddCells::add(absl::string_view cell) {
  ++count_;
  are_codes_ = are_codes_ || has_leading_zero(cell);
  are_near_ = are_near_ && is_near_number(cell);
  if (texts_.size() == kTexts) return;
  const absl::string_view text = first_characters(cell, kCharacters);
  if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) texts_.emplace_back(text);
}

bool OddCells::are_few(int64_t cells) const {
  return count_ > 0 && !are_codes_ && kFewest * count_ <= cells;
}

std::string OddCells::near_number() const {
  return count_ > 0 && are_near_ ? texts_.front() : std::string();
}

}  // namespace millrace
