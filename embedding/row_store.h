// Where rows live.
#ifndef MILLRACE_EMBEDDING_ROW_STORE_H_
#define MILLRACE_EMBEDDING_ROW_STORE_H_

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "embedding/row_index.h"
#include "embedding/row_optimizer.h"

namespace millrace {

// Rows of one width in blocks that never move: a pointer to a row holds until the row is
// removed. The record of a row is its weights, then its slots, float32, beginning at a multiple of
// 64 bytes. What is kept about a row (its id, frequency, the step that last saw it) stands in
// arrays at the head of its block. Row numbers of removed rows are used again.
//
// Reading is safe from many threads; changes need the store, or for the accessors that return a
// reference the row, for themselves.
class RowStore {
 public:
  // REQUIRES: dim >= 1.
  explicit RowStore(int64_t dim) : dim_(dim) { set_slots({}); }

  // REQUIRES: size() == 0. Gives memory back, since the layout changes.
  void set_slots(std::vector<SlotSpec> slots);

  int64_t dim() const { return dim_; }
  const std::vector<SlotSpec>& slots() const { return slots_; }
  int64_t slot_floats() const { return slot_floats_; }  // of all slots of a row

  // A row with initial slots, frequency 0 and last step 0; its weights are to be set by the caller.
  // REQUIRES: size() < kMaxRows.
  RowIndex add(int64_t id);
  // REQUIRES: the row is in use.
  void remove(RowIndex row);
  // Removes all rows and gives their memory back.
  void clear();

  float* weights(RowIndex row) { return block(row).records + record_floats_ * (row & kInBlock); }
  const float* weights(RowIndex row) const {
    return block(row).records + record_floats_ * (row & kInBlock);
  }
  float* slots(RowIndex row) { return weights(row) + dim_; }
  const float* slots(RowIndex row) const { return weights(row) + dim_; }

  int64_t id(RowIndex row) const { return block(row).head->id[row & kInBlock]; }
  int64_t& frequency(RowIndex row) { return block(row).head->frequency[row & kInBlock]; }
  int64_t frequency(RowIndex row) const { return block(row).head->frequency[row & kInBlock]; }
  int64_t& last_step(RowIndex row) { return block(row).head->last_step[row & kInBlock]; }
  int64_t last_step(RowIndex row) const { return block(row).head->last_step[row & kInBlock]; }
  // A number of the step plan's, without meaning between steps.
  uint32_t& mark(RowIndex row) { return block(row).head->mark[row & kInBlock]; }

  bool in_use(RowIndex row) const { return block(row).head->in_use[row & kInBlock]; }
  // Row numbers ever given out are below this; those between may be free.
  RowIndex end() const { return end_; }
  int64_t size() const { return static_cast<int64_t>(end_) - static_cast<int64_t>(free_.size()); }
  // Memory of all blocks.
  int64_t bytes() const;

  static constexpr int64_t kMaxRows = 0xfffffffe;

 private:
  static constexpr int64_t kRowsPerBlock = 1024;
  static constexpr RowIndex kInBlock = kRowsPerBlock - 1;

  struct Head {
    uint32_t mark[kRowsPerBlock];
    int64_t id[kRowsPerBlock];
    int64_t frequency[kRowsPerBlock];
    int64_t last_step[kRowsPerBlock];
    bool in_use[kRowsPerBlock];
  };
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, std::align_val_t(64)); }
  };
  struct Block {
    Head* head = nullptr;
    float* records = nullptr;
    std::unique_ptr<void, Free> memory;  // the head, then the records
  };

  Block& block(RowIndex row) { return blocks_[row / kRowsPerBlock]; }
  const Block& block(RowIndex row) const { return blocks_[row / kRowsPerBlock]; }
  int64_t block_bytes() const;
  void add_block();

  int64_t dim_;
  std::vector<SlotSpec> slots_;
  int64_t slot_floats_ = 0;
  int64_t record_floats_ = 0;  // a multiple of 16: 64 bytes
  std::vector<Block> blocks_;
  RowIndex end_ = 0;
  std::vector<RowIndex> free_;  // the last one is used first
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROW_STORE_H_
