// Checkpoints of one table whose files a test specifies byte by byte.
#ifndef MILLRACE_CHECKPOINT_TESTING_TABLE_FILES_TESTING_H_
#define MILLRACE_CHECKPOINT_TESTING_TABLE_FILES_TESTING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/format/safetensors_header.h"
#include "checkpoint/state/table_writer.h"
#include "embedding/table/embedding_table.h"

namespace millrace {

// One tensor; its name omits "table/items/".
struct FileTensor {
  TensorType type = TensorType::kI64;
  std::vector<int64_t> shape;
  std::string bytes;
};
using FileTensors = std::map<std::string, FileTensor>;

// Returns the bytes of these numbers.
template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}
template <typename T>
std::vector<T> numbers_of(const std::string& bytes) {
  const auto* first = reinterpret_cast<const T*>(bytes.data());
  return std::vector<T>(first, first + bytes.size() / sizeof(T));
}

// Saves a table with TableWriter as FOLDER/step-NNNNNNNN, with no other content.
absl::Status write_table(FileSystem& files, const std::string& folder, int64_t step,
                         const EmbeddingTable& table, const TableWriterOptions& options = {},
                         std::optional<CheckpointManifest::Base> base = std::nullopt,
                         int threads = 1);

// Saves a table over several ranks: the shards of all ranks, in the order of ranks. The result is
// the files of one writer.
absl::Status write_shards(FileSystem& files, const std::string& folder, int64_t step,
                          const std::vector<std::unique_ptr<EmbeddingTable>>& shards,
                          const TableWriterOptions& options = {},
                          std::optional<CheckpointManifest::Base> base = std::nullopt);

// Returns the tensors of each of a table's files, in the order of the files.
absl::StatusOr<std::vector<FileTensors>> read_table_files(const CheckpointReader& checkpoint);

// Saves the manifest of `like` with these tensors in its files. All digests are correct, even for
// invalid content.
absl::Status write_table_files(FileSystem& files, const std::string& folder,
                               CheckpointManifest like, const std::vector<FileTensors>& content);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TESTING_TABLE_FILES_TESTING_H_
