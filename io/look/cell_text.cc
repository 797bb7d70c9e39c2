#include "io/look/cell_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/utf8/characters.h"
#include "io/text_values.h"

namespace millrace {
namespace {

constexpr size_t kMaxBytes = 8;  // of a text
constexpr int64_t kFewest = 10;  // cells for each odd one
constexpr size_t kTexts = 3;
constexpr size_t kCharacters = 40;  // of a text
constexpr absl::string_view kPlain[] = {"NA",   "N/A",  "n/a",  "<NA>", "#N/A", "#NA",
                                        "NULL", "null", "None", "NaN",  "nan",  "\\N"};
constexpr absl::string_view kOthers[] = {"#N/A N/A", "-1.#QNAN", "1.#QNAN", "-1.#IND", "1.#IND"};

bool contains(absl::Span<const absl::string_view> texts, absl::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// Returns the length of the digits that `text` begins with, also in groups: "1.234.567".
size_t digits_length(absl::string_view text) {
  const auto count = [&](size_t begin) {
    size_t end = begin;
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    return end - begin;
  };
  size_t length = count(0);
  if (length == 0 || length > 3) return length;
  while (length < text.size() && text[length] == '.' && count(length + 1) == 3) length += 4;
  return length;
}

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

bool is_nan_text(absl::string_view text) {
  if (text.size() > 4) return false;
  if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
  return absl::EqualsIgnoreCase(text, "nan");
}

absl::Span<const absl::string_view> plain_missing_texts() { return kPlain; }

bool is_missing_text(absl::string_view text) {
  if (text.size() > kMaxBytes) return false;
  return is_nan_text(text) || contains(kPlain, text) || contains(kOthers, text);
}

bool parse_with_comma(absl::string_view text, bool* has_comma) {
  absl::ConsumePrefix(&text, "-");
  const size_t whole = digits_length(text);
  if (whole == 0) return false;
  text.remove_prefix(whole);
  *has_comma = absl::ConsumePrefix(&text, ",");
  return text.empty() != *has_comma && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

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
