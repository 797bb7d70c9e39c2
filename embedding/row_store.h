// Where rows live.
#ifndef MILLRACE_EMBEDDING_ROW_STORE_H_
#define MILLRACE_EMBEDDING_ROW_STORE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/block_pool.h"
#include "embedding/row_index.h"
#include "embedding/row_optimizer.h"
#include "embedding/row_type.h"

namespace millrace {

// What is kept about a row besides its numbers.
struct RowMeta {
  uint32_t frequency = 0;  // occurrences in committed steps; stays at the largest number
  uint32_t last_step = 0;  // the committed step that saw it last
};

// Rows of one width in blocks that never move: a pointer to a row holds until the row is removed.
// The record of a row is its weights, in the store's type, and behind them at the next multiple of
// four bytes its slots, float32; it begins at a multiple of 64 bytes. The row's RowMeta stands
// behind them if that makes the record no longer, so that an update touches no other place, else at
// the head of its block, where its id is. Row numbers of removed rows are used again, the lowest
// block first; a block without rows gives its memory back.
//
// Reading is safe from many threads; changes need the store, or for the accessors that return a
// reference or a pointer the row, for themselves.
class RowStore {
 public:
  // `pool`: where blocks come from; shared with other stores, or by default one of its own.
  // REQUIRES: dim in 1 to 4096.
  explicit RowStore(int64_t dim, RowType type = RowType::kFloat32,
                    std::shared_ptr<BlockPool> pool = nullptr);
  ~RowStore() { clear(); }
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  // Exchanges the rows of two stores of one dim, type, pool and slots.
  void swap_rows(RowStore& other);

  // REQUIRES: size() == 0. Gives memory back, since the layout changes.
  void set_slots(std::vector<SlotSpec> slots);

  int64_t dim() const { return dim_; }
  RowType type() const { return type_; }
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }
  const std::vector<SlotSpec>& slots() const { return slots_; }
  int64_t slot_floats() const { return slot_floats_; }    // of all slots of a row
  int64_t weight_bytes() const { return weight_bytes_; }  // before the slots
  // Of weights and slots, without what fills the record up.
  int64_t content_bytes() const { return weight_bytes_ + 4 * slot_floats_; }

  // A row with initial slots, frequency 0 and last step 0; its weights are to be set by the caller.
  // REQUIRES: size() < kMaxRows.
  RowIndex add(int64_t id);
  // REQUIRES: the row is in use.
  void remove(RowIndex row);
  // Removes all rows and gives their memory back.
  void clear();
  // Moves rows of the highest blocks to where there is room below, as long as that empties a block,
  // and gives the memory back; calls moved(id, to) for each. Rows that are moved get other numbers,
  // and pointers to them end.
  void compact(absl::FunctionRef<void(int64_t id, RowIndex to)> moved);

  // The weights in the store's type, the slots behind them.
  char* record(RowIndex row) { return const_cast<char*>(place(row)); }
  const char* record(RowIndex row) const { return place(row); }
  // REQUIRES: type() is kFloat32.
  float* weights(RowIndex row) { return reinterpret_cast<float*>(record(row)); }
  const float* weights(RowIndex row) const { return reinterpret_cast<const float*>(record(row)); }
  float* slots(RowIndex row) { return reinterpret_cast<float*>(record(row) + weight_bytes_); }
  const float* slots(RowIndex row) const {
    return reinterpret_cast<const float*>(record(row) + weight_bytes_);
  }
  // Weights of any type as float32. Writing rounds to the nearest.
  void read_weights(RowIndex row, absl::Span<float> weights) const;
  void write_weights(RowIndex row, absl::Span<const float> weights);

  int64_t id(RowIndex row) const { return ids(block(row))[in_block(row)]; }
  RowMeta& meta(RowIndex row) { return const_cast<RowMeta&>(std::as_const(*this).meta(row)); }
  const RowMeta& meta(RowIndex row) const {
    return *reinterpret_cast<const RowMeta*>(block(row) + metas_at_ + in_block(row) * meta_stride_);
  }
  uint32_t& frequency(RowIndex row) { return meta(row).frequency; }
  uint32_t frequency(RowIndex row) const { return meta(row).frequency; }
  uint32_t& last_step(RowIndex row) { return meta(row).last_step; }
  uint32_t last_step(RowIndex row) const { return meta(row).last_step; }

  // REQUIRES: row < end().
  bool in_use(RowIndex row) const;
  // Row numbers ever given out are below this; those between may be free.
  RowIndex end() const { return end_; }
  int64_t size() const { return size_; }
  // Memory of all blocks. The first one counts as far as rows ever reached into it, since its
  // pages appear when they are touched.
  int64_t bytes() const;

  static constexpr int64_t kMaxRows = 0xfffffffe;

 private:
  struct Block {
    char* memory = nullptr;      // RowMeta or none, ids, bits "in use", records
    int64_t used = 0;            // rows
    int64_t end = 0;             // rows ever given out
    std::vector<uint32_t> free;  // below `end`; the last one is used first
  };

  // row / rows_per_block_, by a multiplication: D. Lemire, O. Kaser, N. Kurz, "Faster remainder by
  // direct computation", Software: Practice and Experience 49 (2019).
  uint64_t block_number(RowIndex row) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(reciprocal_) * row) >> 64);
  }
  const char* block(RowIndex row) const { return memory_[block_number(row)]; }
  char* block(RowIndex row) { return memory_[block_number(row)]; }
  uint64_t in_block(RowIndex row) const { return row - block_number(row) * rows_per_block_; }
  const char* place(RowIndex row) const {
    const uint64_t number = block_number(row);
    return memory_[number] + records_at_ + (row - number * rows_per_block_) * record_bytes_;
  }
  int64_t* ids(char* block) const { return reinterpret_cast<int64_t*>(block + ids_at_); }
  const int64_t* ids(const char* block) const {
    return reinterpret_cast<const int64_t*>(block + ids_at_);
  }
  uint64_t* bits(const char* block) const {
    return reinterpret_cast<uint64_t*>(const_cast<char*>(block) + bits_at_);
  }

  void lay_out();
  // The lowest block with room, made if need be.
  uint64_t block_with_room();
  void give_back(uint64_t number);
  // Moves all rows of a block. REQUIRES: there is room in lower ones.
  void empty_block(uint64_t number, absl::FunctionRef<void(int64_t id, RowIndex to)> moved);

  const int64_t dim_;
  const RowType type_;
  const std::shared_ptr<BlockPool> pool_;
  const int64_t weight_bytes_;
  std::vector<SlotSpec> slots_;
  std::vector<float> initial_slots_;
  int64_t slot_floats_ = 0;
  int64_t record_bytes_ = 0;
  uint64_t rows_per_block_ = 1;
  uint64_t reciprocal_ = 0;                            // 2^64 / rows_per_block_, rounded up
  int64_t ids_at_ = 0, bits_at_ = 0, records_at_ = 0;  // offsets in a block
  int64_t metas_at_ = 0, meta_stride_ = 0;             // of the first, and to the next
  std::vector<char*> memory_;  // of each block, the same as in blocks_: what hot loops look at
  std::vector<Block> blocks_;
  uint64_t first_room_ = 0;  // no block below it has room
  RowIndex end_ = 0;
  int64_t size_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROW_STORE_H_
