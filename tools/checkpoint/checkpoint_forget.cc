#include "tools/checkpoint/checkpoint_forget.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/chunked_file.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "checkpoint/inspect/table_scan.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;
using Table = CheckpointManifest::Table;
using Ids = std::unordered_set<int64_t>;

constexpr int64_t kIdsAtOnce = 1 << 16;
constexpr int64_t kMaxStateBytes = int64_t{1} << 30;  // of a state file, by the format

// Tensors of a table's file by what their rows are: an id in the tensor `ids`, and in `others` the
// rest of the same rows.
struct RowGroup {
  absl::string_view ids;
  std::vector<absl::string_view> others;  // a name that ends with / is a prefix
};

const std::vector<RowGroup>& row_groups() {
  static const auto* const groups =
      new std::vector<RowGroup>{{"ids", {"weights", "slot/", "frequency", "last_step"}},
                                {"admission/ids", {"admission/counts"}},
                                {"evicted/ids", {"evicted/steps"}},
                                {"tombstones", {}}};
  return *groups;
}

bool is_in_group(const RowGroup& group, absl::string_view tensor) {
  if (tensor == group.ids) return true;
  return std::any_of(group.others.begin(), group.others.end(), [&](absl::string_view other) {
    return absl::EndsWith(other, "/") ? absl::StartsWith(tensor, other) : tensor == other;
  });
}

// Bytes of numbers as in the digests of the format.
std::string little_endian(std::initializer_list<int64_t> numbers) {
  std::string bytes;
  for (const int64_t number : numbers) {
    char one[sizeof(number)];
    std::memcpy(one, &number, sizeof(number));
    bytes.append(one, sizeof(number));
  }
  return bytes;
}

int64_t number_at(absl::string_view bytes, int64_t index, int64_t size) {
  int64_t number = 0;  // the host is little-endian, as is the format
  std::memcpy(&number, bytes.data() + index * size, size);
  return number;
}

// Subtracts a summand from a digest of the format.
absl::StatusOr<std::string> subtract(const std::string& digest, absl::uint128 summand) {
  const std::optional<absl::uint128> sum = parse_digest(digest);
  if (!sum.has_value()) return absl::DataLossError("a digest of the manifest is damaged");
  return format_digest(*sum - summand);
}

const Table* find_table(const CheckpointManifest& manifest, absl::string_view name) {
  for (const Table& table : manifest.tables()) {
    if (table.name() == name) return &table;
  }
  return nullptr;
}

// A table file without the rows of some ids.
class FilteredFile {
 public:
  // Reads the ids of all rows. Borrows all arguments.
  static absl::StatusOr<FilteredFile> open(const CheckpointReader& from, const File& file,
                                           const Ids& ids) {
    ASSIGN_OR_RETURN(auto source, from.open_file(file));
    ASSIGN_OR_RETURN(TensorFileLayout whole, from.layout(file));
    FilteredFile filtered(file, std::move(source), std::move(whole));
    for (const RowGroup& group : row_groups()) {
      RETURN_IF_ERROR(filtered.find_rows(group, ids));
    }
    return filtered;
  }

  // Returns the number of rows that are left out of the group with this tensor of ids.
  int64_t removed(absl::string_view ids) const {
    const auto found = removed_.find(ids);
    return found == removed_.end() ? 0 : static_cast<int64_t>(found->second.size());
  }
  bool changes() const {
    return std::any_of(removed_.begin(), removed_.end(),
                       [](const auto& group) { return !group.second.empty(); });
  }

  // Returns the sum of the digests of what is left out of Table.state_digest, which is the sum over
  // the entries of all ranks, also those that readers skip.
  absl::StatusOr<absl::uint128> removed_state() const {
    absl::uint128 sum = 0;
    RETURN_IF_ERROR(
        for_each_removed("admission/ids", "admission/counts", [&](int64_t id, int64_t n) {
          sum += xxh3_128(little_endian({1, id, n}));
        }));
    RETURN_IF_ERROR(for_each_removed("evicted/ids", "evicted/steps", [&](int64_t id, int64_t step) {
      sum += xxh3_128(little_endian({2, id, step}));
    }));
    return sum;
  }

  absl::Status write(CommitDirectory& to, ThreadPool& one_thread) const {
    std::vector<TensorInfo> tensors;
    for (TensorInfo tensor : whole_.tensors()) {
      tensor.shape[0] -= static_cast<int64_t>(rows_without(tensor.name).size());
      // The format leaves these out if they are empty.
      const bool is_row = is_in_group(row_groups()[0], name_in_table(tensor.name));
      if (tensor.shape[0] > 0 || is_row) tensors.push_back(std::move(tensor));
    }
    ASSIGN_OR_RETURN(const TensorFileLayout layout,
                     TensorFileLayout::create(std::move(tensors), whole_.metadata()));
    std::map<std::string, ChunkCursor> cursors;
    const auto fill = [&](const TensorInfo& tensor, int64_t begin,
                          absl::Span<char> bytes) -> absl::Status {
      ChunkCursor& cursor = cursors.try_emplace(tensor.name, *source_).first->second;
      return copy(tensor.name, cursor, begin, bytes);
    };
    return to.write_tensors(*file_, layout, fill, one_thread);
  }

 private:
  FilteredFile(const File& file, std::unique_ptr<ChunkedFile> source, TensorFileLayout whole)
      : file_(&file), source_(std::move(source)), whole_(std::move(whole)) {}

  absl::string_view name_in_table(absl::string_view tensor) const {
    return tensor.substr(std::string("table//").size() + file_->table().size());
  }

  const TensorInfo* find(absl::string_view name) const {
    for (const TensorInfo& tensor : whole_.tensors()) {
      if (name_in_table(tensor.name) == name) return &tensor;
    }
    return nullptr;
  }

  absl::Status read(const TensorInfo& tensor, ChunkCursor& cursor, int64_t begin,
                    absl::Span<char> bytes) const {
    return cursor.read(whole_.data_begin() + tensor.begin + begin, bytes);
  }

  absl::Status find_rows(const RowGroup& group, const Ids& ids) {
    const TensorInfo* const tensor = find(group.ids);
    if (tensor == nullptr) return absl::OkStatus();
    ChunkCursor cursor(*source_);
    std::string block;
    for (int64_t first = 0; first < tensor->shape[0]; first += kIdsAtOnce) {
      const int64_t count = std::min(kIdsAtOnce, tensor->shape[0] - first);
      block.resize(count * sizeof(int64_t));
      RETURN_IF_ERROR(read(*tensor, cursor, first * sizeof(int64_t), absl::MakeSpan(block)));
      for (int64_t i = 0; i < count; ++i) {
        if (ids.count(number_at(block, i, sizeof(int64_t))) == 0) continue;
        removed_[group.ids].push_back(first + i);
      }
    }
    return absl::OkStatus();
  }

  // Returns the rows that are left out of a tensor, ascending.
  const std::vector<int64_t>& rows_without(absl::string_view tensor) const {
    static const auto* const kNone = new std::vector<int64_t>;
    for (const RowGroup& group : row_groups()) {
      if (!is_in_group(group, name_in_table(tensor))) continue;
      const auto found = removed_.find(group.ids);
      return found == removed_.end() ? *kNone : found->second;
    }
    return *kNone;
  }

  // Copies bytes [begin, begin + bytes.size()) of the filtered tensor.
  absl::Status copy(const std::string& name, ChunkCursor& cursor, int64_t begin,
                    absl::Span<char> bytes) const {
    const TensorInfo& tensor = *find(name_in_table(name));
    const std::vector<int64_t>& removed = rows_without(name);
    const int64_t row_bytes = tensor.shape[0] == 0 ? 1 : tensor.size_bytes() / tensor.shape[0];
    while (!bytes.empty()) {
      // Number of removed rows before this one: each moves the rows behind it by one.
      const int64_t row = begin / row_bytes;
      size_t before = 0, end = removed.size();
      while (before < end) {
        const size_t middle = (before + end) / 2;
        if (removed[middle] - static_cast<int64_t>(middle) <= row) {
          before = middle + 1;
        } else {
          end = middle;
        }
      }
      // Rows up to the next removed one are in one piece.
      const int64_t next = before < removed.size()
                               ? removed[before] - static_cast<int64_t>(before)
                               : tensor.shape[0] - static_cast<int64_t>(removed.size());
      const int64_t count =
          std::min<int64_t>(static_cast<int64_t>(bytes.size()), next * row_bytes - begin);
      RETURN_IF_ERROR(read(tensor, cursor, begin + static_cast<int64_t>(before) * row_bytes,
                           bytes.subspan(0, count)));
      bytes.remove_prefix(count);
      begin += count;
    }
    return absl::OkStatus();
  }

  template <typename Each>
  absl::Status for_each_removed(absl::string_view ids, absl::string_view values,
                                const Each& each) const {
    const TensorInfo* const id_tensor = find(ids);
    const TensorInfo* const value_tensor = find(values);
    const auto found = removed_.find(ids);
    if (id_tensor == nullptr || value_tensor == nullptr || found == removed_.end()) {
      return absl::OkStatus();
    }
    const int64_t size = tensor_type_bytes(value_tensor->type);
    ChunkCursor id_cursor(*source_), value_cursor(*source_);
    for (const int64_t row : found->second) {
      char id[sizeof(int64_t)], value[sizeof(int64_t)];
      RETURN_IF_ERROR(read(*id_tensor, id_cursor, row * sizeof(int64_t), absl::MakeSpan(id)));
      RETURN_IF_ERROR(read(*value_tensor, value_cursor, row * size, absl::MakeSpan(value, size)));
      each(number_at({id, sizeof(id)}, 0, sizeof(int64_t)),
           number_at({value, sizeof(value)}, 0, size));
    }
    return absl::OkStatus();
  }

  const File* file_;
  std::unique_ptr<ChunkedFile> source_;
  TensorFileLayout whole_;
  std::map<absl::string_view, std::vector<int64_t>> removed_;  // by RowGroup::ids, ascending
};

// Returns the sum of the digests of the rows of `ids` after all deltas of a chain, and sets `rows`
// to their number.
absl::StatusOr<absl::uint128> digest_of_rows(CheckpointChain chain, const Table& table,
                                             absl::Span<const int64_t> ids, int64_t* rows) {
  const std::vector<TableColumn> columns = table_columns(chain.back()->manifest(), table.name());
  std::vector<std::string> names;
  for (const TableColumn& column : columns) names.push_back(column.name);
  absl::uint128 sum = 0;
  *rows = 0;
  for (; !ids.empty(); ids.remove_prefix(std::min<size_t>(ids.size(), kIdsAtOnce))) {
    const absl::Span<const int64_t> some = ids.subspan(0, kIdsAtOnce);
    ASSIGN_OR_RETURN(const RowBlock block, read_rows(chain, table.name(), names, some));
    *rows += block.rows();
    for (int64_t row = 0; row < block.rows(); ++row) {
      std::string bytes = little_endian({block.ids[row]});
      for (size_t i = 0; i < columns.size(); ++i) {
        absl::StrAppend(&bytes, block.row(i, row, columns[i].row_bytes()));
        bytes.resize((bytes.size() + 3) / 4 * 4, '\0');
      }
      sum += xxh3_128(bytes);
    }
  }
  return sum;
}

// A checkpoint that is written anew, and not yet committed.
struct Rewritten {
  std::vector<std::unique_ptr<CommitDirectory>> ranks;
  CheckpointManifest manifest;
};

class Forgetting {
 public:
  Forgetting(FileSystem& files, std::string folder, std::string token, std::string table,
             std::vector<int64_t> ids)
      : files_(files),
        folder_(std::move(folder)),
        token_(std::move(token)),
        table_(std::move(table)),
        ids_(std::move(ids)),
        set_(ids_.begin(), ids_.end()) {}

  absl::Status run() {
    ASSIGN_OR_RETURN(std::vector<ListedCheckpoint> listed, list_checkpoints(files_, folder_));
    RETURN_IF_ERROR(check(listed));
    std::vector<const CheckpointReader*> replaced;
    for (const ListedCheckpoint& checkpoint : listed) {
      // A delta on a base that is not there was replaced by a call that was interrupted.
      if (!has_base(listed, checkpoint.reader->manifest())) {
        replaced.push_back(checkpoint.reader.get());
        continue;
      }
      RETURN_IF_ERROR(rewrite(*checkpoint.reader), checkpoint.path);
    }
    for (const CheckpointReader* delta : replaced) RETURN_IF_ERROR(check_replaced(*delta));
    began_ = true;
    for (auto made = rewritten_.rbegin(); made != rewritten_.rend(); ++made) {
      RETURN_IF_ERROR(made->ranks[0]->commit(made->manifest, threads_).status());
    }
    return check_chains();
  }

  // Returns true if checkpoints may have been replaced.
  bool began() const { return began_; }
  // Returns the checkpoints that lose something, by ascending step.
  const std::vector<ForgottenIds>& forgotten() const { return forgotten_; }

 private:
  absl::Status check(const std::vector<ListedCheckpoint>& listed) const {
    bool any = false;
    for (const ListedCheckpoint& checkpoint : listed) {
      if (checkpoint.reader == nullptr) {
        return absl::DataLossError(absl::StrCat(
            checkpoint.path,
            " is damaged and may hold the ids; remove it first: ", checkpoint.status.message()));
      }
      any |= find_table(checkpoint.reader->manifest(), table_) != nullptr;
    }
    if (any) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat("no checkpoint in ", folder_, " has a table \"", table_, "\""));
  }

  static bool has_base(const std::vector<ListedCheckpoint>& listed,
                       const CheckpointManifest& manifest) {
    if (!manifest.has_base()) return true;
    return std::any_of(listed.begin(), listed.end(), [&](const ListedCheckpoint& other) {
      return other.reader->manifest().digest() == manifest.base().digest();
    });
  }

  // Checks that a delta whose base is not there fits a base that this call makes.
  absl::Status check_replaced(const CheckpointReader& delta) const {
    const std::string& base = delta.manifest().base().digest();
    const bool fits = std::any_of(new_digests_.begin(), new_digests_.end(),
                                  [&](const auto& made) { return made.second == base; });
    if (fits) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(delta.directory(),
                     " is a delta on a checkpoint that is not there; if a call was "
                     "interrupted, repeat it with the same ids, else remove the delta"));
  }

  // Writes a checkpoint anew if it has the ids or its base changes.
  absl::Status rewrite(const CheckpointReader& whole) {
    ForgottenIds lost{.path = whole.directory()};
    absl::uint128 state = 0;
    const Table* const table = find_table(whole.manifest(), table_);
    std::vector<FilteredFile> filtered;
    int64_t bytes = 0;
    for (const File& file : whole.manifest().files()) {
      if (table == nullptr || file.table() != table_ || file.tensors_size() == 0) continue;
      ASSIGN_OR_RETURN(FilteredFile one, FilteredFile::open(whole, file, set_));
      lost.rows += one.removed("ids");
      lost.candidates += one.removed("admission/ids");
      lost.evicted += one.removed("evicted/ids");
      lost.tombstones += one.removed("tombstones");
      ASSIGN_OR_RETURN(const absl::uint128 removed, one.removed_state());
      state += removed;
      if (one.changes()) bytes += file.size();
      filtered.push_back(std::move(one));
    }
    const auto base = new_digests_.find(whole.manifest().base().digest());
    const bool new_base = whole.manifest().has_base() && base != new_digests_.end();
    if (lost.total() == 0 && !new_base) return absl::OkStatus();

    Rewritten made{.manifest = whole.manifest()};
    if (new_base) made.manifest.mutable_base()->set_digest(base->second);
    if (table != nullptr) RETURN_IF_ERROR(reduce(whole, state, &made.manifest));
    RETURN_IF_ERROR(check_free_space(files_, folder_, bytes));
    RETURN_IF_ERROR(write(whole, filtered, &made));
    ASSIGN_OR_RETURN(const std::string text, format_manifest(made.manifest));
    ASSIGN_OR_RETURN(const CheckpointManifest complete, parse_manifest(text));
    new_digests_[whole.manifest().digest()] = complete.digest();
    if (lost.total() > 0) forgotten_.push_back(std::move(lost));
    rewritten_.push_back(std::move(made));
    return absl::OkStatus();
  }

  // Subtracts the ids from the number of rows and from the digests.
  absl::Status reduce(const CheckpointReader& whole, absl::uint128 state,
                      CheckpointManifest* manifest) {
    ASSIGN_OR_RETURN(const auto chain, open_chain(files_, whole.directory()));
    for (Table& table : *manifest->mutable_tables()) {
      if (table.name() != table_) continue;
      int64_t rows = 0;
      ASSIGN_OR_RETURN(const absl::uint128 content, digest_of_rows(chain, table, ids_, &rows));
      table.set_rows(table.rows() - rows);
      if (table.has_state_digest() && !table.state_digest().empty()) {
        ASSIGN_OR_RETURN(*table.mutable_state_digest(), subtract(table.state_digest(), state));
      }
      for (CheckpointManifest::ContentDigest& digest : *manifest->mutable_content_digests()) {
        if (digest.name() != absl::StrCat("table/", table_)) continue;
        ASSIGN_OR_RETURN(*digest.mutable_digest(), subtract(digest.digest(), content));
      }
    }
    return absl::OkStatus();
  }

  // Writes all files, those of tables that change without the ids.
  absl::Status write(const CheckpointReader& whole, const std::vector<FilteredFile>& filtered,
                     Rewritten* made) {
    const CheckpointManifest& manifest = whole.manifest();
    made->manifest.clear_files();
    const std::string nonce = new_nonce();
    for (int rank = 0; rank < manifest.world_size(); ++rank) {
      ASSIGN_OR_RETURN(
          auto to, CommitDirectory::begin(files_, {folder_, manifest.progress().step(), nonce, rank,
                                                   manifest.world_size(), /*keep_files=*/true,
                                                   token_, /*replaces_equal=*/true}));
      made->ranks.push_back(std::move(to));
      size_t next = 0;
      for (const File& file : manifest.files()) {
        const bool is_filtered = file.table() == table_ && file.tensors_size() > 0;
        const FilteredFile* const one = is_filtered ? &filtered[next++] : nullptr;
        if (file.rank() != rank || file.kind() == CheckpointManifest::CHUNKS_FILE) continue;
        RETURN_IF_ERROR(one != nullptr && one->changes() ? one->write(*made->ranks[rank], threads_)
                                                         : copy(whole, file, *made->ranks[rank]));
      }
      ASSIGN_OR_RETURN(const std::vector<File> entries, made->ranks[rank]->finish_files(threads_));
      for (const File& file : entries) *made->manifest.add_files() = file;
    }
    return absl::OkStatus();
  }

  absl::Status copy(const CheckpointReader& whole, const File& file, CommitDirectory& to) {
    if (file.kind() == CheckpointManifest::STATE_FILE) {
      ASSIGN_OR_RETURN(const std::string content, whole.read_all(file, kMaxStateBytes));
      return to.write(file, content);
    }
    ASSIGN_OR_RETURN(const auto source, whole.open_file(file));
    ASSIGN_OR_RETURN(const TensorFileLayout layout, whole.layout(file));
    ChunkCursor cursor(*source);
    const auto fill = [&](const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes) {
      return cursor.read(layout.data_begin() + tensor.begin + begin, bytes);
    };
    return to.write_tensors(file, layout, fill, threads_);
  }

  // Checks that every checkpoint can be read again, also those that an interrupted call replaced.
  absl::Status check_chains() const {
    ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> listed, list_checkpoints(files_, folder_));
    for (const ListedCheckpoint& checkpoint : listed) {
      RETURN_IF_ERROR(open_chain(files_, checkpoint.path).status(),
                      "a checkpoint may still hold the ids; remove it");
    }
    return absl::OkStatus();
  }

  FileSystem& files_;
  const std::string folder_, token_, table_;
  const std::vector<int64_t> ids_;
  const Ids set_;
  ThreadPool threads_{1};
  std::map<std::string, std::string> new_digests_;  // of manifests, by the digest before
  std::vector<Rewritten> rewritten_;                // by ascending step
  std::vector<ForgottenIds> forgotten_;
  bool began_ = false;
};

// Adds a line to forgotten.jsonl.
absl::Status record(FileSystem& files, const Clock& clock, const std::string& folder,
                    const std::string& table, size_t ids,
                    const std::vector<ForgottenIds>& forgotten, bool complete) {
  using Json = nlohmann::ordered_json;
  Json checkpoints = Json::array();
  for (const ForgottenIds& lost : forgotten) {
    checkpoints.push_back({{"checkpoint", base_name(lost.path)},
                           {"rows", lost.rows},
                           {"candidates", lost.candidates},
                           {"evicted", lost.evicted},
                           {"tombstones", lost.tombstones}});
  }
  const Json line = {
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", clock.now(), absl::UTCTimeZone())},
      {"table", table},
      {"ids", ids},
      {"complete", complete},
      {"checkpoints", checkpoints}};
  const std::string path = join_path(folder, kForgottenName);
  std::string text;
  if (const absl::StatusOr<std::string> before = read_file(files, path); before.ok()) {
    text = *before;
  } else if (!absl::IsNotFound(before.status())) {
    return before.status();
  }
  return write_file_atomically(files, path, absl::StrCat(text, line.dump(), "\n"));
}

}  // namespace

absl::StatusOr<std::vector<ForgottenIds>> forget_ids(FileSystem& files, const Clock& clock,
                                                     const std::string& folder,
                                                     const std::string& table,
                                                     const std::vector<int64_t>& ids) {
  std::vector<int64_t> distinct = ids;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const std::string token = new_nonce();
  ASSIGN_OR_RETURN(const auto lock, DirectoryLock::acquire(files, folder, clock, token));
  RETURN_IF_ERROR(clean_up(files, folder, token).status());
  Forgetting forgetting(files, folder, token, table, distinct);
  absl::Status status = forgetting.run();
  // After an error some checkpoints may have been replaced.
  if (forgetting.began()) {
    status.Update(record(files, clock, folder, table, distinct.size(), forgetting.forgotten(),
                         /*complete=*/status.ok()));
    // Whatever could not be removed still has the ids.
    status.Update(clean_up(files, folder, token).status());
  }
  RETURN_IF_ERROR(status);
  return forgetting.forgotten();
}

}  // namespace millrace
