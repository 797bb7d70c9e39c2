// Second names of files, for the file systems that have them.
#ifndef MILLRACE_BASE_HARD_LINKS_H_
#define MILLRACE_BASE_HARD_LINKS_H_

#include <string>

#include "absl/status/status.h"

namespace millrace {

// What a FileSystem (base/file_system.h) can do beside: it derives from this class too.
// Thread-safe.
class HardLinks {
 public:
  virtual ~HardLinks() = default;
  // Gives the file `from` a second name. Its bytes are stored once, and stay until the last name
  // is removed. The new name is durable after sync_directory().
  // Errors: those of writing a file; PermissionDenied too if something is at `to`; Unavailable if
  // the disk has no such links.
  virtual absl::Status link(const std::string& from, const std::string& to) = 0;
};

// The same in any file system. Errors: Unimplemented too, if `files` has no such links.
template <typename Files>
absl::Status link_file(Files& files, const std::string& from, const std::string& to) {
  auto* const links = dynamic_cast<HardLinks*>(&files);
  if (links != nullptr) return links->link(from, to);
  return absl::UnimplementedError("this file system has no hard links");
}

}  // namespace millrace

#endif  // MILLRACE_BASE_HARD_LINKS_H_
