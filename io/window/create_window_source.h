// The window source that a configuration names.
#ifndef MILLRACE_IO_WINDOW_CREATE_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_CREATE_WINDOW_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/window/window_source.h"
#include "proto/config.pb.h"

namespace millrace {

// Creates the source of data.windows. `taken_names`: number of names of a directory that a position
// keeps. Borrows `files`.
// REQUIRES: it is valid (io/window/windows_check.h). Errors: as a list's paths and of
// PartRegistry::create.
absl::StatusOr<std::unique_ptr<WindowSource>> create_window_source(FileSystem& files,
                                                                   const DataConfig& data,
                                                                   RowCounter count_rows,
                                                                   int64_t taken_names);

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_CREATE_WINDOW_SOURCE_H_
