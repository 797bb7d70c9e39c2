#include "embedding/rows/row_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/memory/make_room.h"
#include "embedding/rows/kernels.h"

namespace millrace {
namespace {

constexpr int64_t kPageBytes = 4096;

}  // namespace

RowStore::RowStore(int64_t dim, RowType type, std::shared_ptr<BlockPool> pool, InstructionSet set)
    : layout_(RowLayout::create(dim, type, 0)),
      instruction_set_(set),
      pool_(pool_or_own(std::move(pool))) {}

void RowStore::swap_rows(RowStore& other) {
  MILLRACE_CHECK(dim() == other.dim() && type() == other.type() && pool_ == other.pool_ &&
                 slots_ == other.slots_)
      << "rows of another layout";
  std::swap(memory_, other.memory_);
  std::swap(blocks_, other.blocks_);
  std::swap(first_room_, other.first_room_);
  std::swap(end_, other.end_);
  std::swap(size_, other.size_);
  std::swap(snapshot_, other.snapshot_);
}

void RowStore::set_slots(std::vector<SlotSpec> slots) {
  MILLRACE_CHECK(size() == 0) << "slots of a store with rows cannot change";
  clear();
  slots_ = std::move(slots);
  initial_slots_.clear();
  for (const SlotSpec& slot : slots_) {
    initial_slots_.insert(initial_slots_.end(), slot.size, slot.initial);
  }
  layout_ = RowLayout::create(dim(), type(), static_cast<int64_t>(initial_slots_.size()));
}

uint64_t RowStore::block_with_room() {
  for (; first_room_ < blocks_.size(); ++first_room_) {
    const Block& block = blocks_[first_room_];
    if (block.used + block.held < static_cast<int64_t>(layout_.rows_per_block)) break;
  }
  if (first_room_ == blocks_.size()) {
    make_room_for_one(memory_);
    blocks_.emplace_back();
    memory_.push_back(nullptr);
    if (blocks_.size() == 2 && memory_[0] != nullptr) BlockPool::densify(memory_[0]);
  }
  Block& block = blocks_[first_room_];
  if (block.memory == nullptr) {
    block.memory = blocks_.size() == 1 ? pool_->take_sparse() : pool_->take();
    memory_[first_room_] = block.memory;
    std::memset(layout_.bits(block.memory), 0, layout_.bit_words() * sizeof(uint64_t));
  }
  return first_room_;
}

RowIndex RowStore::add(int64_t id) {
  const RowIndex row = add_unset(id);
  std::copy(initial_slots_.begin(), initial_slots_.end(), slots(row));
  return row;
}

RowIndex RowStore::add_unset(int64_t id) {
  MILLRACE_CHECK(size() < kMaxRows) << "too many rows";
  const uint64_t number = block_with_room();
  Block& block = blocks_[number];
  uint64_t i;
  if (!block.free.empty()) {
    i = block.free.back();
    block.free.pop_back();
  } else {
    i = static_cast<uint64_t>(block.end++);
  }
  ++block.used;
  ++size_;
  const auto row = static_cast<RowIndex>(number * layout_.rows_per_block + i);
  end_ = std::max(end_, row + 1);
  layout_.ids(block.memory)[i] = id;
  meta(row) = RowMeta();
  layout_.bits(block.memory)[i / 64] |= uint64_t{1} << (i % 64);
  // Zeroes the padding of the weights. Results do not depend on it, but copies of rows include it.
  const int64_t bytes = dim() * row_type_bytes(type());
  if (bytes != weight_bytes()) std::memset(record(row) + bytes, 0, weight_bytes() - bytes);
  return row;
}

bool RowStore::in_use(RowIndex row) const {
  char* memory = memory_[layout_.block_number(row)];
  const uint64_t i = layout_.in_block(row);
  return memory != nullptr && (layout_.bits(memory)[i / 64] >> (i % 64) & 1) != 0;
}

void RowStore::remove(RowIndex row) {
  MILLRACE_CHECK(row < end_ && in_use(row)) << "row " << row << " is not in use";
  const uint64_t number = layout_.block_number(row), i = layout_.in_block(row);
  Block& block = blocks_[number];
  layout_.bits(block.memory)[i / 64] &= ~(uint64_t{1} << (i % 64));
  --block.used;
  --size_;
  if (snapshot_ != nullptr && snapshot_->contains(row)) {
    ++block.held;
    snapshot_->hold(row);
  } else {
    free_place(number, i);
  }
}

void RowStore::free_place(uint64_t number, uint64_t i) {
  Block& block = blocks_[number];
  block.free.push_back(static_cast<uint32_t>(i));
  first_room_ = std::min(first_room_, number);
  if (block.used + block.held == 0) give_back(number);
}

void RowStore::give_back(uint64_t number) {
  pool_->give_back(blocks_[number].memory);
  blocks_[number] = Block();
  memory_[number] = nullptr;
}

std::shared_ptr<RowSnapshot> RowStore::freeze(std::shared_ptr<UndoBudget> budget) {
  MILLRACE_CHECK(!frozen()) << "frozen twice";
  snapshot_ = std::make_shared<RowSnapshot>(layout_, memory_, end_, pool_, std::move(budget));
  // Reading ends with the last copy of the returned pointer, on every path.
  return {snapshot_.get(), [kept = snapshot_](RowSnapshot* snapshot) { snapshot->finish(); }};
}

bool RowStore::thaw() {
  if (snapshot_ == nullptr) return true;
  if (!snapshot_->finished()) return false;
  for (const RowIndex row : snapshot_->held()) {
    const uint64_t number = layout_.block_number(row);
    --blocks_[number].held;
    free_place(number, layout_.in_block(row));
  }
  snapshot_->forget_log();
  snapshot_.reset();
  return true;
}

void RowStore::compact(absl::FunctionRef<void(int64_t id, RowIndex to)> moved) {
  MILLRACE_CHECK(!frozen()) << "rows moved that a snapshot reads";
  while (!blocks_.empty()) {
    const uint64_t last = blocks_.size() - 1;
    const int64_t below = static_cast<int64_t>(last * layout_.rows_per_block);
    if (blocks_[last].used > below - (size_ - blocks_[last].used)) break;
    if (blocks_[last].used > 0) empty_block(last, moved);
    blocks_.pop_back();
    memory_.pop_back();
    end_ = std::min(end_, static_cast<RowIndex>(below));
  }
  first_room_ = std::min<uint64_t>(first_room_, blocks_.size());
}

void RowStore::empty_block(uint64_t number,
                           absl::FunctionRef<void(int64_t id, RowIndex to)> moved) {
  const auto begin = static_cast<RowIndex>(number * layout_.rows_per_block);
  const auto end = static_cast<RowIndex>(begin + blocks_[number].end);
  for (RowIndex from = begin; from < end && blocks_[number].memory != nullptr; ++from) {
    if (!in_use(from)) continue;
    const RowIndex to = add(id(from));
    std::memcpy(record(to), record(from), content_bytes());
    meta(to) = meta(from);
    remove(from);
    moved(id(to), to);
  }
}

void RowStore::clear() {
  thaw();
  for (uint64_t number = 0; number < blocks_.size(); ++number) {
    if (memory_[number] == nullptr) continue;
    if (frozen() && snapshot_->has_block(number)) {
      snapshot_->adopt(memory_[number]);
    } else {
      pool_->give_back(memory_[number]);
    }
  }
  snapshot_.reset();
  blocks_.clear();
  memory_.clear();
  first_room_ = 0;
  end_ = 0;
  size_ = 0;
}

void RowStore::read_weights(RowIndex row, absl::Span<float> weights) const {
  kernels(instruction_set_).widen[static_cast<int>(type())](record(row), dim(), weights.data());
}

void RowStore::write_weights(RowIndex row, absl::Span<const float> weights) {
  kernels(instruction_set_)
      .round_to_nearest[static_cast<int>(type())](weights.data(), dim(), record(row));
}

int64_t RowStore::bookkeeping_bytes() const {
  size_t bytes = blocks_.capacity() * sizeof(Block) + memory_.capacity() * sizeof(char*);
  for (const Block& block : blocks_) bytes += block.free.capacity() * sizeof(uint32_t);
  return static_cast<int64_t>(bytes);
}

int64_t RowStore::bytes() const {
  int64_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.memory == nullptr ? 0 : BlockPool::kBlockBytes;
  if (blocks_.size() == 1 && memory_[0] != nullptr) {
    bytes = std::min<int64_t>(
        BlockPool::kBlockBytes,
        round_up(layout_.records_at + blocks_[0].end * layout_.record_bytes, kPageBytes));
  }
  return bytes;
}

}  // namespace millrace
