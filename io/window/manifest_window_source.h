// Windows of the files that manifests list.
#ifndef MILLRACE_IO_WINDOW_MANIFEST_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_MANIFEST_WINDOW_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/window/window_source.h"

namespace millrace {

// The window after manifest N (WindowPosition.last_name) is that of the lowest number above N. So a
// manifest that arrives after one with a higher number was taken is never read.
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
  absl::StatusOr<std::map<int64_t, std::string>> manifests() const;

  FileSystem& files_;
  const ManifestWindows config_;
  std::string waits_for_;
  int64_t seen_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_MANIFEST_WINDOW_SOURCE_H_
