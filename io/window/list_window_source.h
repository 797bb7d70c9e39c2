// Windows of files that are all named beforehand.
#ifndef MILLRACE_IO_WINDOW_LIST_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_LIST_WINDOW_SOURCE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/window/window_cutter.h"
#include "io/window/window_source.h"

namespace millrace {

// The files of DataConfig.path, in their order; it ends after them. A list may grow at its end, and
// its folder may be moved between runs.
class ListWindowSource : public WindowSource {
 public:
  // Errors: as expand_paths.
  static absl::StatusOr<std::unique_ptr<WindowSource>> create(FileSystem& files,
                                                              const DataConfig& data,
                                                              RowCounter count_rows);

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override;
  std::string path_of(const std::string& name) const override { return name; }
  const std::string& waits_for() const override { return waits_for_; }
  int64_t seen() const override { return 0; }

 private:
  ListWindowSource(std::vector<std::string> paths, WindowCutter cutter)
      : paths_(std::move(paths)), cutter_(std::move(cutter)) {}

  // InvalidArgument unless the list begins with the files that `position` has taken.
  absl::Status check_taken(const WindowPosition& position);

  // Returns the hash of the first `count` paths.
  uint64_t digest_of(int64_t count);

  const std::vector<std::string> paths_;
  WindowCutter cutter_;
  int64_t digested_ = 0;  // paths in digest_
  uint64_t digest_ = 0;
  const std::string waits_for_ = "nothing";
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_LIST_WINDOW_SOURCE_H_
