// Windows of the files that manifests list.
#ifndef MILLRACE_IO_WINDOW_MANIFEST_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_MANIFEST_WINDOW_SOURCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "io/window/window_source.h"

namespace millrace {

// A window is the files of one manifest. The next one has the lowest number, N or N-P, above
// WindowPosition.last_name, where N is below N-0. So a manifest that arrives after one with a
// higher number was taken is never read.
class ManifestWindowSource : public WindowSource {
 public:
  // Borrows `files`.
  ManifestWindowSource(FileSystem& files, const ManifestWindows& config)
      : files_(files), config_(config) {}

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override;
  std::string path_of(const std::string& name) const override { return name; }
  const std::string& waits_for() const override { return waits_for_; }
  int64_t seen() const override { return seen_; }

 private:
  using Number = std::pair<int64_t, int64_t>;  // without a part: -1
  static std::optional<Number> parse(absl::string_view stem);
  struct Listing {
    std::map<Number, std::string> manifests;  // names
    bool has_end = false;
  };
  absl::StatusOr<Listing> list() const;

  FileSystem& files_;
  const ManifestWindows config_;
  std::string waits_for_;
  int64_t seen_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_MANIFEST_WINDOW_SOURCE_H_
