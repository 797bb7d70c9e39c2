// Window sources by their configuration.
#ifndef MILLRACE_IO_WINDOW_WINDOW_SOURCE_REGISTRY_H_
#define MILLRACE_IO_WINDOW_WINDOW_SOURCE_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "io/window/window_source.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

// Values that a window source is made with.
struct WindowSourceInput {
  FileSystem* files;      // lives longer than the source
  DataConfig data;        // `path`, `windows` and the format
  RowCounter count_rows;  // of one file
};

// Makes a window source. `config` has the extension that the part reads.
using WindowSourceFactory = std::function<absl::StatusOr<std::unique_ptr<WindowSource>>(
    const CustomConfig& config, const WindowSourceInput& input)>;

// Built-in kinds are also made with the number of names of a directory that a position keeps.
using WindowSourceRegistry =
    KindRegistry<WindowsConfig, WindowSourceFactory, KindCheck<WindowsConfig>, int64_t>;

// Returns the registry of window sources, which also has the built-in kinds; a list of paths is the
// default. The source of `data` is create(data.windows(), {&files, data, count_rows}, taken_names).
// REQUIRES: check_windows() accepts the data. Errors: those of the list
// of paths and of PartRegistry::create().
WindowSourceRegistry& window_source_registry();

// Checks data.windows. Errors: InvalidArgument that begins with `where`, its place in the
// configuration, and names the field.
absl::Status check_windows(absl::string_view where, const DataConfig& data);

}  // namespace millrace

// Use at namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_WINDOW_SOURCE(manifest, "files that a manifest lists", &Manifest::create);
#define MILLRACE_REGISTER_WINDOW_SOURCE(name, description, factory) \
  MILLRACE_REGISTER_PART(window_source, name, #name, description, factory)

#endif  // MILLRACE_IO_WINDOW_WINDOW_SOURCE_REGISTRY_H_
