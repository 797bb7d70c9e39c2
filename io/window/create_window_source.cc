#include "io/window/create_window_source.h"

#include <utility>

#include "base/status_macros.h"
#include "io/window/directory_window_source.h"
#include "io/window/list_window_source.h"
#include "io/window/time_window_source.h"
#include "io/window/window_source_registry.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<WindowSource>> create_window_source(FileSystem& files,
                                                                   const DataConfig& data,
                                                                   RowCounter count_rows,
                                                                   int64_t taken_names) {
  const WindowsConfig& windows = data.windows();
  std::unique_ptr<WindowSource> source;
  if (windows.has_directory()) {
    source =
        std::make_unique<DirectoryWindowSource>(files, windows, std::move(count_rows), taken_names);
  } else if (windows.has_time()) {
    source = std::make_unique<TimeWindowSource>(files, windows.time());
  } else if (windows.has_custom()) {
    return window_source_registry().create(windows.custom(),
                                           WindowSourceInput{&files, data, std::move(count_rows)});
  } else {
    ASSIGN_OR_RETURN(source, ListWindowSource::create(files, data, std::move(count_rows)));
  }
  return source;
}

}  // namespace millrace
