// ORC files, through Arrow. Stripes are the row groups.
#ifndef MILLRACE_IO_FORMAT_ORC_READER_H_
#define MILLRACE_IO_FORMAT_ORC_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/file_reader.h"

namespace millrace {

// Opens an ORC file, registered as DataConfig::ORC for ".orc". Part of a stripe is read by
// seeking in it. Errors as FileOpener says.
absl::StatusOr<std::unique_ptr<FileReader>> open_orc(
    FileSystem& files, const std::string& path,
    int64_t max_group_bytes = DataConfig::default_instance().max_group_bytes());

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ORC_READER_H_
