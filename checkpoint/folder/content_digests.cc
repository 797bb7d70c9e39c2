#include "checkpoint/folder/content_digests.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;

constexpr int64_t kRowsAtOnce = 4096;

void append_int64(int64_t value, std::string* bytes) {
  char little_endian[sizeof(value)];
  std::memcpy(little_endian, &value, sizeof(value));
  bytes->append(little_endian, sizeof(value));
}

absl::StatusOr<absl::uint128> digest_of_dense_file(const CheckpointReader& checkpoint,
                                                   const File& file, DigestOf of) {
  ASSIGN_OR_RETURN(const auto opened, checkpoint.open_file(file));
  ASSIGN_OR_RETURN(const TensorFileLayout layout, checkpoint.layout(file));
  ChunkCursor cursor(*opened);
  absl::uint128 sum = 0;
  std::string bytes;
  for (const TensorInfo& tensor : layout.tensors()) {
    if (of == DigestOf::kModel && !is_of_model(tensor.name)) continue;
    bytes.resize(tensor.size_bytes());
    RETURN_IF_ERROR(cursor.read(layout.data_begin() + tensor.begin, absl::MakeSpan(bytes)));
    sum += dense_tensor_digest(tensor.name, tensor.type, tensor.shape, bytes);
  }
  return sum;
}

// A tensor of a table's file, in the form that enters the digest of a row.
struct DigestColumn {
  const TensorInfo* tensor;
  std::unique_ptr<ChunkCursor> cursor;
  int64_t row_bytes = 0;
  int64_t padded_bytes = 0;
  std::string block = {};
};

class RowDigester {
 public:
  RowDigester(const ChunkedFile& file, const TensorFileLayout& layout)
      : file_(file), layout_(layout) {}

  // Adds a column, in the order of the formula. Does nothing if the tensor does not exist.
  void add(const std::string& name) {
    for (const TensorInfo& tensor : layout_.tensors()) {
      if (tensor.name != name) continue;
      rows_ = tensor.shape[0];
      DigestColumn column{&tensor, std::make_unique<ChunkCursor>(file_)};
      column.row_bytes = rows_ == 0 ? 0 : tensor.size_bytes() / rows_;
      column.padded_bytes = (column.row_bytes + 3) / 4 * 4;
      columns_.push_back(std::move(column));
    }
  }

  absl::StatusOr<absl::uint128> digest() {
    absl::uint128 sum = 0;
    std::string row;
    for (int64_t first = 0; first < rows_; first += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, rows_ - first);
      for (DigestColumn& column : columns_) {
        column.block.resize(count * column.row_bytes);
        RETURN_IF_ERROR(column.cursor->read(
            layout_.data_begin() + column.tensor->begin + first * column.row_bytes,
            absl::MakeSpan(column.block)));
      }
      for (int64_t i = 0; i < count; ++i) {
        row.clear();
        for (const DigestColumn& column : columns_) {
          row.append(column.block, i * column.row_bytes, column.row_bytes);
          row.append(column.padded_bytes - column.row_bytes, '\0');
        }
        sum += xxh3_128(row);
      }
    }
    return sum;
  }

 private:
  const ChunkedFile& file_;
  const TensorFileLayout& layout_;
  int64_t rows_ = 0;
  std::vector<DigestColumn> columns_;
};

absl::StatusOr<absl::uint128> digest_of_table_file(const CheckpointReader& checkpoint,
                                                   const CheckpointManifest::Table& table,
                                                   const File& file, DigestOf of) {
  ASSIGN_OR_RETURN(const auto opened, checkpoint.open_file(file));
  ASSIGN_OR_RETURN(const TensorFileLayout layout, checkpoint.layout(file));
  const std::string prefix = absl::StrCat("table/", table.name(), "/");
  RowDigester digester(*opened, layout);
  digester.add(prefix + "ids");
  digester.add(prefix + "weights");
  if (of == DigestOf::kModel) return digester.digest();
  for (const auto& slot : table.slots()) digester.add(absl::StrCat(prefix, "slot/", slot.name()));
  digester.add(prefix + "frequency");
  digester.add(prefix + "last_step");
  return digester.digest();
}

}  // namespace

absl::uint128 dense_tensor_digest(absl::string_view name, TensorType type,
                                  absl::Span<const int64_t> shape, absl::string_view bytes) {
  std::string start(name);
  start.push_back('\0');
  absl::StrAppend(&start, tensor_type_name(type));
  start.push_back('\0');
  append_int64(shape.size(), &start);
  for (const int64_t dimension : shape) append_int64(dimension, &start);
  Xxh3Stream stream;
  stream.update(start);
  stream.update(bytes);
  return stream.digest();
}

absl::StatusOr<std::map<std::string, absl::uint128>> compute_content_digests(
    const CheckpointReader& checkpoint, DigestOf of, ThreadPool& threads) {
  struct Task {
    std::string name;
    const File* file;
    const CheckpointManifest::Table* table;
    absl::StatusOr<absl::uint128> digest = absl::uint128(0);
  };
  const CheckpointManifest& manifest = checkpoint.manifest();
  // Makes a task of each file, so that a table of many files uses all threads.
  std::vector<Task> tasks;
  for (const File& file : manifest.files()) {
    if (file.kind() == CheckpointManifest::DENSE_FILE) tasks.push_back({"dense", &file, nullptr});
    if (file.kind() != CheckpointManifest::TABLE_FILE) continue;
    for (const auto& table : manifest.tables()) {
      if (table.name() != file.table()) continue;
      tasks.push_back({absl::StrCat("table/", table.name()), &file, &table});
    }
  }
  threads.parallel_for(tasks.size(), [&](int64_t i) {
    Task& task = tasks[i];
    task.digest = catch_exceptions([&] {
      return task.table == nullptr ? digest_of_dense_file(checkpoint, *task.file, of)
                                   : digest_of_table_file(checkpoint, *task.table, *task.file, of);
    });
  });
  // The digest of a table is the sum over its files and so does not depend on their number.
  std::map<std::string, absl::uint128> digests;
  for (const Task& task : tasks) {
    RETURN_IF_ERROR(task.digest.status());
    digests[task.name] += *task.digest;
  }
  return digests;
}

absl::uint128 combined_content_digest(const CheckpointManifest& manifest) {
  std::map<std::string, absl::uint128> digests;
  for (const auto& digest : manifest.content_digests()) {
    digests[digest.name()] = parse_digest(digest.digest()).value_or(0);
  }
  Xxh3Stream stream;
  for (const auto& [name, digest] : digests) {
    stream.update(name);
    stream.update(absl::string_view("\0", 1));
    stream.update(digest_bytes(digest));
  }
  return stream.digest();
}

}  // namespace millrace
