// Text in the format of libsvm, libfm and libffm.
#ifndef MILLRACE_IO_FORMAT_LIBSVM_READER_H_
#define MILLRACE_IO_FORMAT_LIBSVM_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/file_reader.h"
#include "proto/config.pb.h"

namespace millrace {

// Opens lines of
//
//   label [qid:number] index:value index:value ... [# anything]
//
// registered as DataConfig::LIBSVM for ".libsvm", ".svm" and ".libfm", and with fields > 0 those of
// libffm, `field:index:value` (".libffm", ".ffm"). Lines are cut and grouped as those of delimited
// text (io/format/text_lines.h). Columns:
//
//   label   kDouble
//   qid     kInt64; missing where a line has none
//   index   kUint64, lists         with fields: index_0, index_1, ..., those of each field
//   value   kDouble, as many       with fields: value_0, value_1, ...
//
// Indices are decimal, of up to 64 bits, in any order. Errors as FileOpener says; a line that is
// otherwise, or names a field beyond the last one, is a bad row.
absl::StatusOr<std::unique_ptr<FileReader>> open_libsvm(
    FileSystem& files, const std::string& path, const DataConfig& config,
    std::shared_ptr<const FileLayout> layout = nullptr);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_LIBSVM_READER_H_
