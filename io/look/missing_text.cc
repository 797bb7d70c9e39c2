#include "io/look/missing_text.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr size_t kMaxBytes = 8;  // of a text
constexpr absl::string_view kPlain[] = {"NA",   "N/A",  "n/a",  "<NA>", "#N/A", "#NA",
                                        "NULL", "null", "None", "NaN",  "nan",  "\\N"};
constexpr absl::string_view kOthers[] = {"#N/A N/A", "-1.#QNAN", "1.#QNAN", "-1.#IND", "1.#IND"};

bool contains(absl::Span<const absl::string_view> texts, absl::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
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

}  // namespace millrace
