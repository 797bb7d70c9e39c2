#include "io/look/missing_text.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr size_t kMaxBytes = 8;  // of a text
constexpr absl::string_view kTexts[] = {"NA",       "N/A",     "n/a",     "NULL",   "null",
                                        "None",     "<NA>",    "#N/A",    "#NA",    "#N/A N/A",
                                        "-1.#QNAN", "1.#QNAN", "-1.#IND", "1.#IND", "\\N"};

}  // namespace

bool is_nan_text(absl::string_view text) {
  if (text.size() > 4) return false;
  if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
  return absl::EqualsIgnoreCase(text, "nan");
}

bool is_missing_text(absl::string_view text) {
  if (text.size() > kMaxBytes) return false;
  return is_nan_text(text) ||
         std::find(std::begin(kTexts), std::end(kTexts), text) != std::end(kTexts);
}

}  // namespace millrace
