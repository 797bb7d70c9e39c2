#include "io/files/glob_pattern.h"

namespace millrace {

bool is_glob_pattern(absl::string_view path) {
  return path.find_first_of("*?[{") != absl::string_view::npos;
}

std::string literal_pattern(absl::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (absl::string_view("*?[]{},\\").find(c) != absl::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace millrace
