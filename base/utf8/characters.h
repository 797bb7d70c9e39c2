// Characters of texts in UTF-8.
#ifndef MILLRACE_BASE_UTF8_CHARACTERS_H_
#define MILLRACE_BASE_UTF8_CHARACTERS_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns true for a byte of a character other than its first: 0x80 to 0xbf.
inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Returns true if `text` is UTF-8 without overlong forms, surrogates and code points above
// U+10FFFF.
bool is_utf8(absl::string_view text);

// Returns the number of characters (code points) of `text`. A terminal needs one column for a
// Latin, Greek or Cyrillic letter. In bytes other than UTF-8, each byte with continues_character()
// == false counts.
size_t count_characters(absl::string_view text);

// Returns the first `count` characters of `text`, or all.
absl::string_view first_characters(absl::string_view text, size_t count);

}  // namespace millrace

#endif  // MILLRACE_BASE_UTF8_CHARACTERS_H_
