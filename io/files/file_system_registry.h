// File systems from outside, by the scheme of their URIs.
#ifndef MILLRACE_IO_FILES_FILE_SYSTEM_REGISTRY_H_
#define MILLRACE_IO_FILES_FILE_SYSTEM_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/parts/part_registry.h"

namespace millrace {

// Makes the file system of a scheme. Its functions get whole URIs, such as "store://bucket/name".
// Data is read by open, info, link_info, glob and list, which any threads may call; nothing is
// written. Called when a URI of the scheme is used first; if several threads do that at a time, the
// first result stays.
using FileSystemFactory = std::function<absl::StatusOr<std::unique_ptr<FileSystem>>()>;

// Returns the registry of file systems. The name of a part is its scheme. It also has the schemes
// that UriFileSystem reads itself.
PartRegistry<FileSystemFactory>& file_system_registry();

}  // namespace millrace

// Use at namespace scope in a .cc whose cc_library says `alwayslink = True`, for paths store://…:
//   MILLRACE_REGISTER_FILE_SYSTEM(store, "objects of the store", &create_store);
// A scheme that is no identifier, such as a+b, is added by file_system_registry().add().
#define MILLRACE_REGISTER_FILE_SYSTEM(scheme, description, factory) \
  MILLRACE_REGISTER_PART(file_system, scheme, #scheme, description, factory)

#endif  // MILLRACE_IO_FILES_FILE_SYSTEM_REGISTRY_H_
