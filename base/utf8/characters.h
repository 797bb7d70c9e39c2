// Characters of texts in UTF-8.
#ifndef MILLRACE_BASE_UTF8_CHARACTERS_H_
#define MILLRACE_BASE_UTF8_CHARACTERS_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns the number of characters (code points) of `text`, which a terminal shows in as many
// columns for Latin, Greek and Cyrillic letters. Bytes that are not UTF-8 count one by one, except
// those of 0x80 to 0xbf.
size_t count_characters(absl::string_view text);

// Returns the first `count` characters of `text`, or all.
absl::string_view first_characters(absl::string_view text, size_t count);

}  // namespace millrace

#endif  // MILLRACE_BASE_UTF8_CHARACTERS_H_
