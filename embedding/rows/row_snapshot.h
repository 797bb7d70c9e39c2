// The rows of a store at one moment.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_SNAPSHOT_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_SNAPSHOT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/numeric/int128.h"
#include "absl/types/span.h"
#include "base/memory/block_pool.h"
#include "base/thread_pool.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_layout.h"
#include "embedding/rows/undo_budget.h"

namespace millrace {

// What a store's rows were at one moment, without a copy of them. There are two kinds:
//
// * still, RowStore::view(): reads the store's memory; the store must not change while it is used.
// * frozen, RowStore::freeze(): the store may change. Whoever is about to write to a row has it
//   preserved first: the first time, the old row goes into an undo log. Removed rows stay where
//   they are, and new ones get other places, until the store lets go of the snapshot.
//
// Each row of a frozen snapshot has a word. Readers count themselves in and out of it while they
// copy; the writer, once it has seen nobody there, marks the row as being logged, copies it, and
// leaves the place in the log. So a reader never sees half a change, and a writer waits for the
// copying of one row at most.
//
// Reading is for any number of threads; preserve, hold and the like are the store's, for the thread
// that changes it. Reading ends with finish(): after that only the store may still refer to it.
class RowSnapshot {
 public:
  // `blocks`: of the store. With a budget a frozen one; `pool` is then where blocks go that the
  // store leaves to it.
  RowSnapshot(const RowLayout& layout, std::vector<char*> blocks, RowIndex end,
              std::shared_ptr<BlockPool> pool = nullptr,
              std::shared_ptr<UndoBudget> budget = nullptr);
  ~RowSnapshot();
  RowSnapshot(const RowSnapshot&) = delete;
  RowSnapshot& operator=(const RowSnapshot&) = delete;

  const RowLayout& layout() const { return layout_; }
  int64_t size() const { return size_; }  // rows
  bool contains(RowIndex row) const;

  // Reading. REQUIRES: contains(row), not finished.
  int64_t id(RowIndex row) const {
    return layout_.ids(blocks_[layout_.block_number(row)])[layout_.in_block(row)];
  }
  RowMeta meta(RowIndex row) const {
    RowMeta meta;
    read(row, [&](const char*, const RowMeta& found) { meta = found; });
    return meta;
  }
  // `bytes` of the row's record, from `at` on.
  void copy(RowIndex row, int64_t at, int64_t bytes, char* to) const {
    read(row,
         [&](const char* record, const RowMeta&) { __builtin_memcpy(to, record + at, bytes); });
  }
  void prefetch_record(RowIndex row, int64_t at, int64_t bytes) const {
    prefetch_word(row);
    const char* record = layout_.record(blocks_.data(), row) + at;
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(record + b);
  }
  void prefetch_meta(RowIndex row) const {
    prefetch_word(row);
    __builtin_prefetch(layout_.meta(blocks_.data(), row));
  }

  // Removes the rows for which `keep` returns false. `keep` is called from the threads of
  // `threads`. To be called before anything else, while the store does not change.
  void select(absl::FunctionRef<bool(int64_t id, const RowMeta& meta)> keep, ThreadPool& threads);

  // All rows by ascending placement_hash of their id.
  std::vector<RowIndex> in_placement_order(ThreadPool& threads) const;
  // As TableContent::digest.
  absl::uint128 content_digest(ThreadPool& threads) const;

  // Nothing will be read any more: training need not keep anything. From any thread.
  void finish();
  bool finished() const { return finished_.load(std::memory_order_acquire); }

  // Before rows are written to; those that are not in the snapshot do not matter. May wait, as
  // UndoBudget says.
  void preserve(absl::Span<const RowIndex> rows) {
    if (finished()) return;
    for (const RowIndex row : rows) {
      if (row >= end_) continue;
      if (word(row).load(std::memory_order_relaxed) < kOutside) log(row);
    }
  }
  void prefetch_word(RowIndex row) const {
    if (words_ != nullptr && row < end_) __builtin_prefetch(&words_[row], 1);
  }
  // A removed row whose place is not to be used. REQUIRES: contains(row).
  void hold(RowIndex row) { held_.push_back(row); }
  const std::vector<RowIndex>& held() const { return held_; }
  // Whether there are rows of the snapshot in this block.
  bool has_block(uint64_t number) const;
  // The store gives this block up; it is given back to the pool when the snapshot ends.
  void adopt(char* block) { adopted_.push_back(block); }
  // The store lets go of it: frees the log. REQUIRES: finished().
  void forget_log();

 private:
  // A row's word: below kOutside the number of its readers, from kLogged on its place in the log.
  static constexpr uint32_t kOutside = 0x100;  // not in the snapshot
  static constexpr uint32_t kLogging = 0x101;
  static constexpr uint32_t kLogged = 0x102;

  std::atomic_ref<uint32_t> word(RowIndex row) const {
    return std::atomic_ref<uint32_t>(words_[row]);
  }
  template <typename Use>
  void read(RowIndex row, const Use& use) const {
    if (words_ == nullptr) {
      use(layout_.record(blocks_.data(), row), *layout_.meta(blocks_.data(), row));
    } else {
      read_frozen(row, use);
    }
  }
  template <typename Use>
  void read_frozen(RowIndex row, const Use& use) const {
    const std::atomic_ref<uint32_t> word = this->word(row);
    for (int tries = 0;; pause(++tries)) {
      uint32_t seen = word.load(std::memory_order_acquire);
      if (seen >= kLogged) {
        const char* entry = log_entry(seen - kLogged);
        use(entry + sizeof(RowMeta), *reinterpret_cast<const RowMeta*>(entry));
        return;
      }
      if (seen + 1 >= kOutside) continue;  // being logged, or more readers than there is room for
      if (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) continue;
      use(layout_.record(blocks_.data(), row), *layout_.meta(blocks_.data(), row));
      word.fetch_sub(1, std::memory_order_release);
      return;
    }
  }
  static void pause(int tries);
  void log(RowIndex row);
  // A place in the log; null if nothing is read any more.
  char* next_entry();
  int64_t entry_bytes() const {
    return layout_.content_bytes() + static_cast<int64_t>(sizeof(RowMeta));
  }
  char* log_entry(uint32_t number) const {
    return chunks_[number / chunk_rows_].get() + number % chunk_rows_ * entry_bytes();
  }
  // Calls use(row, id) for the rows of a block.
  template <typename Use>
  void for_rows_of(uint64_t block, const Use& use) const;

  const RowLayout layout_;
  const std::vector<char*> blocks_;
  const RowIndex end_;
  std::vector<uint64_t> bits_;  // of each block in turn: its rows
  int64_t size_ = 0;

  // Of a frozen one.
  const std::shared_ptr<BlockPool> pool_;
  const std::shared_ptr<UndoBudget> budget_;  // shared by the snapshots of one moment
  std::unique_ptr<UndoBudget::Share> share_;
  uint32_t* words_ = nullptr;  // [end_], atomic, zeros at first; null: a still one
  int64_t words_bytes_ = 0;
  int64_t chunk_rows_ = 1;
  std::vector<std::unique_ptr<char[]>> chunks_;  // as many as can ever be needed
  uint32_t logged_ = 0;
  std::atomic<bool> finished_{false};
  std::vector<RowIndex> held_;
  std::vector<char*> adopted_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_SNAPSHOT_H_
