#include "tools/usage/whole_numbers.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

bool is_decimal(absl::string_view text) {
  absl::ConsumePrefix(&text, "-") || absl::ConsumePrefix(&text, "+");
  if (text.empty()) return false;
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return true;
}

// Replaces a decimal number by the only form that CLI11 reads as decimal. CLI11 itself refuses
// other texts. Returns: the error, or "".
template <typename Integer>
std::string normalize(std::string& text) {
  if (!is_decimal(text)) return "";
  Integer value;
  if (!absl::SimpleAtoi(text, &value)) {
    return absl::StrCat(text, " is out of range; it must be ", std::numeric_limits<Integer>::min(),
                        " to ", std::numeric_limits<Integer>::max());
  }
  text = absl::StrCat(value);
  return "";
}

}  // namespace

void read_whole_numbers_strictly(CLI::App& program) {
  for (CLI::Option* option : program.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "INT") option->transform(CLI::Validator(normalize<int64_t>, ""));
    // Negative numbers have a separate message.
    if (type == "UINT")
      option->transform(CLI::Validator(
          [](std::string& text) {
            return text.rfind('-', 0) == 0 ? std::string() : normalize<uint64_t>(text);
          },
          ""));
  }
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    read_whole_numbers_strictly(*command);
  }
}

}  // namespace millrace
