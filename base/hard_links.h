// Second names of files, for the file systems that have them.
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
  // Makes the bytes of the file `from` durable and gives it a second name. They are stored once,
  // and stay until the last name is removed. The new name is durable after sync_directory().
  // Errors: those of writing a file; PermissionDenied too if something is at `to`; Unavailable if
  // the disk has no such links.
  virtual absl::Status link(const std::string& from, const std::string& to) = 0;
};

// Calls HardLinks::link if `files` implements it. Errors: those, and Unimplemented if it does not.
template <typename Files>
absl::Status link_file(Files& files, const std::string& from, const std::string& to) {
  auto* const links = dynamic_cast<HardLinks*>(&files);
  if (links != nullptr) return links->link(from, to);
  return absl::UnimplementedError("this file system has no hard links");
}

}  // namespace millrace

#endif  // MILLRACE_BASE_HARD_LINKS_H_
