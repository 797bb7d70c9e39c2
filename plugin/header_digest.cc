#include "plugin/header_digest.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "plugin/sha256.h"

namespace millrace {
namespace {

bool is_word(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Returns true for a character that is always a separate token.
bool is_alone(char c) { return absl::string_view("(){}[];,").find(c) != absl::string_view::npos; }

// Reads a text once, from the first to the last character.
class HeaderStripper {
 public:
  explicit HeaderStripper(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::string> strip() {
    while (at_ < text_.size()) {
      if (const size_t splice = splice_at(at_); splice > 0) {
        skip_space(splice);
      } else if (text_[at_] == '\n') {
        end_line();
      } else if (absl::ascii_isspace(text_[at_])) {
        skip_space(1);
      } else if (starts("//")) {
        skip_line_comment();
      } else if (starts("/*")) {
        RETURN_IF_ERROR(skip_comment());
      } else {
        RETURN_IF_ERROR(take_token());
      }
    }
    end_line();
    return std::move(out_);
  }

 private:
  bool starts(absl::string_view with) const { return absl::StartsWith(text_.substr(at_), with); }

  // Returns the number of characters of a backslash and an end of line, or 0.
  size_t splice_at(size_t at) const {
    if (absl::StartsWith(text_.substr(at), "\\\n")) return 2;
    return absl::StartsWith(text_.substr(at), "\\\r\n") ? 3 : 0;
  }

  void skip_space(size_t size) {
    at_ += size;
    space_ = true;
  }

  // Treats the end of a line as white space, except at the end of a directive.
  void end_line() {
    if (directive_) out_ += '\n';
    space_ = !directive_ && !out_.empty() && out_.back() != '\n';
    directive_ = false;
    first_ = true;
    ++at_;
  }

  void skip_line_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      const size_t splice = splice_at(at_);
      at_ += splice > 0 ? splice : 1;
    }
    space_ = true;
  }

  absl::Status skip_comment() {
    const size_t end = text_.find("*/", at_ + 2);
    if (end == absl::string_view::npos) return no_end("comment");
    at_ = end + 2;
    space_ = true;
    return absl::OkStatus();
  }

  absl::Status take_token() {
    if (first_ && text_[at_] == '#') {
      directive_ = true;
      if (!out_.empty() && out_.back() != '\n') out_ += '\n';
      space_ = false;
    }
    first_ = false;
    if (needs_space()) out_ += ' ';
    space_ = false;
    if (absl::ascii_isdigit(text_[at_])) return take(number_end());
    if (is_word(text_[at_])) return take_word();
    if (text_[at_] == '"' || text_[at_] == '\'') return take(literal_end());
    return take(at_ + 1);
  }

  // White space distinguishes `F (x)` from `F(x)` in a directive.
  bool needs_space() const {
    if (!space_ || out_.empty() || out_.back() == '\n') return false;
    return directive_ || (!is_alone(out_.back()) && !is_alone(text_[at_]));
  }

  absl::Status take(size_t end) {
    absl::StrAppend(&out_, text_.substr(at_, end - at_));
    at_ = end;
    return absl::OkStatus();
  }

  // A number may have quotes between its digits: 1'000.
  size_t number_end() const {
    size_t end = at_ + 1;
    while (end < text_.size()) {
      const bool quote = text_[end] == '\'' && end + 1 < text_.size() && is_word(text_[end + 1]);
      if (!is_word(text_[end]) && text_[end] != '.' && !quote) break;
      ++end;
    }
    return end;
  }

  absl::Status take_word() {
    size_t end = at_ + 1;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const absl::string_view word = text_.substr(at_, end - at_);
    const bool raw = word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
    if (!raw || end == text_.size() || text_[end] != '"') return take(end);
    const size_t open = text_.find('(', end);
    if (open == absl::string_view::npos) return no_end("raw string");
    const std::string close = absl::StrCat(")", text_.substr(end + 1, open - end - 1), "\"");
    const size_t found = text_.find(close, open);
    if (found == absl::string_view::npos) return no_end("raw string");
    return take(found + close.size());
  }

  // Returns the position after a literal. A quote that is not closed on the same line, as in the
  // text of #error, is an ordinary character.
  size_t literal_end() const {
    const char quote = text_[at_];
    for (size_t end = at_ + 1; end < text_.size() && text_[end] != '\n'; ++end) {
      if (text_[end] == quote) return end + 1;
      if (const size_t splice = splice_at(end); splice > 0) {
        end += splice - 1;
      } else if (text_[end] == '\\') {
        ++end;
      }
    }
    return at_ + 1;
  }

  absl::Status no_end(absl::string_view what) const {
    int64_t line = 1;
    for (const char c : text_.substr(0, at_)) line += c == '\n';
    return absl::InvalidArgumentError(absl::StrCat("line ", line, ": a ", what, " has no end"));
  }

  const absl::string_view text_;
  std::string out_;
  size_t at_ = 0;
  bool first_ = true;       // true before the first token of a line
  bool directive_ = false;  // true in a preprocessor directive
  bool space_ = false;      // white space precedes the next token
};

// Returns the names in the #include directives of a stripped text.
std::vector<std::string> included_names(absl::string_view stripped) {
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(stripped, '\n')) {
    if (!absl::ConsumePrefix(&line, "#")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "include")) continue;
    line = absl::StripAsciiWhitespace(line);
    if (line.size() > 2) names.emplace_back(line.substr(1, line.size() - 2));
  }
  return names;
}

// The compiler searches the folder of the including file first.
std::string resolve(const HeaderTexts& texts, const std::string& from, const std::string& name) {
  const size_t slash = from.rfind('/');
  if (slash != std::string::npos) {
    const std::string beside = absl::StrCat(from.substr(0, slash + 1), name);
    if (texts.count(beside) > 0) return beside;
  }
  return texts.count(name) > 0 ? name : "";
}

}  // namespace

absl::StatusOr<std::string> strip_header(absl::string_view text) {
  return HeaderStripper(text).strip();
}

absl::StatusOr<HeaderDigest> digest_headers(const HeaderTexts& texts,
                                            const std::vector<std::string>& roots) {
  // Sorted by path, so that the digest does not depend on the order of roots and inclusions.
  std::map<std::string, std::string> stripped;
  std::vector<std::string> left = roots;
  while (!left.empty()) {
    const std::string path = std::move(left.back());
    left.pop_back();
    if (stripped.count(path) > 0) continue;
    const auto found = texts.find(path);
    if (found == texts.end()) return absl::NotFoundError(absl::StrCat(path, " is not given"));
    ASSIGN_OR_RETURN(std::string text, strip_header(found->second), path);
    for (const std::string& name : included_names(text)) {
      if (std::string next = resolve(texts, path, name); !next.empty()) left.push_back(next);
    }
    stripped.emplace(path, std::move(text));
  }
  HeaderDigest result;
  std::string all;
  for (const auto& [path, text] : stripped) {
    // The size separates a text from the next path, so that different headers give different bytes.
    absl::StrAppend(&all, path, " ", text.size(), "\n", text);
    result.headers.push_back(path);
  }
  result.digest = sha256(all);
  return result;
}

}  // namespace millrace
