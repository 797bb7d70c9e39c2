// The digest of the headers that a program and its plugins share, made while they are built.
#ifndef MILLRACE_PLUGIN_HEADER_DIGEST_H_
#define MILLRACE_PLUGIN_HEADER_DIGEST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// The texts of headers by the path that `#include` names.
using HeaderTexts = std::map<std::string, std::string>;

// Returns the text of a C++ file without comments and with one space at most between two tokens,
// none beside a bracket, comma or semicolon. Preprocessor directives keep their lines. String,
// character and raw string literals are unchanged, also if `//` is in them. Texts of different
// tokens have different results.
// Errors: InvalidArgument naming the line of a comment or raw string without end.
absl::StatusOr<std::string> strip_header(absl::string_view text);

struct HeaderDigest {
  std::string digest;                // SHA-256
  std::vector<std::string> headers;  // paths of the headers that are part of it, sorted
};

// Returns the digest of `roots` and of all headers of `texts` that they include, directly or not. A
// header that they do not include changes nothing. Includes under a condition count, and those of
// headers that are not in `texts` are left out.
// Errors: NotFound for a root that is not in `texts`; those of strip_header, with the path.
absl::StatusOr<HeaderDigest> digest_headers(const HeaderTexts& texts,
                                            const std::vector<std::string>& roots);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_HEADER_DIGEST_H_
