#include "sinks/mlflow/mlflow_names.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/checksum/crc32c.h"

namespace millrace {
namespace {

constexpr size_t kMostBytes = 250;
constexpr absl::string_view kAccepted = "_-. :/";

std::string replace_characters(absl::string_view name) {
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) continue;  // the rest of a character of UTF-8
    const bool accepted = absl::ascii_isalnum(byte) || kAccepted.find(c) != kAccepted.npos;
    result.push_back(accepted ? c : c == '=' ? ':' : '_');
  }
  return result;
}

// The server refuses names that, as paths, would name another file.
std::string replace_parts(const std::string& name) {
  std::vector<std::string> parts = absl::StrSplit(name, '/');
  for (std::string& part : parts) {
    if (part.empty() || part == "." || part == "..") part = "_";
  }
  return absl::StrJoin(parts, "/");
}

// Returns `name` cut to the limit, with a hash of `of` at its end.
std::string with_hash(const std::string& name, absl::string_view of) {
  const std::string end = absl::StrCat("_", absl::Hex(crc32c(of), absl::kZeroPad8));
  return absl::StrCat(name.substr(0, kMostBytes - end.size()), end);
}

}  // namespace

std::string mlflow_name(absl::string_view name) {
  std::string result = replace_parts(replace_characters(name));
  return result.size() <= kMostBytes ? result : with_hash(result, name);
}

const std::string& MlflowNames::of(const std::string& name) {
  const auto [place, is_new] = names_.try_emplace(name);
  if (!is_new) return place->second;
  std::string metric = mlflow_name(name);
  for (std::string hashed = name; !taken_.insert(metric).second; hashed += "_") {
    metric = with_hash(mlflow_name(name), hashed);
  }
  place->second = metric;
  return place->second;
}

}  // namespace millrace
