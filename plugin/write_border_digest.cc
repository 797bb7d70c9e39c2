// Writes the digest of headers as a C++ header, and the list of the headers. Run by the rule
// border_digest (plugin_rules.bzl):
//
//   write_border_digest HEADER LIST ROOT... -- PATH=FILE...
//
// PATH is the path in `#include`, FILE the location of the header.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plugin/header_digest.h"

namespace millrace {
namespace {

int fail(absl::string_view what) {
  std::fprintf(stderr, "write_border_digest: %s\n", std::string(what).c_str());
  return 1;
}

bool read(const std::string& file, std::string& text) {
  std::ifstream in(file, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  return in.is_open() && !in.bad();
}

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text << std::flush;
  return out.good();
}

std::string header_text(const std::string& digest) {
  return absl::StrCat(
      "// The digest of the headers that a program and its plugins share (docs/plugins.md).\n"
      "#ifndef MILLRACE_PLUGIN_BORDER_DIGEST_H_\n#define MILLRACE_PLUGIN_BORDER_DIGEST_H_\n\n"
      "namespace millrace {\n\ninline constexpr char kBorderDigest[] =\n    \"",
      digest, "\";\n\n}  // namespace millrace\n\n#endif  // MILLRACE_PLUGIN_BORDER_DIGEST_H_\n");
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) return fail("HEADER LIST ROOT... -- PATH=FILE... are expected");
  std::vector<std::string> roots;
  size_t at = 2;
  while (at < arguments.size() && arguments[at] != "--") roots.push_back(arguments[at++]);
  HeaderTexts texts;
  for (++at; at < arguments.size(); ++at) {
    const size_t equals = arguments[at].find('=');
    if (equals == std::string::npos) return fail(absl::StrCat(arguments[at], ": no PATH=FILE"));
    const std::string file = arguments[at].substr(equals + 1);
    if (!read(file, texts[arguments[at].substr(0, equals)])) {
      return fail(absl::StrCat(file, ": cannot be read"));
    }
  }
  const absl::StatusOr<HeaderDigest> result = digest_headers(texts, roots);
  if (!result.ok()) return fail(result.status().message());
  for (const auto& [file, text] :
       {std::pair(arguments[0], header_text(result->digest)),
        std::pair(arguments[1], absl::StrCat(absl::StrJoin(result->headers, "\n"), "\n"))}) {
    if (!write(file, text)) return fail(absl::StrCat(file, ": cannot be written"));
  }
  return 0;
}

}  // namespace
}  // namespace millrace

int main(int count, char** arguments) { return millrace::run({arguments + 1, arguments + count}); }
