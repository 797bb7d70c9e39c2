#include "io/window/manifest_window_source.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace millrace {

// Returns the names of the manifests by number.
absl::StatusOr<std::map<int64_t, std::string>> ManifestWindowSource::manifests() const {
  std::map<int64_t, std::string> found;
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.list(config_.path()),
                   "windows.manifest.path");
  for (const DirectoryEntry& entry : entries) {
    absl::string_view digits = entry.name;
    int64_t number = 0;
    if (!absl::ConsumeSuffix(&digits, ".manifest") || digits.empty() ||
        !absl::ascii_isdigit(digits.front()) || !absl::SimpleAtoi(digits, &number)) {
      continue;
    }
    const auto [place, is_new] = found.emplace(number, entry.name);
    if (is_new) continue;
    return absl::DataLossError(
        absl::StrCat(config_.path(), ": ", place->second, " and ", entry.name, " have one number"));
  }
  return found;
}

absl::StatusOr<Found> ManifestWindowSource::find(bool no_more, WindowPosition& position) {
  int64_t last = -1;
  if (position.has_last_name() && !absl::SimpleAtoi(position.last_name(), &last)) {
    return absl::InvalidArgumentError("the position is not of windows of manifests");
  }
  ASSIGN_OR_RETURN(const auto all, manifests());
  seen_ = static_cast<int64_t>(all.size());
  const auto next = all.upper_bound(last);
  if (next == all.end()) {
    waits_for_ = absl::StrCat("a manifest in ", config_.path());
    return no_more ? Found::kEnded : Found::kNotYet;
  }
  ASSIGN_OR_RETURN(const std::string text,
                   read_file(files_, join_path(config_.path(), next->second)));
  position.clear_file();
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) position.add_file()->set_name(std::string(line));
  }
  position.set_last_name(absl::StrCat(next->first));
  position.set_name(std::string(absl::StripSuffix(next->second, ".manifest")));
  return Found::kWindow;
}

}  // namespace millrace
