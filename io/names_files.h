// Datasets that can say which files they wait for.
#ifndef MILLRACE_IO_NAMES_FILES_H_
#define MILLRACE_IO_NAMES_FILES_H_

#include <string>

namespace millrace {

// Implemented by datasets of files, beside Dataset, for whoever finds that next() blocks.
class NamesFiles {
 public:
  virtual ~NamesFiles() = default;
  // Returns the paths of the files that are being opened or read at this moment, separated by ", ";
  // "" if none is. From any thread.
  virtual std::string files_being_read() const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_NAMES_FILES_H_
