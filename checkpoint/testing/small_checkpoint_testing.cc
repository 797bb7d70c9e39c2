#include "checkpoint/testing/small_checkpoint_testing.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
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

constexpr uint64_t kHalf = uint64_t{1} << 63;

// The content of one safetensors file.
struct TensorFile {
  File entry;
  std::vector<TensorInfo> tensors = {};
  std::map<std::string, std::string> bytes = {};

  // Adds a tensor whose bytes are a function of the seed and the name.
  void add(const std::string& name, TensorType type, std::vector<int64_t> shape, int64_t seed) {
    std::string content(tensor_bytes(type, shape).value(), '\0');
    for (size_t i = 0; i < content.size(); ++i) {
      const uint64_t random = xxh3(absl::StrCat(name, "/", i), seed);
      content[i] = static_cast<char>(type == TensorType::kBool ? random & 1 : random & 0x3f);
    }
    put(name, type, std::move(shape), std::move(content));
  }
  void put(const std::string& name, TensorType type, std::vector<int64_t> shape,
           std::string content) {
    tensors.push_back({name, type, std::move(shape)});
    bytes[name] = std::move(content);
  }
};

TensorFile dense_file(const SmallCheckpoint& options) {
  TensorFile file;
  file.entry.set_name(dense_file_name(0, 1));
  file.entry.set_kind(CheckpointManifest::DENSE_FILE);
  file.add("fc.weight", TensorType::kF32, {3, 2}, options.seed);
  file.add("optimizer/fc.weight/exp_avg", TensorType::kF32, {3, 2}, options.seed);
  file.add("on", TensorType::kBool, {3}, options.seed);
  return file;
}

TensorFile table_file(const SmallCheckpoint& options, int index) {
  TensorFile file;
  file.entry.set_name(table_file_name("items", index, 2));
  file.entry.set_kind(CheckpointManifest::TABLE_FILE);
  file.entry.set_table("items");
  file.entry.set_first_hash(index == 0 ? 0 : kHalf);
  file.entry.set_last_hash(index == 0 ? kHalf - 1 : UINT64_MAX);
  std::vector<uint64_t> hashes;
  for (int64_t id = 1; id <= options.rows; ++id) {
    const uint64_t hash = placement_hash(id);
    if ((hash >= kHalf) == (index == 1)) hashes.push_back(hash);
  }
  std::sort(hashes.begin(), hashes.end());
  std::string ids;
  for (const uint64_t hash : hashes) {
    const int64_t id = inverse_placement_hash(hash);
    ids.append(reinterpret_cast<const char*>(&id), sizeof(id));
  }
  const int64_t n = hashes.size();
  file.put("table/items/ids", TensorType::kI64, {n}, ids);
  file.add("table/items/weights", TensorType::kBf16, {n, 3}, options.seed);
  file.add("table/items/slot/sum", TensorType::kF32, {n, 2}, options.seed);
  file.add("table/items/frequency", TensorType::kI64, {n}, options.seed);
  file.add("table/items/last_step", TensorType::kI64, {n}, options.seed);
  file.add("table/items/admission/counts", TensorType::kU32, {2}, options.seed);
  file.add("table/items/admission/ids", TensorType::kI64, {2}, options.seed);
  return file;
}

std::vector<TensorFile> tensor_files(const SmallCheckpoint& options, int rank) {
  std::vector<TensorFile> files;
  if (rank == 0) files.push_back(dense_file(options));
  for (int i = 0; i < 2; ++i) {
    if (i % options.world_size == rank) files.push_back(table_file(options, i));
  }
  return files;
}

std::string state_of(const SmallCheckpoint& options, int rank) {
  return absl::StrCat("state of rank ", rank, ", seed ", options.seed,
                      options.finished ? ", finished" : "");
}

absl::Status write_file(CommitDirectory& writer, const TensorFile& file, ThreadPool& threads) {
  ASSIGN_OR_RETURN(const TensorFileLayout layout,
                   TensorFileLayout::create(file.tensors, {{kFormatKey, kCheckpointFormat}}));
  return writer.write_tensors(
      file.entry, layout,
      [&](const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes) {
        std::memcpy(bytes.data(), file.bytes.at(tensor.name).data() + begin, bytes.size());
        return absl::OkStatus();
      },
      threads);
}

// Returns the digests computed by the formulas, from memory.
std::map<std::string, absl::uint128> content_digests(const SmallCheckpoint& options) {
  std::map<std::string, absl::uint128> digests;
  const TensorFile dense = dense_file(options);
  for (const TensorInfo& tensor : dense.tensors) {
    digests["dense"] +=
        dense_tensor_digest(tensor.name, tensor.type, tensor.shape, dense.bytes.at(tensor.name));
  }
  for (int i = 0; i < 2; ++i) {
    const TensorFile table = table_file(options, i);
    auto part = [&](const char* name, int64_t row, int64_t size) {
      return table.bytes.at(absl::StrCat("table/items/", name)).substr(row * size, size);
    };
    for (int64_t row = 0; row < table.tensors[0].shape[0]; ++row) {
      digests["table/items"] += xxh3_128(part("ids", row, 8) + part("weights", row, 6) +
                                         std::string(2, '\0') + part("slot/sum", row, 8) +
                                         part("frequency", row, 8) + part("last_step", row, 8));
    }
  }
  return digests;
}

CheckpointManifest manifest_of(const SmallCheckpoint& options) {
  CheckpointManifest manifest;
  manifest.set_producer("test");
  manifest.mutable_progress()->set_step(options.step);
  manifest.mutable_progress()->set_examples(options.step * 100);
  for (int part = CheckpointManifest::DENSE; part <= CheckpointManifest::RANK_STATE; ++part) {
    manifest.add_parts(static_cast<CheckpointManifest::Part>(part));
  }
  if (options.base) *manifest.mutable_base() = *options.base;
  manifest.set_fingerprint("job");
  if (options.finished) manifest.set_finished(true);
  if (options.best_step.has_value()) {
    manifest.mutable_best()->set_score("eval/auc, higher is better");
    manifest.mutable_best()->set_value(0.5);
    manifest.mutable_best()->set_step(*options.best_step);
  }
  for (const auto& [name, value] : options.metrics) {
    CheckpointManifest::Metric* metric = manifest.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
  for (const auto& [name, digest] : content_digests(options)) {
    CheckpointManifest::ContentDigest* content = manifest.add_content_digests();
    content->set_name(name);
    content->set_digest(format_digest(digest));
  }
  CheckpointManifest::Table* table = manifest.add_tables();
  table->set_name("items");
  table->set_dim(3);
  table->set_dtype("BF16");
  table->set_rows(options.rows);
  CheckpointManifest::Slot* slot = table->add_slots();
  slot->set_name("sum");
  slot->set_size(2);
  return manifest;
}

}  // namespace

absl::StatusOr<bool> write_small_checkpoint(FileSystem& files, const std::string& folder,
                                            const SmallCheckpoint& options) {
  ThreadPool threads(1);
  CheckpointManifest manifest = manifest_of(options);
  std::vector<std::unique_ptr<CommitDirectory>> writers;
  for (int rank = 0; rank < options.world_size; ++rank) {
    ASSIGN_OR_RETURN(std::unique_ptr<CommitDirectory> writer,
                     CommitDirectory::begin(files, {folder, options.step, options.nonce, rank,
                                                    options.world_size, options.keep_files}));
    writers.push_back(std::move(writer));
    for (const TensorFile& file : tensor_files(options, rank)) {
      RETURN_IF_ERROR(write_file(*writers[rank], file, threads));
    }
    File entry;
    entry.set_name(state_file_name(rank, options.world_size));
    entry.set_kind(CheckpointManifest::STATE_FILE);
    RETURN_IF_ERROR(writers[rank]->write(entry, state_of(options, rank)));
    ASSIGN_OR_RETURN(const std::vector<File> entries, writers[rank]->finish_files(threads));
    for (const File& file : entries) *manifest.add_files() = file;
  }
  return writers[0]->commit(manifest, threads);
}

absl::Status check_small_checkpoint(FileSystem& files, const std::string& path,
                                    const SmallCheckpoint& options) {
  ThreadPool threads(1);
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                   CheckpointReader::open(files, path));
  std::map<std::string, std::string> expected, found;
  for (int rank = 0; rank < options.world_size; ++rank) {
    for (const TensorFile& file : tensor_files(options, rank)) {
      for (const auto& [name, bytes] : file.bytes) expected[file.entry.name() + ":" + name] = bytes;
    }
    expected[state_file_name(rank, options.world_size)] = state_of(options, rank);
  }
  for (const File& file : reader->manifest().files()) {
    if (file.kind() == CheckpointManifest::CHUNKS_FILE) continue;
    if (file.kind() == CheckpointManifest::STATE_FILE) {
      ASSIGN_OR_RETURN(found[file.name()], reader->read_all(file, 1 << 20));
      continue;
    }
    RETURN_IF_ERROR(reader->read_tensors(
        file,
        [&](const TensorInfo& tensor, int64_t begin, absl::Span<const char> bytes) {
          std::string& content = found[file.name() + ":" + tensor.name];
          content.resize(tensor.size_bytes());
          content.replace(begin, bytes.size(), bytes.data(), bytes.size());
          return absl::OkStatus();
        },
        threads));
  }
  for (auto entry = expected.begin(); entry != expected.end();) {
    entry = entry->second.empty() ? expected.erase(entry) : std::next(entry);
  }
  if (expected == found) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, " holds something else"));
}

}  // namespace millrace
