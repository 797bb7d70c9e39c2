#include "checkpoint/inspect/table_lookup.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

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

}  // namespace millrace
