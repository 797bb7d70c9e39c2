// Second names of files, on file systems with hard links.
#ifndef MILLRACE_BASE_HARD_LINKS_H_
#define MILLRACE_BASE_HARD_LINKS_H_

#include <string>

#include "absl/status/status.h"

namespace millrace {

// Implemented by a FileSystem (base/file_system.h) whose files can have several names, in addition
// to that class. Thread-safe.
class HardLinks {
 public:
  virtual ~HardLinks() = default;
  // Makes the bytes of the file `from` durable and gives the file a second name. The bytes are
  // stored once, until the last name is removed. The new name is durable after sync_directory().
  // Errors: as FileSystem has for writing; PermissionDenied also if `to` exists; Unavailable if the
  // disk does not support hard links.
  virtual absl::Status link(const std::string& from, const std::string& to) = 0;
};

// Calls HardLinks::link() of `files`. Errors: as HardLinks::link(); Unimplemented if `files` is no
// HardLinks.
template <typename Files>
absl::Status link_file(Files& files, const std::string& from, const std::string& to) {
  auto* const links = dynamic_cast<HardLinks*>(&files);
  if (links != nullptr) return links->link(from, to);
  return absl::UnimplementedError("this file system has no hard links");
}

}  // namespace millrace

#endif  // MILLRACE_BASE_HARD_LINKS_H_
