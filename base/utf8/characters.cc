#include "base/utf8/characters.h"

#include <algorithm>
#include <cstdint>

namespace millrace {

bool is_utf8(absl::string_view text) {
  constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};  // of characters with so many bytes more
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc0 || first >= 0xf8 || text.size() - i < more) return false;
    uint32_t point = first & (0x3f >> more);
    for (const size_t end = i + more; i < end; ++i) {
      if (!continues_character(text[i])) return false;
      point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
    }
    const bool is_surrogate = point >= 0xd800 && point < 0xe000;
    if (point < kLeast[more] || point > 0x10ffff || is_surrogate) return false;
  }
  return true;
}

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
