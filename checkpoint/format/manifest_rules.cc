// The rules of docs/checkpoint_format.md about manifests.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/format/safetensors_header.h"
#include "checkpoint/format/tensor_type.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;
using Table = CheckpointManifest::Table;
using Tensor = CheckpointManifest::Tensor;

template <typename... Parts>
absl::Status refuse(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status check_digest(absl::string_view text, absl::string_view of) {
  if (parse_digest(text)) return absl::OkStatus();
  return refuse("the digest of ", of, " is not 32 hexadecimal digits");
}

// The required type and shape of the tensor table/NAME/<rest>, given n rows. A dimension of -1 may
// have any size.
struct Expected {
  TensorType type;
  std::vector<int64_t> shape;
};

std::optional<Expected> expected_tensor(const CheckpointManifest& manifest, const Table& table,
                                        absl::string_view rest, int64_t rows) {
  if (rest == "ids" || rest == "frequency" || rest == "last_step") {
    return Expected{TensorType::kI64, {rows}};
  }
  if (rest == "weights") {
    return Expected{tensor_type_of_name(table.dtype()).value(), {rows, table.dim()}};
  }
  if (rest == "admission/ids" || rest == "evicted/ids" || rest == "evicted/steps" ||
      (rest == "tombstones" && manifest.has_base())) {
    return Expected{TensorType::kI64, {-1}};
  }
  if (rest == "admission/counts") return Expected{TensorType::kU32, {-1}};
  if (rest == "admission/sketch") return Expected{TensorType::kU8, {-1, -1, -1}};
  if (!absl::ConsumePrefix(&rest, "slot/")) return std::nullopt;
  for (const CheckpointManifest::Slot& slot : table.slots()) {
    if (slot.name() == rest) return Expected{TensorType::kF32, {rows, slot.size()}};
  }
  return std::nullopt;
}

bool fits(const Tensor& tensor, const Expected& expected) {
  if (tensor.dtype() != tensor_type_name(expected.type)) return false;
  if (tensor.shape_size() != static_cast<int>(expected.shape.size())) return false;
  for (int i = 0; i < tensor.shape_size(); ++i) {
    if (expected.shape[i] != -1 && tensor.shape(i) != expected.shape[i]) return false;
  }
  return true;
}

class Checker {
 public:
  explicit Checker(const CheckpointManifest& manifest) : manifest_(manifest) {}

  absl::Status check() {
    RETURN_IF_ERROR(check_fields());
    RETURN_IF_ERROR(check_base());
    RETURN_IF_ERROR(check_best());
    RETURN_IF_ERROR(check_tables());
    RETURN_IF_ERROR(check_files());
    RETURN_IF_ERROR(check_ranks());
    RETURN_IF_ERROR(check_left_out());
    RETURN_IF_ERROR(check_referred_files());
    RETURN_IF_ERROR(check_train_columns());
    return check_table_files();
  }

 private:
  absl::Status check_fields() {
    RETURN_IF_ERROR(check_digest(manifest_.digest(), "the manifest"));
    if (manifest_.format_version() < 1 || manifest_.format_version() > kCheckpointFormatVersion) {
      return refuse("format_version is ", manifest_.format_version());
    }
    const auto& progress = manifest_.progress();
    if (!progress.has_step()) return refuse("progress has no step");
    for (const int64_t count :
         {progress.step(), progress.examples(), progress.epoch(), progress.window(),
          progress.skipped_steps(), progress.skipped_examples()}) {
      if (count < 0) return refuse("progress has a negative number");
    }
    if (manifest_.world_size() < 1 || manifest_.world_size() > kMaxNumberedFiles) {
      return refuse("world_size is ", manifest_.world_size());
    }
    std::set<int> parts;
    for (const int part : manifest_.parts()) {
      if (part == CheckpointManifest::UNKNOWN_PART || !parts.insert(part).second) {
        return refuse("a part twice, or unknown");
      }
    }
    std::set<std::string> names;
    for (const std::string& digest : manifest_.state_digests()) {
      RETURN_IF_ERROR(check_digest(digest, "a rank's state"));
    }
    for (const auto& digest : manifest_.content_digests()) {
      RETURN_IF_ERROR(check_digest(digest.digest(), digest.name()));
      if (!names.insert(digest.name()).second) {
        return refuse("two content digests named ", digest.name());
      }
    }
    return absl::OkStatus();
  }

  absl::Status check_best() {
    if (!manifest_.has_best()) return absl::OkStatus();
    const CheckpointManifest::BestScore& best = manifest_.best();
    if (best.score().empty() || !std::isfinite(best.value()) || !best.has_value()) {
      return refuse("the best score is incomplete");
    }
    if (!best.has_step() || best.step() < 0 || best.step() > manifest_.progress().step()) {
      return refuse("a best score of step ", best.step(), " at step ", manifest_.progress().step());
    }
    return absl::OkStatus();
  }

  absl::Status check_base() {
    if (!manifest_.has_base()) return absl::OkStatus();
    const CheckpointManifest::Base& base = manifest_.base();
    RETURN_IF_ERROR(check_digest(base.digest(), "the base"));
    if (base.step() < 0 || base.step() >= manifest_.progress().step()) {
      return refuse("a base of step ", base.step(), " for step ", manifest_.progress().step());
    }
    if (base.depth() >= 1 && base.depth() <= kMaxDeltaDepth) return absl::OkStatus();
    return refuse("a base of depth ", base.depth(), "; 1 to ", kMaxDeltaDepth, " may be");
  }

  absl::Status check_tables() {
    for (const Table& table : manifest_.tables()) {
      if (!is_table_name(table.name())) return refuse("bad name of a table: ", table.name());
      if (!tables_.emplace(table.name(), TableFiles{&table, {}}).second) {
        return refuse("two tables named ", table.name());
      }
      if (table.dim() < 1 || table.dim() > 4096) {
        return refuse("table ", table.name(), " has dim ", table.dim());
      }
      if (table.dtype() != "F32" && table.dtype() != "F16" && table.dtype() != "BF16") {
        return refuse("table ", table.name(), " has dtype ", table.dtype());
      }
      if (table.rows() < 0 || table.applied_steps() < 0 || table.evicted_log_begins() < 0) {
        return refuse("table ", table.name(), " has a negative number");
      }
      if (table.has_state_digest()) {
        RETURN_IF_ERROR(
            check_digest(table.state_digest(), absl::StrCat("the state of table ", table.name())));
        // The first format version has no state of tables.
        if (manifest_.format_version() < 2 ||
            !has_part(manifest_, CheckpointManifest::TABLE_STATE)) {
          return refuse("table ", table.name(), " has a digest of state that is not there");
        }
      }
      std::set<std::string> slots;
      for (const CheckpointManifest::Slot& slot : table.slots()) {
        if (!slots.insert(slot.name()).second || slot.name().empty() || slot.size() < 1) {
          return refuse("table ", table.name(), " has a bad slot: ", slot.name());
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status check_files() {
    std::string previous;
    for (const File& file : manifest_.files()) {
      if (file.name() <= previous) return refuse("file ", file.name(), " after ", previous);
      previous = file.name();
      if (file.size() < 0) return refuse("file ", file.name(), " has a negative size");
      RETURN_IF_ERROR(check_digest(file.digest(), file.name()));
      if (file.rank() < 0 || file.rank() >= manifest_.world_size()) {
        return refuse("file ", file.name(), " is of rank ", file.rank());
      }
      RETURN_IF_ERROR(check_tensors(file), absl::StrCat("file ", file.name()));
      switch (file.kind()) {
        case CheckpointManifest::DENSE_FILE: dense_.push_back(&file); break;
        case CheckpointManifest::STATE_FILE: states_.push_back(&file); break;
        case CheckpointManifest::CHUNKS_FILE: chunks_.push_back(&file); break;
        case CheckpointManifest::TABLE_FILE: {
          const auto table = tables_.find(file.table());
          if (table == tables_.end()) return refuse("file ", file.name(), " has no table");
          table->second.files.push_back(&file);
          break;
        }
        default: return refuse("file ", file.name(), " has no kind");
      }
    }
    // The names of dense files contain the number of dense files, which is known only now.
    for (size_t i = 0; i < dense_.size(); ++i) {
      RETURN_IF_ERROR(check_name(*dense_[i], dense_file_name(i, dense_.size())));
    }
    return absl::OkStatus();
  }

  static absl::Status check_name(const File& file, const std::string& name) {
    if (file.name() == name) return absl::OkStatus();
    return refuse("file ", file.name(), " where ", name, " is due");
  }

  absl::Status check_tensors(const File& file) {
    const bool has_tensors = file.kind() == CheckpointManifest::DENSE_FILE ||
                             file.kind() == CheckpointManifest::TABLE_FILE;
    if (!has_tensors) {
      return file.tensors_size() == 0 ? absl::OkStatus() : refuse("tensors where none may be");
    }
    std::set<std::string> names;
    // Tensors fill the file without gaps and overlaps, so that each byte belongs to one tensor.
    int64_t end = file.tensors_size() == 0 ? 0 : file.tensors(0).offset();
    if (end < 0) return refuse("a tensor at ", end);
    for (const Tensor& tensor : file.tensors()) {
      RETURN_IF_ERROR(check_tensor_name(tensor.name()));
      if (!names.insert(tensor.name()).second) return refuse("tensor ", tensor.name(), " twice");
      const bool of_table =
          absl::StartsWith(tensor.name(), absl::StrCat("table/", file.table(), "/"));
      if (file.kind() == CheckpointManifest::TABLE_FILE
              ? !of_table
              : absl::StartsWith(tensor.name(), "table/") ||
                    !dense_names_.insert(tensor.name()).second) {
        return refuse("tensor ", tensor.name(), " may not be there");
      }
      const std::optional<TensorType> type = tensor_type_of_name(tensor.dtype());
      const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
      const std::optional<int64_t> bytes =
          type && shape.size() <= kMaxTensorRank ? tensor_bytes(*type, shape) : std::nullopt;
      if (!bytes || tensor.offset() != end || __builtin_add_overflow(end, *bytes, &end)) {
        return refuse("tensor ", tensor.name(), ", ", tensor.dtype(), " [",
                      absl::StrJoin(shape, ", "), "] at ", tensor.offset(), ", cannot be");
      }
    }
    if (file.tensors_size() == 0 || end == file.size()) return absl::OkStatus();
    return refuse("tensors end at ", end, ", the file at ", file.size());
  }

  absl::Status check_ranks() {
    const size_t ranks = manifest_.world_size();
    const bool with_state = has_part(manifest_, CheckpointManifest::RANK_STATE);
    if (chunks_.size() != ranks) return refuse(chunks_.size(), " chunks files of ", ranks);
    if (states_.size() != (with_state ? ranks : 0)) {
      return refuse(states_.size(), " state files of ", with_state ? ranks : 0);
    }
    for (size_t rank = 0; rank < ranks; ++rank) {
      RETURN_IF_ERROR(check_name(*chunks_[rank], chunks_file_name(rank, ranks)));
      if (with_state) RETURN_IF_ERROR(check_name(*states_[rank], state_file_name(rank, ranks)));
      if (chunks_[rank]->rank() != static_cast<int>(rank) ||
          (with_state && states_[rank]->rank() != static_cast<int>(rank))) {
        return refuse("a file of rank ", rank, " says another rank");
      }
    }
    return absl::OkStatus();
  }

  absl::Status check_left_out() {
    std::string previous;
    for (const std::string& name : manifest_.left_out()) {
      if (name <= previous) return refuse("left_out has \"", name, "\" after \"", previous, "\"");
      previous = name;
      if (tables_.count(name) > 0 || dense_names_.count(name) > 0) {
        return refuse(name, " is there, and said to be left out");
      }
    }
    return absl::OkStatus();
  }

  absl::Status check_referred_files() {
    std::string previous;
    for (const CheckpointManifest::ReferredFile& file : manifest_.referred_files()) {
      if (file.path() <= previous) {
        return refuse("referred file \"", file.path(), "\" after \"", previous, "\"");
      }
      previous = file.path();
      if (file.size() < 0) return refuse("file ", file.path(), " has a negative size");
      RETURN_IF_ERROR(check_digest(file.digest(), file.path()));
    }
    return absl::OkStatus();
  }

  absl::Status check_train_columns() {
    if (manifest_.format_version() < 3 && manifest_.train_columns_size() > 0) {
      return refuse("train_columns in format version ", manifest_.format_version());
    }
    std::string previous;
    for (const DataIdentity::Column& column : manifest_.train_columns()) {
      if (column.name() <= previous) {
        return refuse("column \"", column.name(), "\" after \"", previous, "\"");
      }
      previous = column.name();
      if (column.cells() != DataIdentity::UNKNOWN_CELLS) continue;
      return refuse("the cells of column \"", column.name(), "\" are not known");
    }
    return absl::OkStatus();
  }

  absl::Status check_table_files() {
    for (const auto& [name, table] : tables_) {
      uint64_t next = 0;
      int64_t rows = 0;
      for (size_t i = 0; i < table.files.size(); ++i) {
        const File& file = *table.files[i];
        RETURN_IF_ERROR(check_name(file, table_file_name(name, i, table.files.size())));
        const bool last = i + 1 == table.files.size();
        if (file.first_hash() != next || file.last_hash() < file.first_hash() ||
            last != (file.last_hash() == UINT64_MAX)) {
          return refuse("file ", file.name(), " is for hashes ", file.first_hash(), " to ",
                        file.last_hash(), "; ", next, " comes next");
        }
        next = file.last_hash() + 1;
        RETURN_IF_ERROR(check_table_tensors(*table.table, file, &rows),
                        absl::StrCat("file ", file.name()));
      }
      const bool whole = has_part(manifest_, CheckpointManifest::ROWS) && !manifest_.has_base();
      if (whole && !table.files.empty() && rows != table.table->rows()) {
        return refuse("table ", name, " has ", table.table->rows(), " rows, its files ", rows);
      }
    }
    return absl::OkStatus();
  }

  // Adds the rows of the file to `rows`.
  absl::Status check_table_tensors(const Table& table, const File& file, int64_t* rows) {
    const std::string prefix = absl::StrCat("table/", table.name(), "/");
    int64_t here = 0;
    for (const Tensor& tensor : file.tensors()) {
      if (tensor.name() == prefix + "ids" && tensor.shape_size() == 1) here = tensor.shape(0);
    }
    for (const Tensor& tensor : file.tensors()) {
      const absl::string_view rest = absl::string_view(tensor.name()).substr(prefix.size());
      const auto expected = expected_tensor(manifest_, table, rest, here);
      if (!expected) return refuse("unknown tensor ", tensor.name());
      if (!fits(tensor, *expected)) {
        return refuse("tensor ", tensor.name(), " is ", tensor.dtype(), " [",
                      absl::StrJoin(tensor.shape(), ", "), "] in a table of ", here, " rows here");
      }
    }
    *rows += here;
    return absl::OkStatus();
  }

  struct TableFiles {
    const Table* table;
    std::vector<const File*> files;
  };

  const CheckpointManifest& manifest_;
  std::map<std::string, TableFiles> tables_;
  std::vector<const File*> dense_, states_, chunks_;
  std::set<std::string> dense_names_;
};

}  // namespace

absl::Status check_manifest(const CheckpointManifest& manifest) {
  return Checker(manifest).check();
}

}  // namespace millrace
