// Datasets that report the files being waited for.
#ifndef MILLRACE_IO_NAMES_FILES_H_
#define MILLRACE_IO_NAMES_FILES_H_

#include <string>

namespace millrace {

// Implemented by datasets of files, in addition to Dataset, to report the files for which next()
// blocks.
class NamesFiles {
 public:
  virtual ~NamesFiles() = default;
  // Returns the paths of the files being opened or read now, separated by ", "; "" if none is. From
  // any thread.
  virtual std::string files_being_read() const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_NAMES_FILES_H_
