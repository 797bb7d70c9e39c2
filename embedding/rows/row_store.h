// The memory of rows.
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
  // `set` changes no result. REQUIRES: dim in 1 to 4096.
  explicit RowStore(int64_t dim, RowType type = RowType::kFloat32,
                    std::shared_ptr<BlockPool> pool = nullptr,
                    InstructionSet set = best_instruction_set());
  ~RowStore() { clear(); }
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  // Exchanges the rows of two stores of one dim, type, pool and slots.
  void swap_rows(RowStore& other);

  // REQUIRES: size() == 0. Gives memory back, since the layout changes.
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

  // Adds a row with initial slots, frequency 0 and last step 0. The caller sets its weights.
  // REQUIRES: size() < kMaxRows.
  RowIndex add(int64_t id);
  // Does the same without slots, which the caller sets too.
  RowIndex add_unset(int64_t id);
  // REQUIRES: the row is in use.
  void remove(RowIndex row);
  // Removes all rows and gives their memory back.
  void clear();
  // Moves rows of the highest blocks to where there is room below, as long as that empties a block,
  // and gives the memory back; calls moved(id, to) for each. Rows that are moved get other numbers,
  // and pointers to them end. REQUIRES: not frozen().
  void compact(absl::FunctionRef<void(int64_t id, RowIndex to)> moved);

  // The weights in the store's type, the slots behind them.
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
  // Weights of any type as float32. Writing rounds to the nearest.
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

  // REQUIRES: row < end().
  bool in_use(RowIndex row) const;
  // Row numbers ever given out are below this; those between may be free.
  RowIndex end() const { return end_; }
  int64_t size() const { return size_; }
  // Memory of all blocks. The first one counts as far as rows ever reached into it, since its
  // pages appear when they are touched.
  int64_t bytes() const;
  // Memory of what is kept about blocks, such as the places of removed rows.
  int64_t bookkeeping_bytes() const;

  static constexpr int64_t kMaxRows = 0xfffffffe;

  // The rows as they are; they must not change while that is used.
  std::shared_ptr<RowSnapshot> view() const {
    return std::make_shared<RowSnapshot>(layout_, memory_, end_);
  }
  // Returns: the rows as they are now, to be read while they change; see preserve. It may outlive
  // the store, and is finished when the last copy of this pointer ends, if not before.
  // REQUIRES: not frozen().
  std::shared_ptr<RowSnapshot> freeze(std::shared_ptr<UndoBudget> budget);
  // Returns true if a frozen snapshot may still be read.
  bool frozen() const { return snapshot_ != nullptr; }
  // To be called for rows before their record or RowMeta is changed. Costs nothing unless frozen().
  void preserve(absl::Span<const RowIndex> rows) {
    if (snapshot_ != nullptr) snapshot_->preserve(rows);
  }
  void prefetch_preserve(RowIndex row) const {
    if (snapshot_ != nullptr) snapshot_->prefetch_word(row);
  }
  // Lets go of a snapshot that has been read. Returns: whether none is left.
  bool thaw();

 private:
  struct Block {
    char* memory = nullptr;
    int64_t used = 0;            // rows
    int64_t held = 0;            // places of removed rows that the snapshot reads
    int64_t end = 0;             // rows ever given out
    std::vector<uint32_t> free;  // below `end`; the last one is used first
  };

  // The lowest block with room, made if need be.
  uint64_t block_with_room();
  void free_place(uint64_t number, uint64_t i);
  void give_back(uint64_t number);
  // Moves all rows of a block. REQUIRES: there is room in lower ones.
  void empty_block(uint64_t number, absl::FunctionRef<void(int64_t id, RowIndex to)> moved);

  RowLayout layout_;
  const InstructionSet instruction_set_;
  const std::shared_ptr<BlockPool> pool_;
  std::vector<SlotSpec> slots_;
  std::vector<float> initial_slots_;
  std::vector<char*> memory_;  // of each block, the same as in blocks_: what hot loops look at
  std::vector<Block> blocks_;
  uint64_t first_room_ = 0;  // no block below it has room
  RowIndex end_ = 0;
  int64_t size_ = 0;
  // Shared with the pointers that freeze gave out; null: none, or it has been read and let go.
  std::shared_ptr<RowSnapshot> snapshot_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_STORE_H_
