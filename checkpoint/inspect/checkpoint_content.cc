#include "checkpoint/inspect/checkpoint_content.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;

// The ids of a file, in the order of their hashes.
class SortedIds {
 public:
  // Borrows `file`.
  SortedIds(const ChunkedFile& file, int64_t begin, int64_t count)
      : file_(file), cursor_(file), begin_(begin), count_(count) {}

  // Returns the place of the id with this hash. Errors: DataLoss; read errors.
  absl::StatusOr<std::optional<int64_t>> find(uint64_t hash) {
    // The bisection reads unchecked; the result is checked.
    int64_t low = 0, high = count_;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      ASSIGN_OR_RETURN(const uint64_t there, hash_at(middle, /*checked=*/false));
      if (there < hash) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    std::optional<int64_t> place;
    bool is_between = true;
    if (low > 0) {
      ASSIGN_OR_RETURN(const uint64_t before, hash_at(low - 1, /*checked=*/true));
      is_between = before < hash;
    }
    if (low < count_) {
      ASSIGN_OR_RETURN(const uint64_t there, hash_at(low, /*checked=*/true));
      is_between = is_between && there >= hash;
      if (there == hash) place = low;
    }
    if (is_between) return place;
    return absl::DataLossError(absl::StrCat(
        file_.path(), " is damaged: its ids are not in the order of hashes, or a way to id number ",
        low, " is wrong"));
  }

 private:
  absl::StatusOr<uint64_t> hash_at(int64_t place, bool checked) {
    int64_t id;
    const int64_t at = begin_ + place * static_cast<int64_t>(sizeof(id));
    const auto bytes = absl::MakeSpan(reinterpret_cast<char*>(&id), sizeof(id));
    RETURN_IF_ERROR(checked ? cursor_.read(at, bytes) : file_.read_unchecked(at, bytes));
    return placement_hash(id);
  }

  const ChunkedFile& file_;
  ChunkCursor cursor_;
  const int64_t begin_, count_;
};

// The ids still to find, and the rows found.
struct Lookup {
  std::vector<uint64_t> wanted;                     // by ascending hash
  std::vector<std::pair<uint64_t, int64_t>> found;  // hash, number in `rows`
  RowBlock rows;
};

class FileLookup {
 public:
  FileLookup(const CheckpointReader& checkpoint, const std::string& prefix,
             const std::vector<TableColumn>& columns, Lookup& lookup)
      : checkpoint_(checkpoint), prefix_(prefix), columns_(columns), lookup_(lookup) {}

  // Looks up all wanted ids in the file's range and removes them from `wanted`.
  absl::Status run(const File& file) {
    auto& wanted = lookup_.wanted;
    const auto begin = std::lower_bound(wanted.begin(), wanted.end(), file.first_hash());
    const auto end = std::upper_bound(begin, wanted.end(), file.last_hash());
    if (begin == end) return absl::OkStatus();
    ASSIGN_OR_RETURN(opened_, checkpoint_.open_file(file));
    ASSIGN_OR_RETURN(layout_, checkpoint_.layout(file));
    const std::vector<uint64_t> here(begin, end);
    std::vector<std::pair<uint64_t, int64_t>> places;  // of rows
    std::vector<uint64_t> left;
    RETURN_IF_ERROR(find_all(here, "ids", &places, &left));
    RETURN_IF_ERROR(read_found(places));
    std::vector<std::pair<uint64_t, int64_t>> gone;
    std::vector<uint64_t> undecided;
    RETURN_IF_ERROR(find_all(left, "tombstones", &gone, &undecided));
    wanted.erase(std::copy(undecided.begin(), undecided.end(), begin), end);
    return absl::OkStatus();
  }

 private:
  const TensorInfo* tensor(absl::string_view name) const {
    for (const TensorInfo& tensor : layout_->tensors()) {
      if (tensor.name == absl::StrCat(prefix_, name)) return &tensor;
    }
    return nullptr;
  }

  absl::Status find_all(const std::vector<uint64_t>& hashes, absl::string_view name,
                        std::vector<std::pair<uint64_t, int64_t>>* places,
                        std::vector<uint64_t>* left) const {
    const TensorInfo* ids = tensor(name);
    if (ids == nullptr) {
      *left = hashes;
      return absl::OkStatus();
    }
    SortedIds sorted(*opened_, layout_->data_begin() + ids->begin, ids->shape[0]);
    for (const uint64_t hash : hashes) {
      ASSIGN_OR_RETURN(const std::optional<int64_t> place, sorted.find(hash));
      if (place) {
        places->emplace_back(hash, *place);
      } else {
        left->push_back(hash);
      }
    }
    return absl::OkStatus();
  }

  absl::Status read_found(const std::vector<std::pair<uint64_t, int64_t>>& places) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const TensorInfo* column = tensor(columns_[i].name);
      if (column == nullptr) {
        return absl::DataLossError(
            absl::StrCat(opened_->path(), " has no ", prefix_, columns_[i].name));
      }
      ChunkCursor cursor(*opened_);
      const int64_t row_bytes = columns_[i].row_bytes();
      std::string row(row_bytes, '\0');
      for (const auto& [hash, place] : places) {
        RETURN_IF_ERROR(cursor.read(layout_->data_begin() + column->begin + place * row_bytes,
                                    absl::MakeSpan(row)));
        lookup_.rows.columns[i] += row;
      }
    }
    for (const auto& [hash, place] : places) {
      lookup_.found.emplace_back(hash, lookup_.rows.rows());
      lookup_.rows.ids.push_back(inverse_placement_hash(hash));
    }
    return absl::OkStatus();
  }

  const CheckpointReader& checkpoint_;
  const std::string& prefix_;
  const std::vector<TableColumn>& columns_;
  Lookup& lookup_;
  std::unique_ptr<ChunkedFile> opened_;
  std::optional<TensorFileLayout> layout_;
};

// Returns the rows that were found, in the order of `ids`.
RowBlock in_order(const Lookup& lookup, const std::vector<TableColumn>& columns,
                  absl::Span<const int64_t> ids) {
  const std::map<uint64_t, int64_t> places(lookup.found.begin(), lookup.found.end());
  RowBlock rows;
  rows.columns.resize(columns.size());
  for (const int64_t id : ids) {
    const auto place = places.find(placement_hash(id));
    if (place == places.end()) continue;
    rows.ids.push_back(id);
    for (size_t i = 0; i < columns.size(); ++i) {
      const absl::string_view row = lookup.rows.row(i, place->second, columns[i].row_bytes());
      rows.columns[i].append(row.data(), row.size());
    }
  }
  return rows;
}

}  // namespace

absl::StatusOr<RowBlock> read_rows(absl::Span<const std::unique_ptr<CheckpointReader>> chain,
                                   absl::string_view table, const std::vector<std::string>& columns,
                                   absl::Span<const int64_t> ids) {
  const CheckpointReader& newest = *chain.back();
  ASSIGN_OR_RETURN(const std::vector<TableColumn> found,
                   find_columns(newest.manifest(), table, columns), newest.directory());
  Lookup lookup;
  lookup.rows.columns.resize(found.size());
  for (const int64_t id : ids) lookup.wanted.push_back(placement_hash(id));
  std::sort(lookup.wanted.begin(), lookup.wanted.end());
  lookup.wanted.erase(std::unique(lookup.wanted.begin(), lookup.wanted.end()), lookup.wanted.end());
  const std::string prefix = absl::StrCat("table/", table, "/");
  for (auto checkpoint = chain.rbegin(); checkpoint != chain.rend(); ++checkpoint) {
    for (const File& file : (*checkpoint)->manifest().files()) {
      if (file.kind() != CheckpointManifest::TABLE_FILE || file.table() != table) continue;
      RETURN_IF_ERROR(FileLookup(**checkpoint, prefix, found, lookup).run(file));
    }
  }
  return in_order(lookup, found, ids);
}

namespace {

constexpr char kIds[] = "ids";

TensorInfo info_of(const CheckpointManifest::Tensor& tensor) {
  TensorInfo info;
  info.name = tensor.name();
  info.type = tensor_type_of_name(tensor.dtype()).value_or(TensorType::kU8);
  info.shape.assign(tensor.shape().begin(), tensor.shape().end());
  return info;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointContent>> CheckpointContent::open(
    FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(Chain chain, open_chain(files, path));
  return std::make_unique<CheckpointContent>(std::move(chain));
}

std::vector<TensorInfo> CheckpointContent::dense_tensors() const {
  std::vector<TensorInfo> tensors;
  for (const auto& file : manifest().files()) {
    if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
    for (const auto& tensor : file.tensors()) tensors.push_back(info_of(tensor));
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  return tensors;
}

std::vector<TensorInfo> CheckpointContent::tensors() const {
  std::vector<TensorInfo> tensors = dense_tensors();
  for (const auto& table : manifest().tables()) {
    const std::vector<TableColumn> columns = table_columns(manifest(), table.name());
    if (columns.empty()) continue;
    const std::string prefix = absl::StrCat("table/", table.name(), "/");
    tensors.push_back({prefix + kIds, TensorType::kI64, {table.rows()}});
    for (const TableColumn& column : columns) {
      tensors.push_back({prefix + column.name, column.type, column.shape(table.rows())});
    }
  }
  return tensors;
}

absl::StatusOr<TensorInfo> CheckpointContent::find(absl::string_view name) const {
  std::vector<std::string> names;
  for (TensorInfo& tensor : tensors()) {
    if (tensor.name == name) return std::move(tensor);
    names.push_back(std::move(tensor.name));
  }
  return absl::NotFoundError(
      absl::StrCat(directory(), " has no tensor \"", name, "\"", did_you_mean(name, names)));
}

absl::StatusOr<std::string> CheckpointContent::read(absl::string_view name) const {
  RETURN_IF_ERROR(find(name).status());
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, "table/")) return read_dense(name);
  const size_t slash = rest.find('/');
  return read_column(rest.substr(0, slash), std::string(rest.substr(slash + 1)));
}

absl::StatusOr<std::string> CheckpointContent::read_dense(absl::string_view name) const {
  const CheckpointReader& checkpoint = *chain_.back();
  for (const auto& file : manifest().files()) {
    if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
    for (const auto& tensor : file.tensors()) {
      if (tensor.name() != name) continue;
      RETURN_IF_ERROR(checkpoint.layout(file).status());
      ASSIGN_OR_RETURN(const std::unique_ptr<ChunkedFile> opened, checkpoint.open_file(file));
      const TensorInfo info = info_of(tensor);
      std::string bytes(tensor_bytes(info.type, info.shape).value_or(0), '\0');
      RETURN_IF_ERROR(opened->read(tensor.offset(), absl::MakeSpan(bytes)));
      return bytes;
    }
  }
  return absl::NotFoundError(absl::StrCat(directory(), " has no tensor \"", name, "\""));
}

absl::StatusOr<std::string> CheckpointContent::read_column(absl::string_view table,
                                                           const std::string& column) const {
  const bool is_ids = column == kIds;
  ASSIGN_OR_RETURN(const auto rows, scan(table, is_ids ? std::vector<std::string>{}
                                                       : std::vector<std::string>{column}));
  std::string bytes;
  for (RowBlock block;;) {
    RETURN_IF_ERROR(rows->next(&block));
    if (block.rows() == 0) return bytes;
    if (is_ids) {
      bytes.append(reinterpret_cast<const char*>(block.ids.data()),
                   block.ids.size() * sizeof(int64_t));
    } else {
      bytes += block.columns[0];
    }
  }
}

}  // namespace millrace
