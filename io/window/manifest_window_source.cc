#include "io/window/manifest_window_source.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace millrace {

std::optional<ManifestWindowSource::Number> ManifestWindowSource::parse(absl::string_view stem) {
  const std::vector<absl::string_view> parts = absl::StrSplit(stem, '-');
  Number number{0, -1};
  const auto read = [](absl::string_view digits, int64_t* value) {
    return !digits.empty() && absl::ascii_isdigit(digits.front()) &&
           absl::SimpleAtoi(digits, value);
  };
  if (parts.size() > 2 || !read(parts[0], &number.first)) return std::nullopt;
  if (parts.size() == 2 && !read(parts[1], &number.second)) return std::nullopt;
  return number;
}

absl::StatusOr<ManifestWindowSource::Listing> ManifestWindowSource::list() const {
  Listing listing;
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.list(config_.path()),
                   "windows.manifest.path");
  for (const DirectoryEntry& entry : entries) {
    listing.has_end |= entry.name == "_END";
    absl::string_view stem = entry.name;
    if (!absl::ConsumeSuffix(&stem, ".manifest")) continue;
    const std::optional<Number> number = parse(stem);
    if (!number.has_value()) continue;
    const auto [place, is_new] = listing.manifests.emplace(*number, entry.name);
    if (is_new) continue;
    return absl::DataLossError(
        absl::StrCat(config_.path(), ": ", place->second, " and ", entry.name, " have one number"));
  }
  return listing;
}

absl::StatusOr<Found> ManifestWindowSource::find(bool no_more, WindowPosition& position) {
  std::optional<Number> last = Number{-1, -1};
  if (position.has_last_name()) last = parse(position.last_name());
  if (!last.has_value()) {
    return absl::InvalidArgumentError("the position is not of windows of manifests");
  }
  ASSIGN_OR_RETURN(Listing listing, list());
  if (listing.has_end) {
    // Manifests that arrived during the first listing may be missing from it.
    ASSIGN_OR_RETURN(listing, list());
  }
  seen_ = static_cast<int64_t>(listing.manifests.size());
  const auto next = listing.manifests.upper_bound(*last);
  if (next == listing.manifests.end()) {
    waits_for_ = absl::StrCat("a manifest in ", config_.path());
    return no_more || listing.has_end ? Found::kEnded : Found::kNotYet;
  }
  ASSIGN_OR_RETURN(const std::string text,
                   read_file(files_, join_path(config_.path(), next->second)));
  position.clear_file();
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) position.add_file()->set_name(std::string(line));
  }
  const std::string stem(absl::StripSuffix(next->second, ".manifest"));
  position.set_last_name(stem);
  position.set_name(stem);
  return Found::kWindow;
}

}  // namespace millrace
