#include "checkpoint/testing/rows_checkpoint_testing.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/tensor_file_layout.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;
using Manifest = CheckpointManifest;

template <typename Number>
void append(const Number& number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

struct Tensors {
  std::vector<TensorInfo> infos;
  std::map<std::string, std::string> bytes;

  void add(const std::string& name, TensorType type, std::vector<int64_t> shape,
           std::string content) {
    infos.push_back({name, type, std::move(shape)});
    bytes[name] = std::move(content);
  }
};

absl::Status write_tensors(CommitDirectory& directory, const File& entry, const Tensors& tensors,
                           ThreadPool& threads) {
  ASSIGN_OR_RETURN(const TensorFileLayout layout,
                   TensorFileLayout::create(tensors.infos, {{kFormatKey, kCheckpointFormat}}));
  return directory.write_tensors(
      entry, layout,
      [&](const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes) {
        std::memcpy(bytes.data(), tensors.bytes.at(tensor.name).data() + begin, bytes.size());
        return absl::OkStatus();
      },
      threads);
}

// Returns the ids of the file by ascending hash.
std::vector<int64_t> of_file(std::vector<int64_t> ids, const File& file) {
  std::erase_if(ids, [&](int64_t id) {
    return placement_hash(id) < file.first_hash() || placement_hash(id) > file.last_hash();
  });
  std::sort(ids.begin(), ids.end(),
            [](int64_t a, int64_t b) { return placement_hash(a) < placement_hash(b); });
  return ids;
}

std::string bytes_of(const std::vector<int64_t>& ids) {
  std::string bytes;
  for (const int64_t id : ids) append(id, &bytes);
  return bytes;
}

Tensors table_tensors(const RowsCheckpoint& content, const std::vector<int64_t>& ids,
                      const std::vector<int64_t>& tombstones) {
  Tensors tensors;
  std::string weights, sums, frequencies, last_steps;
  for (const int64_t id : ids) {
    const TestRow& row = content.rows.at(id);
    for (const float weight : row.weights) append(weight, &weights);
    append(row.sum, &sums);
    append(row.frequency, &frequencies);
    append(row.last_step, &last_steps);
  }
  const std::string prefix = absl::StrCat("table/", content.table, "/");
  const int64_t n = ids.size(), t = tombstones.size();
  tensors.add(prefix + "ids", TensorType::kI64, {n}, bytes_of(ids));
  tensors.add(prefix + "weights", TensorType::kF32, {n, content.dim}, weights);
  if (t > 0) tensors.add(prefix + "tombstones", TensorType::kI64, {t}, bytes_of(tombstones));
  if (!content.row_state) return tensors;
  tensors.add(prefix + "slot/sum", TensorType::kF32, {n, 1}, sums);
  tensors.add(prefix + "frequency", TensorType::kI64, {n}, frequencies);
  tensors.add(prefix + "last_step", TensorType::kI64, {n}, last_steps);
  return tensors;
}

absl::uint128 table_digest(const RowsCheckpoint& content) {
  absl::uint128 digest = 0;
  for (const auto& [id, row] : content.rows) {
    std::string bytes;
    append(id, &bytes);
    for (const float weight : row.weights) append(weight, &bytes);
    if (content.row_state) {
      append(row.sum, &bytes);
      append(row.frequency, &bytes);
      append(row.last_step, &bytes);
    }
    digest += xxh3_128(bytes);
  }
  return digest;
}

void add_digest(const std::string& name, absl::uint128 digest, Manifest* manifest) {
  Manifest::ContentDigest* entry = manifest->add_content_digests();
  entry->set_name(name);
  entry->set_digest(format_digest(digest));
}

Manifest rows_manifest(const RowsCheckpoint& content) {
  Manifest manifest;
  manifest.mutable_progress()->set_step(content.step);
  manifest.add_parts(Manifest::DENSE);
  manifest.add_parts(Manifest::ROWS);
  if (content.row_state) manifest.add_parts(Manifest::ROW_STATE);
  manifest.set_fingerprint(content.fingerprint);
  manifest.set_config(content.config);
  if (content.finished) manifest.set_finished(true);
  Manifest::Table* table = manifest.add_tables();
  table->set_name(content.table);
  table->set_dim(content.dim);
  table->set_dtype("F32");
  table->set_rows(content.rows.size());
  if (content.row_state) {
    Manifest::Slot* slot = table->add_slots();
    slot->set_name("sum");
    slot->set_size(1);
  }
  add_digest(absl::StrCat("table/", content.table), table_digest(content), &manifest);
  return manifest;
}

absl::Status set_base(FileSystem& files, const std::string& path, Manifest* manifest) {
  ASSIGN_OR_RETURN(const auto reader, CheckpointReader::open(files, path));
  const Manifest& base = reader->manifest();
  manifest->mutable_base()->set_step(base.progress().step());
  manifest->mutable_base()->set_digest(base.digest());
  manifest->mutable_base()->set_depth(base.has_base() ? base.base().depth() + 1 : 1);
  return absl::OkStatus();
}

absl::Status write_dense(CommitDirectory& directory, const RowsCheckpoint& content,
                         Manifest* manifest, ThreadPool& threads) {
  Tensors tensors;
  absl::uint128 digest = 0;
  for (const auto& [name, values] : content.dense) {
    std::string bytes;
    for (const float value : values) append(value, &bytes);
    const std::vector<int64_t> shape = {static_cast<int64_t>(values.size())};
    digest += dense_tensor_digest(name, TensorType::kF32, shape, bytes);
    tensors.add(name, TensorType::kF32, shape, bytes);
  }
  add_digest("dense", digest, manifest);
  File entry;
  entry.set_name(dense_file_name(0, 1));
  entry.set_kind(Manifest::DENSE_FILE);
  return write_tensors(directory, entry, tensors, threads);
}

}  // namespace

absl::Status write_rows_checkpoint(FileSystem& files, const std::string& folder,
                                   const RowsCheckpoint& content, const RowsCheckpoint* base) {
  ThreadPool threads(1);
  Manifest manifest = rows_manifest(content);
  std::vector<int64_t> ids, tombstones;
  for (const auto& [id, row] : content.rows) {
    const bool same = base != nullptr && base->rows.count(id) > 0 && base->rows.at(id) == row;
    if (!same) ids.push_back(id);
  }
  if (base != nullptr) {
    RETURN_IF_ERROR(set_base(files, join_path(folder, checkpoint_name(base->step)), &manifest));
    for (const auto& [id, row] : base->rows) {
      if (content.rows.count(id) == 0) tombstones.push_back(id);
    }
  }
  ASSIGN_OR_RETURN(const auto directory,
                   CommitDirectory::begin(files, {folder, content.step, new_nonce(), 0, 1}));
  RETURN_IF_ERROR(write_dense(*directory, content, &manifest, threads));
  const uint64_t share = UINT64_MAX / content.table_files;
  for (int i = 0; i < content.table_files; ++i) {
    File entry;
    entry.set_name(table_file_name(content.table, i, content.table_files));
    entry.set_kind(Manifest::TABLE_FILE);
    entry.set_table(content.table);
    entry.set_first_hash(share * i);
    entry.set_last_hash(i + 1 == content.table_files ? UINT64_MAX : share * (i + 1) - 1);
    RETURN_IF_ERROR(write_tensors(
        *directory, entry, table_tensors(content, of_file(ids, entry), of_file(tombstones, entry)),
        threads));
  }
  ASSIGN_OR_RETURN(const std::vector<File> entries, directory->finish_files(threads));
  for (const File& file : entries) *manifest.add_files() = file;
  return directory->commit(manifest, threads).status();
}

std::map<int64_t, TestRow> test_rows(int64_t count, int64_t dim, int64_t seed) {
  std::map<int64_t, TestRow> rows;
  for (int64_t id = 1; id <= count; ++id) {
    TestRow& row = rows[id];
    for (int64_t i = 0; i < dim; ++i) {
      row.weights.push_back(static_cast<float>(xxh3(absl::StrCat(id, "/", i), seed) % 1000) /
                            100.0f);
    }
    row.sum = static_cast<float>(id);
    row.frequency = id + seed;
    row.last_step = id % 10;
  }
  return rows;
}

}  // namespace millrace
