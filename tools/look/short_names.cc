#include "tools/look/short_names.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/utf8/characters.h"

namespace millrace {
namespace {

std::string on_one_line(std::string text) {
  for (char& c : text) c = absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? ' ' : c;
  return text;
}

// Returns whole characters from the beginning of `text`, in at most `limit` bytes. REQUIRES: `text`
// is longer.
absl::string_view front_of(absl::string_view text, size_t limit) {
  while (limit > 0 && continues_character(text[limit])) --limit;
  return text.substr(0, limit);
}

// Returns the same from the end.
absl::string_view back_of(absl::string_view text, size_t limit) {
  size_t begin = text.size() - limit;
  while (begin < text.size() && continues_character(text[begin])) ++begin;
  return text.substr(begin);
}

}  // namespace

std::vector<std::string> short_names(absl::Span<const std::string> texts, size_t limit) {
  std::vector<std::string> names;
  absl::flat_hash_map<std::string, int64_t> counts;
  for (const std::string& text : texts) {
    std::string& name = names.emplace_back(on_one_line(text));
    const size_t front = (limit - 1) / 2;
    if (name.size() > limit) {
      name = absl::StrCat(front_of(name, front), "~", back_of(name, limit - 1 - front));
    }
    ++counts[name];
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (texts[i].size() <= limit || counts[names[i]] == 1) continue;
    const std::string number = absl::StrCat("~#", i + 1);
    const size_t front = limit - std::min(limit, number.size());
    names[i] = absl::StrCat(front_of(on_one_line(texts[i]), front), number);
  }
  return names;
}

std::vector<std::string> without_common_directories(std::vector<std::string> paths) {
  if (paths.empty()) return paths;
  absl::string_view common = paths[0];
  for (const std::string& path : paths) {
    const auto [end, other] = std::mismatch(common.begin(), common.end(), path.begin(), path.end());
    common = common.substr(0, end - common.begin());
  }
  const size_t slash = common.rfind('/');
  const size_t length = slash == absl::string_view::npos ? 0 : slash + 1;
  for (std::string& path : paths) path.erase(0, length);
  return paths;
}

}  // namespace millrace
