// Window sources from outside, by name.
#ifndef MILLRACE_IO_WINDOW_WINDOW_SOURCE_REGISTRY_H_
#define MILLRACE_IO_WINDOW_WINDOW_SOURCE_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/window/window_source.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

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

// Returns the registry of window sources, which also has the names of the built-in kinds.
CustomRegistry<WindowSourceFactory>& window_source_registry();

}  // namespace millrace

// Use at namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_WINDOW_SOURCE(manifest, "files that a manifest lists", &Manifest::create);
#define MILLRACE_REGISTER_WINDOW_SOURCE(name, description, factory) \
  MILLRACE_REGISTER_PART(window_source, name, #name, description, factory)

#endif  // MILLRACE_IO_WINDOW_WINDOW_SOURCE_REGISTRY_H_
