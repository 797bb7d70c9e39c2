#include "base/utf8/characters.h"

#include <algorithm>

namespace millrace {

size_t count_characters(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(),
                                           [](char byte) { return !continues_character(byte); }));
}

absl::string_view first_characters(absl::string_view text, size_t count) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (continues_character(text[end])) continue;
    if (count == 0) break;
    --count;
  }
  return text.substr(0, end);
}

}  // namespace millrace
