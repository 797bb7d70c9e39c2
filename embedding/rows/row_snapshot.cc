#include "embedding/rows/row_snapshot.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory/huge_memory.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace {
namespace {

constexpr int64_t kChunkBytes = 256 << 10;  // of a chunk of the log
constexpr int64_t kRowsOfABucket = 1024;    // target size of a bucket in the sort
constexpr int kMaxBucketBits = 14;
constexpr int64_t kGroups = 64;  // of blocks, maximum
constexpr int64_t kSmallPageBytes = 4096;
constexpr int kSpins = 64;

}  // namespace

RowSnapshot::RowSnapshot(const RowLayout& layout, std::vector<char*> blocks, RowIndex end,
                         std::shared_ptr<BlockPool> pool, std::shared_ptr<UndoBudget> budget)
    : layout_(layout),
      blocks_(std::move(blocks)),
      end_(end),
      pool_(std::move(pool)),
      budget_(std::move(budget)) {
  // The bits are copied, since the store may add and remove rows during the life of the snapshot.
  const uint64_t words = layout_.bit_words();
  bits_.resize(blocks_.size() * words);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b] == nullptr) continue;
    const uint64_t* from = layout_.bits(blocks_[b]);
    for (uint64_t w = 0; w < words; ++w) {
      bits_[b * words + w] = from[w];
      size_ += __builtin_popcountll(from[w]);
    }
  }
  // Only a frozen snapshot needs words and a log. A zero word has no readers; map_memory() returns
  // zeros.
  if (budget_ == nullptr || end_ == 0) return;
  share_ = std::make_unique<UndoBudget::Share>(*budget_);
  const auto bytes = static_cast<int64_t>(end_) * static_cast<int64_t>(sizeof(uint32_t));
  const int64_t page = bytes < kHugePageBytes ? kSmallPageBytes : kHugePageBytes;
  words_bytes_ = round_up(bytes, page);
  char* memory = map_memory(words_bytes_, page);
  if (page == kHugePageBytes) use_huge_pages(memory, words_bytes_);
  words_ = reinterpret_cast<uint32_t*>(memory);
  chunk_rows_ = std::clamp<int64_t>(size_, 1, std::max<int64_t>(1, kChunkBytes / entry_bytes()));
  chunks_.resize((size_ + chunk_rows_ - 1) / chunk_rows_);
}

RowSnapshot::~RowSnapshot() {
  finish();
  if (words_ != nullptr) unmap_memory(reinterpret_cast<char*>(words_), words_bytes_);
  for (char* block : adopted_) pool_->give_back(block);
}

bool RowSnapshot::contains(RowIndex row) const {
  if (row >= end_) return false;
  const uint64_t number = layout_.block_number(row), i = layout_.in_block(row);
  return (bits_[number * layout_.bit_words() + i / 64] >> (i % 64) & 1) != 0;
}

bool RowSnapshot::has_block(uint64_t number) const {
  if (number >= blocks_.size()) return false;  // added after the snapshot
  const auto begin = bits_.begin() + static_cast<int64_t>(number * layout_.bit_words());
  return std::any_of(begin, begin + static_cast<int64_t>(layout_.bit_words()),
                     [](uint64_t word) { return word != 0; });
}

void RowSnapshot::finish() {
  if (share_ != nullptr) share_->end();  // wakes threads that wait for memory
  finished_.store(true, std::memory_order_release);
}

void RowSnapshot::forget_log() {
  MILLRACE_CHECK(finished()) << "a snapshot forgotten that is still read";
  chunks_.clear();
  if (words_ != nullptr) unmap_memory(reinterpret_cast<char*>(words_), words_bytes_);
  words_ = nullptr;
}

void RowSnapshot::pause(int tries) {
  // The system may have suspended the thread that uses the row.
  if (tries > kSpins) std::this_thread::yield();
}

char* RowSnapshot::next_entry() {
  const int64_t chunk = logged_ / chunk_rows_;
  if (chunks_[chunk] == nullptr) {
    const int64_t bytes = chunk_rows_ * entry_bytes();
    if (!share_->take(bytes)) return nullptr;
    chunks_[chunk].reset(new char[bytes]);
  }
  return log_entry(logged_++);
}

void RowSnapshot::log(RowIndex row) {
  const std::atomic_ref<uint32_t> word = this->word(row);
  if (!contains(row)) {
    word.store(kOutside, std::memory_order_relaxed);  // readers do not read rows outside
    return;
  }
  const uint32_t number = logged_;
  char* entry = next_entry();
  if (entry == nullptr) return;
  for (int tries = 0;; pause(++tries)) {
    uint32_t no_readers = 0;
    if (word.compare_exchange_weak(no_readers, kLogging, std::memory_order_acquire)) break;
  }
  std::memcpy(entry, layout_.meta(blocks_.data(), row), sizeof(RowMeta));
  std::memcpy(entry + sizeof(RowMeta), layout_.record(blocks_.data(), row),
              layout_.content_bytes());
  word.store(kLogged + number, std::memory_order_release);
}

template <typename Use>
void RowSnapshot::for_rows_of(uint64_t block, const Use& use) const {
  if (blocks_[block] == nullptr) return;
  const int64_t* ids = layout_.ids(blocks_[block]);
  for (uint64_t w = 0; w < layout_.bit_words(); ++w) {
    for (uint64_t left = bits_[block * layout_.bit_words() + w]; left != 0; left &= left - 1) {
      const uint64_t i = 64 * w + __builtin_ctzll(left);
      use(static_cast<RowIndex>(block * layout_.rows_per_block + i), ids[i]);
    }
  }
}

void RowSnapshot::select(absl::FunctionRef<bool(int64_t id, const RowMeta& meta)> keep,
                         ThreadPool& threads) {
  const auto blocks = static_cast<int64_t>(blocks_.size());
  std::vector<int64_t> removed(blocks);
  threads.parallel_for(blocks, [&](int64_t block) {
    std::vector<RowIndex> rows;
    for_rows_of(block, [&](RowIndex row, int64_t id) {
      if (!keep(id, *layout_.meta(blocks_.data(), row))) rows.push_back(row);
    });
    for (const RowIndex row : rows) {
      const uint64_t i = layout_.in_block(row);
      bits_[block * layout_.bit_words() + i / 64] &= ~(uint64_t{1} << (i % 64));
    }
    removed[block] = static_cast<int64_t>(rows.size());
  });
  size_ -= std::accumulate(removed.begin(), removed.end(), int64_t{0});
}

std::vector<RowIndex> RowSnapshot::in_placement_order(ThreadPool& threads) const {
  struct Placed {
    uint64_t hash;
    RowIndex row;
    bool operator<(const Placed& other) const { return hash < other.hash; }
  };
  // Hashes are uniform, so rows are distributed into buckets by their upper bits and each bucket is
  // sorted.
  int bits = 0;
  while ((size_ >> bits) > kRowsOfABucket && bits < kMaxBucketBits) ++bits;
  const int64_t buckets = int64_t{1} << bits;
  const auto bucket_of = [&](uint64_t hash) { return bits == 0 ? 0 : hash >> (64 - bits); };
  const auto blocks = static_cast<int64_t>(blocks_.size());
  const int64_t groups = std::min<int64_t>(blocks, kGroups);
  std::vector<uint32_t> places(groups * buckets);  // by [group][bucket]: next place of a row
  const auto for_rows = [&](int64_t group, const auto& use) {
    for (int64_t b = blocks * group / groups; b < blocks * (group + 1) / groups; ++b) {
      for_rows_of(b, [&](RowIndex row, int64_t id) { use(row, placement_hash(id)); });
    }
  };
  threads.parallel_for(groups, [&](int64_t group) {
    uint32_t* counts = places.data() + group * buckets;
    for_rows(group, [&](RowIndex, uint64_t hash) { ++counts[bucket_of(hash)]; });
  });
  std::vector<uint32_t> begins(buckets + 1);
  uint32_t next = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    begins[bucket] = next;
    for (int64_t group = 0; group < groups; ++group) {
      next += std::exchange(places[group * buckets + bucket], next);
    }
  }
  begins[buckets] = next;
  const std::unique_ptr<Placed[]> placed(new Placed[size_]);
  threads.parallel_for(groups, [&](int64_t group) {
    uint32_t* to = places.data() + group * buckets;
    for_rows(group, [&](RowIndex row, uint64_t hash) {
      placed[to[bucket_of(hash)]++] = {hash, row};
    });
  });
  std::vector<RowIndex> rows(size_);
  threads.parallel_for(buckets, [&](int64_t bucket) {
    std::sort(placed.get() + begins[bucket], placed.get() + begins[bucket + 1]);
    for (uint32_t i = begins[bucket]; i < begins[bucket + 1]; ++i) rows[i] = placed[i].row;
  });
  return rows;
}

absl::uint128 RowSnapshot::content_digest(ThreadPool& threads) const {
  const int64_t record_bytes = layout_.content_bytes();
  const auto blocks = static_cast<int64_t>(blocks_.size());
  std::vector<absl::uint128> digests(blocks);
  // Digests of blocks are added, so the result depends neither on threads nor on row numbers.
  threads.parallel_for(blocks, [&](int64_t block) {
    std::vector<char> bytes(3 * sizeof(int64_t) + record_bytes);
    for_rows_of(block, [&](RowIndex row, int64_t id) {
      char* to = bytes.data();
      std::memcpy(to, &id, sizeof(id));
      to += sizeof(id);
      RowMeta meta;
      read(row, [&](const char* record, const RowMeta& found) {
        std::memcpy(to, record, record_bytes);
        meta = found;
      });
      to += record_bytes;
      for (const int64_t number : {int64_t{meta.frequency}, int64_t{meta.last_step}}) {
        std::memcpy(to, &number, sizeof(number));
        to += sizeof(number);
      }
      const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
      digests[block] += absl::MakeUint128(hash.high64, hash.low64);
    });
  });
  return std::accumulate(digests.begin(), digests.end(), absl::uint128(0));
}

}  // namespace millrace
