// The digest that pins files against deliberate change.
#ifndef MILLRACE_PLUGIN_SHA256_H_
#define MILLRACE_PLUGIN_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns SHA-256 (FIPS 180-4) of `bytes` in 64 lower-case hexadecimal digits.
//
// No library of a Millrace program provides SHA-256, and XXH3 (base/hash.h) does not resist a
// deliberate search for a second file of the same digest.
std::string sha256(absl::string_view bytes);

// Returns true if `text` has the form of such a digest; upper-case digits are accepted.
bool is_sha256(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_SHA256_H_
