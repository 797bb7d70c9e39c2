#include "embedding/row_store.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.h"

namespace millrace {
namespace {

constexpr int64_t kAlignment = 64;

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

void RowStore::set_slots(std::vector<SlotSpec> slots) {
  MILLRACE_CHECK(size() == 0) << "slots of a store with rows cannot change";
  clear();
  slots_ = std::move(slots);
  slot_floats_ = 0;
  for (const SlotSpec& slot : slots_) slot_floats_ += slot.size;
  record_floats_ = round_up(dim_ + slot_floats_, kAlignment / sizeof(float));
}

RowIndex RowStore::add(int64_t id) {
  MILLRACE_CHECK(size() < kMaxRows) << "too many rows";
  RowIndex row;
  if (!free_.empty()) {
    row = free_.back();
    free_.pop_back();
  } else {
    if (end_ == blocks_.size() * kRowsPerBlock) add_block();
    row = end_++;
  }
  Head& head = *block(row).head;
  const RowIndex i = row & kInBlock;
  head.id[i] = id;
  head.frequency[i] = head.last_step[i] = 0;
  head.mark[i] = 0;
  head.in_use[i] = true;
  float* slot = this->slots(row);
  for (const SlotSpec& spec : slots_) slot = std::fill_n(slot, spec.size, spec.initial);
  return row;
}

void RowStore::remove(RowIndex row) {
  MILLRACE_CHECK(row < end_ && in_use(row)) << "row " << row << " is not in use";
  block(row).head->in_use[row & kInBlock] = false;
  free_.push_back(row);
}

void RowStore::clear() {
  blocks_.clear();
  free_.clear();
  end_ = 0;
}

int64_t RowStore::bytes() const { return static_cast<int64_t>(blocks_.size()) * block_bytes(); }

int64_t RowStore::block_bytes() const {
  return round_up(sizeof(Head), kAlignment) +
         kRowsPerBlock * record_floats_ * static_cast<int64_t>(sizeof(float));
}

void RowStore::add_block() {
  void* memory = ::operator new(block_bytes(), std::align_val_t(kAlignment));
  Block block;
  block.memory.reset(memory);
  block.head = static_cast<Head*>(memory);
  block.records = reinterpret_cast<float*>(static_cast<char*>(memory) +
                                           round_up(sizeof(Head), kAlignment));
  blocks_.push_back(std::move(block));
}

}  // namespace millrace
