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

// The files of DataConfig.path, in their order; it ends after them.
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

  const std::vector<std::string> paths_;
  WindowCutter cutter_;
  const std::string waits_for_ = "nothing";
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_LIST_WINDOW_SOURCE_H_
