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

// The rows of a store at one moment, without a copy. There are two kinds:
//
// * still, RowStore::view(): reads the store's memory. The store must not change while it is used.
// * frozen, RowStore::freeze(): the store may change. Before the first write to a row, the writer
//   preserves the old row in an undo log. Removed rows keep their places, and new rows get other
//   places, until the store releases the snapshot.
//
// Each row of a frozen snapshot has an atomic word. A reader increments the word before copying the
// row and decrements it after. The writer waits until the row has no readers, marks it as being
// logged, copies it, and stores its place in the log. So a reader never sees a partial change, and
// a writer waits for the copies of one row at most.
//
// Any number of threads may read. preserve(), hold(), has_block(), adopt() and forget_log() are for
// the store, on the thread that changes it. Reading ends with finish(); after it only the store may
// refer to the snapshot.
class RowSnapshot {
 public:
  // Creates a still snapshot of `blocks`, the store's, or with a budget a frozen one. `pool` gets
  // the blocks of adopt().
  RowSnapshot(const RowLayout& layout, std::vector<char*> blocks, RowIndex end,
              std::shared_ptr<BlockPool> pool = nullptr,
              std::shared_ptr<UndoBudget> budget = nullptr);
  ~RowSnapshot();
  RowSnapshot(const RowSnapshot&) = delete;
  RowSnapshot& operator=(const RowSnapshot&) = delete;

  const RowLayout& layout() const { return layout_; }
  int64_t size() const { return size_; }  // number of rows
  bool contains(RowIndex row) const;

  // Reading. REQUIRES: contains(row), and not finished().
  int64_t id(RowIndex row) const {
    return layout_.ids(blocks_[layout_.block_number(row)])[layout_.in_block(row)];
  }
  RowMeta meta(RowIndex row) const {
    RowMeta meta;
    read(row, [&](const char*, const RowMeta& found) { meta = found; });
    return meta;
  }
  // Copies `bytes` of the row's record, from offset `at`.
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

  // Removes the rows for which `keep` returns false. `keep` is called on the threads of `threads`.
  // Must be called before any other use, while the store does not change.
  void select(absl::FunctionRef<bool(int64_t id, const RowMeta& meta)> keep, ThreadPool& threads);

  // Returns all rows by ascending placement_hash of their id.
  std::vector<RowIndex> in_placement_order(ThreadPool& threads) const;
  // Returns the digest of the content, as TableContent::digest().
  absl::uint128 content_digest(ThreadPool& threads) const;

  // Ends reading: training need not preserve rows any more. Thread-safe.
  void finish();
  bool finished() const { return finished_.load(std::memory_order_acquire); }

  // Preserves rows before they are written. Ignores rows outside the snapshot. May wait for memory,
  // see UndoBudget.
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
  // Keeps the place of a removed row from reuse. REQUIRES: contains(row).
  void hold(RowIndex row) { held_.push_back(row); }
  const std::vector<RowIndex>& held() const { return held_; }
  // Returns true if the block has rows of the snapshot.
  bool has_block(uint64_t number) const;
  // Takes ownership of a block from the store. The destructor returns the block to the pool.
  void adopt(char* block) { adopted_.push_back(block); }
  // Frees the log; called when the store releases the snapshot. REQUIRES: finished().
  void forget_log();

 private:
  // Values of a row's word: below kOutside, the number of readers; from kLogged on, kLogged + its
  // place in the log.
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
      if (seen + 1 >= kOutside) continue;  // being logged, or at the maximum of readers
      if (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) continue;
      use(layout_.record(blocks_.data(), row), *layout_.meta(blocks_.data(), row));
      word.fetch_sub(1, std::memory_order_release);
      return;
    }
  }
  static void pause(int tries);
  void log(RowIndex row);
  // Returns the next place in the log; null if reading has ended.
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
  std::vector<uint64_t> bits_;  // per block: rows of the snapshot
  int64_t size_ = 0;

  // For frozen snapshots only.
  const std::shared_ptr<BlockPool> pool_;
  const std::shared_ptr<UndoBudget> budget_;  // shared by the snapshots of one moment
  std::unique_ptr<UndoBudget::Share> share_;
  uint32_t* words_ = nullptr;  // [end_], atomic, initially zero; null: still
  int64_t words_bytes_ = 0;
  int64_t chunk_rows_ = 1;
  std::vector<std::unique_ptr<char[]>> chunks_;  // enough for all rows
  uint32_t logged_ = 0;
  std::atomic<bool> finished_{false};
  std::vector<RowIndex> held_;
  std::vector<char*> adopted_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_SNAPSHOT_H_
