// The conformance suite of file systems that are read.
#ifndef MILLRACE_IO_FILES_FILE_SYSTEM_CONFORMANCE_H_
#define MILLRACE_IO_FILES_FILE_SYSTEM_CONFORMANCE_H_

#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// A file system and a directory in it.
struct FileSystemSubject {
  std::unique_ptr<FileSystem> files;
  std::string directory;  // its URI, without a slash at its end
};

struct FileSystemConformance {
  // Makes a directory with the files of `contents` alone: paths below it, such as "sub/d.csv", and
  // what they hold. Called once a test, so that files of an earlier call may be gone.
  std::function<FileSystemSubject(const std::map<std::string, std::string>& contents)> make;
  // False if glob() has no alternatives in braces.
  bool has_braces = true;
};

// Returns the promises of FileSystem and ReadableFile to those who read: files have their size and
// content, at any place, also beyond their end, for several threads; info() and link_info()
// describe files and directories; list() is sorted and has kinds; glob() matches as local files do;
// and missing files, and directories in place of a file or the reverse, are the documented errors,
// which name the URI.
std::vector<Property> file_system_properties(const FileSystemConformance& conformance);

// Registers them as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kStore =
//       register_file_system_conformance("Store", {.make = fill_store});
bool register_file_system_conformance(const std::string& suite,
                                      const FileSystemConformance& conformance,
                                      std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_IO_FILES_FILE_SYSTEM_CONFORMANCE_H_
