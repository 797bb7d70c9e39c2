#include "embedding/row_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "embedding/kernels.h"

namespace millrace {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kPageBytes = 4096;

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

RowStore::RowStore(int64_t dim, RowType type, std::shared_ptr<BlockPool> pool)
    : dim_(dim),
      type_(type),
      pool_(pool != nullptr ? std::move(pool) : std::make_shared<BlockPool>(/*background=*/false)),
      weight_bytes_(round_up(dim * row_type_bytes(type), sizeof(float))) {
  lay_out();
}

void RowStore::swap_rows(RowStore& other) {
  MILLRACE_CHECK(dim_ == other.dim_ && type_ == other.type_ && pool_ == other.pool_ &&
                 slots_ == other.slots_)
      << "rows of another layout";
  std::swap(memory_, other.memory_);
  std::swap(blocks_, other.blocks_);
  std::swap(first_room_, other.first_room_);
  std::swap(end_, other.end_);
  std::swap(size_, other.size_);
}

void RowStore::set_slots(std::vector<SlotSpec> slots) {
  MILLRACE_CHECK(size() == 0) << "slots of a store with rows cannot change";
  clear();
  slots_ = std::move(slots);
  initial_slots_.clear();
  for (const SlotSpec& slot : slots_) {
    initial_slots_.insert(initial_slots_.end(), slot.size, slot.initial);
  }
  slot_floats_ = static_cast<int64_t>(initial_slots_.size());
  lay_out();
}

void RowStore::lay_out() {
  constexpr auto kMetaBytes = static_cast<int64_t>(sizeof(RowMeta));
  record_bytes_ = round_up(content_bytes(), kAlignment);
  const bool in_record = content_bytes() + kMetaBytes <= record_bytes_;
  meta_stride_ = in_record ? record_bytes_ : kMetaBytes;
  const int64_t head_meta_bytes = in_record ? 0 : kMetaBytes;
  // As many rows as fit with what is kept about them; the loop makes room for the alignment.
  const int64_t head_bits = 8 * (head_meta_bytes + static_cast<int64_t>(sizeof(int64_t))) + 1;
  int64_t rows = 8 * BlockPool::kBlockBytes / (head_bits + 8 * record_bytes_);
  do {
    ids_at_ = rows * head_meta_bytes;
    bits_at_ = ids_at_ + rows * static_cast<int64_t>(sizeof(int64_t));
    records_at_ = round_up(bits_at_ + round_up(rows, 64) / 8, kAlignment);
  } while (records_at_ + rows * record_bytes_ > BlockPool::kBlockBytes && --rows > 0);
  MILLRACE_CHECK(rows > 1) << "rows of " << record_bytes_ << " bytes are too wide";
  rows_per_block_ = static_cast<uint64_t>(rows);
  reciprocal_ = ~uint64_t{0} / rows_per_block_ + 1;
  metas_at_ = in_record ? records_at_ + content_bytes() : 0;
}

uint64_t RowStore::block_with_room() {
  for (; first_room_ < blocks_.size(); ++first_room_) {
    const Block& block = blocks_[first_room_];
    if (block.used < static_cast<int64_t>(rows_per_block_)) break;
  }
  if (first_room_ == blocks_.size()) {
    blocks_.emplace_back();
    memory_.push_back(nullptr);
    if (blocks_.size() == 2 && memory_[0] != nullptr) BlockPool::densify(memory_[0]);
  }
  Block& block = blocks_[first_room_];
  if (block.memory == nullptr) {
    block.memory = blocks_.size() == 1 ? pool_->take_sparse() : pool_->take();
    memory_[first_room_] = block.memory;
    std::memset(bits(block.memory), 0, round_up(rows_per_block_, 64) / 8);
  }
  return first_room_;
}

RowIndex RowStore::add(int64_t id) {
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
  const auto row = static_cast<RowIndex>(number * rows_per_block_ + i);
  end_ = std::max(end_, row + 1);
  ids(block.memory)[i] = id;
  meta(row) = RowMeta();
  bits(block.memory)[i / 64] |= uint64_t{1} << (i % 64);
  std::copy(initial_slots_.begin(), initial_slots_.end(), slots(row));
  // What fills the weights up to a multiple of four bytes belongs to no result, but to copies.
  if (dim_ * row_type_bytes(type_) != weight_bytes_) {
    std::memset(record(row) + dim_ * row_type_bytes(type_), 0,
                weight_bytes_ - dim_ * row_type_bytes(type_));
  }
  return row;
}

bool RowStore::in_use(RowIndex row) const {
  const char* memory = block(row);
  const uint64_t i = in_block(row);
  return memory != nullptr && (bits(memory)[i / 64] >> (i % 64) & 1) != 0;
}

void RowStore::remove(RowIndex row) {
  MILLRACE_CHECK(row < end_ && in_use(row)) << "row " << row << " is not in use";
  const uint64_t number = block_number(row), i = in_block(row);
  Block& block = blocks_[number];
  bits(block.memory)[i / 64] &= ~(uint64_t{1} << (i % 64));
  block.free.push_back(static_cast<uint32_t>(i));
  --block.used;
  --size_;
  first_room_ = std::min(first_room_, number);
  if (block.used == 0) give_back(number);
}

void RowStore::give_back(uint64_t number) {
  pool_->give_back(blocks_[number].memory);
  blocks_[number] = Block();
  memory_[number] = nullptr;
}

void RowStore::compact(absl::FunctionRef<void(int64_t id, RowIndex to)> moved) {
  while (!blocks_.empty()) {
    const uint64_t last = blocks_.size() - 1;
    const int64_t below = static_cast<int64_t>(last * rows_per_block_);
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
  const auto begin = static_cast<RowIndex>(number * rows_per_block_);
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
  for (uint64_t number = 0; number < blocks_.size(); ++number) {
    if (memory_[number] != nullptr) give_back(number);
  }
  blocks_.clear();
  memory_.clear();
  first_room_ = 0;
  end_ = 0;
  size_ = 0;
}

void RowStore::read_weights(RowIndex row, absl::Span<float> weights) const {
  kernels(best_instruction_set()).widen[static_cast<int>(type_)](record(row), dim_, weights.data());
}

void RowStore::write_weights(RowIndex row, absl::Span<const float> weights) {
  kernels(best_instruction_set())
      .round_to_nearest[static_cast<int>(type_)](weights.data(), dim_, record(row));
}

int64_t RowStore::bytes() const {
  int64_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.memory == nullptr ? 0 : BlockPool::kBlockBytes;
  if (blocks_.size() == 1 && memory_[0] != nullptr) {
    bytes = std::min<int64_t>(BlockPool::kBlockBytes,
                              round_up(records_at_ + blocks_[0].end * record_bytes_, kPageBytes));
  }
  return bytes;
}

}  // namespace millrace
