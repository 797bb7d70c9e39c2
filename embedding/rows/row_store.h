// The storage of rows.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_STORE_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_STORE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/memory/block_pool.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_layout.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/rows/row_snapshot.h"
#include "embedding/rows/row_type.h"

namespace millrace {

// Rows of one width in blocks that never move: a pointer to a row is valid until the row is
// removed. The record of a row begins at a multiple of 64 bytes. It has the weights in the store's
// type, then, at the next multiple of four bytes, the float32 slots. RowMeta follows in the record
// if there is room in its padding, so that an update touches no other cache lines. Otherwise
// RowMeta is at the head of the block, as the id always is. Numbers of removed rows are reused,
// lowest block first. A block without rows is returned to the pool.
//
// Reading is thread-safe. Changes need exclusive access to the store; accessors that return a
// reference or pointer need exclusive access to the row.
class RowStore {
 public:
  // Creates an empty store. `pool`: the source of blocks, shared with other stores; null: a private
  // pool. `set` does not change results. REQUIRES: dim in 1 to 4096.
  explicit RowStore(int64_t dim, RowType type = RowType::kFloat32,
                    std::shared_ptr<BlockPool> pool = nullptr,
                    InstructionSet set = best_instruction_set());
  ~RowStore() { clear(); }
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  // Exchanges the rows of two stores of the same dim, type, pool and slots.
  void swap_rows(RowStore& other);

  // Sets the slots and returns memory to the pool, since the layout changes. REQUIRES: size() == 0.
  void set_slots(std::vector<SlotSpec> slots);

  const RowLayout& layout() const { return layout_; }
  int64_t dim() const { return layout_.dim; }
  RowType type() const { return layout_.type; }
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }
  const std::vector<SlotSpec>& slots() const { return slots_; }
  int64_t slot_floats() const { return layout_.slot_floats; }    // of all slots of a row
  int64_t weight_bytes() const { return layout_.weight_bytes; }  // before the slots
  // Returns the bytes of weights and slots, without padding.
  int64_t content_bytes() const { return layout_.content_bytes(); }

  // Adds a row with initial slots, frequency 0 and last step 0. The caller must set its weights.
  // REQUIRES: size() < kMaxRows.
  RowIndex add(int64_t id);
  // Adds a row as add(), except that the caller must also set its slots.
  RowIndex add_unset(int64_t id);
  // Removes a row. REQUIRES: in_use(row).
  void remove(RowIndex row);
  // Removes all rows and returns their memory to the pool.
  void clear();
  // Moves rows of the highest blocks into free places of lower blocks, while a block can be
  // emptied, and returns its memory. Calls moved(id, to) for each moved row. Moved rows get other
  // numbers, and pointers to them become invalid. REQUIRES: not frozen().
  void compact(absl::FunctionRef<void(int64_t id, RowIndex to)> moved);

  // Returns the record of a row: weights in the store's type, then slots.
  char* record(RowIndex row) { return layout_.record(memory_.data(), row); }
  const char* record(RowIndex row) const { return layout_.record(memory_.data(), row); }
  // REQUIRES: type() is kFloat32.
  float* weights(RowIndex row) { return reinterpret_cast<float*>(record(row)); }
  const float* weights(RowIndex row) const { return reinterpret_cast<const float*>(record(row)); }
  float* slots(RowIndex row) {
    return reinterpret_cast<float*>(record(row) + layout_.weight_bytes);
  }
  const float* slots(RowIndex row) const {
    return reinterpret_cast<const float*>(record(row) + layout_.weight_bytes);
  }
  // Read and write weights of any type as float32. Writing rounds to nearest.
  void read_weights(RowIndex row, absl::Span<float> weights) const;
  void write_weights(RowIndex row, absl::Span<const float> weights);

  int64_t id(RowIndex row) const {
    return layout_.ids(memory_[layout_.block_number(row)])[layout_.in_block(row)];
  }
  RowMeta& meta(RowIndex row) { return *layout_.meta(memory_.data(), row); }
  const RowMeta& meta(RowIndex row) const { return *layout_.meta(memory_.data(), row); }
  uint32_t& frequency(RowIndex row) { return meta(row).frequency; }
  uint32_t frequency(RowIndex row) const { return meta(row).frequency; }
  uint32_t& last_step(RowIndex row) { return meta(row).last_step; }
  uint32_t last_step(RowIndex row) const { return meta(row).last_step; }

  // Returns true if the number has a row. REQUIRES: row < end().
  bool in_use(RowIndex row) const;
  // Returns the exclusive upper bound of row numbers so far; numbers below it may be free.
  RowIndex end() const { return end_; }
  int64_t size() const { return size_; }
  // Returns the memory of all blocks. A first block that is alone counts only up to the highest row
  // it ever had, since its other pages are not resident.
  int64_t bytes() const;
  // Returns the memory of block metadata, such as the places of removed rows.
  int64_t bookkeeping_bytes() const;

  static constexpr int64_t kMaxRows = 0xfffffffe;

  // Returns a still snapshot. The rows must not change while it is used.
  std::shared_ptr<RowSnapshot> view() const {
    return std::make_shared<RowSnapshot>(layout_, memory_, end_);
  }
  // Returns a frozen snapshot of the current rows, which can be read while the store changes; see
  // preserve(). The snapshot may outlive the store. It is finished at the latest when the last copy
  // of the returned pointer is destroyed. REQUIRES: not frozen().
  std::shared_ptr<RowSnapshot> freeze(std::shared_ptr<UndoBudget> budget);
  // Returns true if a frozen snapshot has not been released by thaw().
  bool frozen() const { return snapshot_ != nullptr; }
  // Preserves rows for the snapshot. Must be called before the record or RowMeta of the rows is
  // changed. Does nothing unless frozen().
  void preserve(absl::Span<const RowIndex> rows) {
    if (snapshot_ != nullptr) snapshot_->preserve(rows);
  }
  void prefetch_preserve(RowIndex row) const {
    if (snapshot_ != nullptr) snapshot_->prefetch_word(row);
  }
  // Releases a finished snapshot. Returns true if there is none any more.
  bool thaw();

 private:
  struct Block {
    char* memory = nullptr;
    int64_t used = 0;            // number of rows
    int64_t held = 0;            // places of removed rows in the snapshot
    int64_t end = 0;             // exclusive bound of places used so far
    std::vector<uint32_t> free;  // places below `end`; the last is reused first
  };

  // Returns the lowest block with room; adds a block if necessary.
  uint64_t block_with_room();
  void free_place(uint64_t number, uint64_t i);
  void give_back(uint64_t number);
  // Moves all rows of a block. REQUIRES: lower blocks have room.
  void empty_block(uint64_t number, absl::FunctionRef<void(int64_t id, RowIndex to)> moved);

  RowLayout layout_;
  const InstructionSet instruction_set_;
  const std::shared_ptr<BlockPool> pool_;
  std::vector<SlotSpec> slots_;
  std::vector<float> initial_slots_;
  std::vector<char*> memory_;  // of each block, as in blocks_; compact for hot loops
  std::vector<Block> blocks_;
  uint64_t first_room_ = 0;  // no lower block has room
  RowIndex end_ = 0;
  int64_t size_ = 0;
  // Shared with the pointers of freeze(); null: no snapshot, or released.
  std::shared_ptr<RowSnapshot> snapshot_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_STORE_H_
