// The rows of a table for readers, version by version.
#ifndef MILLRACE_EMBEDDING_SERVED_SERVED_TABLE_H_
#define MILLRACE_EMBEDDING_SERVED_SERVED_TABLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "embedding/id_map/id_map.h"
#include "embedding/table/record_source.h"

namespace millrace {

// Rows of some ids, and ids whose rows were removed. Filled by one thread; const functions are
// thread-safe afterwards.
class RowSet {
 public:
  explicit RowSet(int64_t row_bytes);
  // `rows`: the bytes of each id's row. An id that is there already gets the new row.
  void add(absl::Span<const int64_t> ids, absl::string_view rows);
  void add_removed(absl::Span<const int64_t> ids);
  void reserve(int64_t rows) { map_.reserve(rows); }

  enum : RowIndex { kRemoved = kNoRow - 1 };
  // Sets found[i] to the index of ids[i], kRemoved, or kNoRow.
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> found) const {
    map_.find(ids, found);
  }
  const char* row(RowIndex index) const {
    return blocks_[index >> block_bits_].get() + (index & block_mask_) * row_bytes_;
  }
  // Calls visit(id, row) for each id; a removed id has a null row.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    map_.for_each(
        [&](int64_t id, RowIndex index) { visit(id, index == kRemoved ? nullptr : row(index)); });
  }
  int64_t ids() const { return map_.size(); }
  int64_t bytes() const;

 private:
  const int64_t row_bytes_;
  const int block_bits_;  // a block has 2^block_bits_ rows
  const RowIndex block_mask_;
  IdMap map_;
  RowIndex next_ = 0;  // index of the next new row
  // Blocks of one size: what a set of a former version leaves, the next one takes, and rows do not
  // move as the set grows.
  std::vector<std::unique_ptr<char[]>> blocks_;
};

// One version of a table: immutable. Rows are in parts by the upper bits of the placement hash. A
// part has a base and, after a delta, an overlay with the rows that changed since the base. A new
// version shares the bases of the one before, so it takes the memory of the changed rows alone;
// merged() moves the overlay of one part into a new base, with the same content.
class ServedTable : public RecordSource {
 public:
  static constexpr int kParts = 64;
  using Parts = std::array<std::shared_ptr<RowSet>, kParts>;
  static int part_of(int64_t id);
  // Adds rows to their parts, which are created when they are needed.
  static void add(absl::Span<const int64_t> ids, absl::string_view rows, int64_t row_bytes,
                  Parts* parts);
  static void add_removed(absl::Span<const int64_t> ids, int64_t row_bytes, Parts* parts);

  // A whole table. Parts may be null.
  ServedTable(int64_t row_bytes, Parts base);

  // Returns the table after a delta. `changed`: changed rows and removed ids.
  std::shared_ptr<const ServedTable> with_delta(const Parts& changed) const;
  // Returns the table with part `part` merged; null if the part has no overlay. Memory: the part.
  std::shared_ptr<const ServedTable> merged(int part) const;

  void find(absl::Span<const int64_t> ids, absl::Span<const char*> records) const override;

  int64_t row_bytes() const { return row_bytes_; }
  int64_t bytes() const;
  int64_t overlay_rows() const;

 private:
  using ConstParts = std::array<std::shared_ptr<const RowSet>, kParts>;
  ServedTable(int64_t row_bytes, ConstParts base, ConstParts overlay)
      : row_bytes_(row_bytes), base_(std::move(base)), overlay_(std::move(overlay)) {}

  const int64_t row_bytes_;
  ConstParts base_, overlay_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SERVED_SERVED_TABLE_H_
