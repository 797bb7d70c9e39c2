// TFRecord files of tf.Example.
#ifndef MILLRACE_IO_FORMAT_TFRECORD_READER_H_
#define MILLRACE_IO_FORMAT_TFRECORD_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/file_reader.h"
#include "proto/config.pb.h"

namespace millrace {

// Opens a file of records, plain or compressed by gzip, registered as DataConfig::TFRECORD for
// ".tfrecord", ".tfrecords" and these with ".gz". A record is
//
//   uint64 length, uint32 masked CRC-32C of those eight bytes, the bytes, uint32 masked CRC-32C of
//   them
//
// in little-endian order, and its bytes are a tf.Example (proto/tf_example.proto). The file is
// looked through once for its records; up to 16384 of them or 8 MiB make a row group. A compressed
// file is one row group, which is decompressed as a whole and kept until it was read to its end: it
// must not take more than config.max_group_bytes.
//
// Features of the examples are columns: lists of int64, float (kDouble) or bytes (kString), by
// config.tfrecord.column; without it, the columns of the first 1000 examples with the types they
// have there, by name. A feature that an example lacks is a missing value. Errors as FileOpener
// says; damage is located by the number of the record, counted from 0, and by its byte in the file
// (decompressed). Bad rows are those whose bytes do not fit their checksum, are no tf.Example or
// have another type.
absl::StatusOr<std::unique_ptr<FileReader>> open_tfrecord(
    FileSystem& files, const std::string& path, const DataConfig& config,
    std::shared_ptr<const FileLayout> layout = nullptr);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_TFRECORD_READER_H_
