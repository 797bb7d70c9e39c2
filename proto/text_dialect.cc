#include "proto/text_dialect.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr char kExample[] =
    "protobuf text format is expected, such as train { seed: 1 model { name: \"deepfm\" } }";

bool is_utf16(absl::string_view text) {
  return absl::StartsWith(text, "\xFF\xFE") || absl::StartsWith(text, "\xFE\xFF") ||
         absl::StrContains(text, absl::string_view("\0", 1));
}

// Returns true for Parquet, ORC and delimited text, whose first line has several cells.
bool is_data(absl::string_view text) {
  if (absl::StartsWith(text, "PAR1") || absl::StartsWith(text, "ORC")) return true;
  const absl::string_view first = text.substr(0, text.find('\n'));
  // Text format, JSON and YAML have braces, colons or words alone in their first line.
  return !is_utf16(text) && first.find_first_of(",;\t|") != absl::string_view::npos &&
         first.find_first_of("{}[:#") == absl::string_view::npos;
}

// Returns the line without quoted text and comments.
std::string outside_quotes(absl::string_view line) {
  std::string outside;
  char quote = '\0';
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0') {
      if (c == '\\') ++i;
      if (c == quote) quote = '\0';
      continue;
    }
    if (c == '#') break;
    if (c == '"' || c == '\'') {
      quote = c;
    } else {
      outside += c;
    }
  }
  return outside;
}

// Returns true for "train:" without text after the colon.
bool is_bare_key(absl::string_view line) {
  if (!absl::ConsumeSuffix(&line, ":") || line.empty()) return false;
  for (const char c : line) {
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  }
  return true;
}

// Returns true for an object or an array. Text format may begin with the name of an extension in
// brackets.
bool is_json(absl::string_view stripped) {
  if (absl::ConsumePrefix(&stripped, "{")) return true;
  if (!absl::ConsumePrefix(&stripped, "[")) return false;
  stripped = absl::StripLeadingAsciiWhitespace(stripped);
  return !stripped.empty() && !absl::ascii_isalpha(stripped[0]) && stripped[0] != '_';
}

bool is_yaml(const std::vector<absl::string_view>& lines) {
  bool after_key = false;
  for (const absl::string_view line : lines) {
    const absl::string_view word = absl::StripAsciiWhitespace(line);
    if (word.empty() || word[0] == '#') continue;
    if (word == "---" || absl::StartsWith(word, "- ")) return true;
    // A value or a message may follow in text format, but no other field.
    if (after_key && absl::ascii_isalpha(word[0]) && absl::StrContains(word, ":")) return true;
    after_key = is_bare_key(word);
  }
  return false;
}

}  // namespace

absl::string_view without_byte_order_mark(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return text;
}

std::string dialect_hint(absl::string_view text, int line) {
  if (is_data(text)) {
    return "; this is data, not a configuration: draft one with millrace config init FILE";
  }
  if (is_utf16(text)) return "; the file is no UTF-8 text: save it as UTF-8";
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  if (is_json(stripped)) {
    return absl::StrCat("; this looks like JSON: ", kExample);
  }
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (line >= 1 && line <= static_cast<int>(lines.size())) {
    const std::string outside = outside_quotes(lines[line - 1]);
    if (absl::StrContains(outside, "//") || absl::StrContains(outside, "/*")) {
      return "; comments begin with #";
    }
  }
  if (is_yaml(lines)) return absl::StrCat("; this looks like YAML: ", kExample);
  return "";
}

}  // namespace millrace
