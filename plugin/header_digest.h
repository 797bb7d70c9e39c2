// The digest of the headers shared by a program and its plugins, computed during the build.
#ifndef MILLRACE_PLUGIN_HEADER_DIGEST_H_
#define MILLRACE_PLUGIN_HEADER_DIGEST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Texts of headers by their `#include` paths.
using HeaderTexts = std::map<std::string, std::string>;

// Returns the text of a C++ file without comments. Between two tokens is at most one space, and
// none next to a bracket, comma or semicolon. Preprocessor directives keep their lines. String,
// character and raw string literals are unchanged, even if they contain `//`. Texts of different
// tokens have different results.
// Errors: InvalidArgument with the line of an unterminated comment or raw string.
absl::StatusOr<std::string> strip_header(absl::string_view text);

struct HeaderDigest {
  std::string digest;                // SHA-256
  std::vector<std::string> headers;  // paths of the digested headers, sorted
};

// Returns the digest of `roots` and of all headers of `texts` that are included, directly or
// indirectly. Other headers have no effect. Includes under a condition count. Included headers
// missing in `texts` are omitted.
// Errors: NotFound for a root missing in `texts`; errors of strip_header, with the path.
absl::StatusOr<HeaderDigest> digest_headers(const HeaderTexts& texts,
                                            const std::vector<std::string>& roots);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_HEADER_DIGEST_H_
