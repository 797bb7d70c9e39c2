#include "base/path/file_sizes.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millrace {

std::string file_sizes_text(const FileSizes& sizes) {
  return absl::StrCat(absl::StrJoin(sizes, "\n", absl::PairFormatter(" ")), "\n");
}

FileSizes parse_file_sizes(absl::string_view lines) {
  FileSizes sizes;
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> file = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    int64_t size = 0;
    if (absl::SimpleAtoi(file.second, &size)) sizes[file.first] = size;
  }
  return sizes;
}

}  // namespace millrace
