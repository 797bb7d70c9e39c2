#include "base/utf8/characters.h"

#include <algorithm>

namespace millrace {
namespace {

// All bytes of a character but the first have this form.
bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

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
