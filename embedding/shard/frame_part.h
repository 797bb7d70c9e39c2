// The format of the part of one collection in a frame.
#ifndef MILLRACE_EMBEDDING_SHARD_FRAME_PART_H_
#define MILLRACE_EMBEDDING_SHARD_FRAME_PART_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Numbers are little-endian, as in memory. Each piece below is padded with zeros to a multiple of 8
// bytes. A part:
//
//   PartHeader, then for each table, in the order of the collection:
//   ids    u64 n; i64 id[n]
//   rows   u64 n; bits[n]: the id has a record; a record for each bit that is set
//   sums   u64 n; u32 count[n]; bits[n]: the id has a gradient; f32[dim] for each bit that is set.
//          Omitted for frozen tables
//
// Bit i of `bits` is bit i % 64 of word i / 64; bits after the n-th are 0. Records are weights in
// the type of the table's rows, RowStore::weight_bytes() each.
enum class PartKind : uint32_t { kIds = 0x5d1d5, kRows = 0x560e5, kSums = 0x505d5 };

struct PartHeader {
  uint32_t kind = 0;
  uint32_t tables = 0;
  uint64_t fingerprint = 0;  // of the set of tables
};

constexpr size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }
constexpr size_t words_of_bits(size_t bits) { return (bits + 63) / 64; }
// Returns the number of set bits. REQUIRES: no bit after the last one is set.
size_t count_bits(const char* words, size_t bits);
inline bool bit_of(const char* words, size_t bit) {
  return (static_cast<unsigned char>(words[bit / 8]) >> (bit % 8) & 1) != 0;
}
inline void set_bit(char* words, size_t bit) {
  words[bit / 8] = static_cast<char>(words[bit / 8] | (1 << (bit % 8)));
}

// Writes consecutive pieces to memory of sufficient size.
class PieceWriter {
 public:
  explicit PieceWriter(char* at) : at_(at) {}

  void number(uint64_t number);
  // Returns the address for a piece of `bytes` bytes. Zeroes the padding.
  char* piece(size_t bytes);
  // Returns the address of a piece of zeros.
  char* zeros(size_t bytes);

 private:
  char* at_;
};

// Reads pieces from the front of a part. `what`: a name for messages, such as "ids of rank 3".
// Errors: DataLoss, beginning with `what`.
class PieceReader {
 public:
  // Borrows both; removes what was read from `bytes`.
  PieceReader(absl::string_view what, absl::string_view& bytes) : what_(what), bytes_(bytes) {}

  // Reads a header. Errors: also for a part of another kind or set of tables.
  absl::Status header(const PartHeader& expected);
  absl::StatusOr<uint64_t> number(absl::string_view table);
  // Reads `count` elements of `bytes_each` bytes.
  absl::StatusOr<absl::string_view> piece(absl::string_view table, uint64_t count,
                                          size_t bytes_each);
  // Reads words with `count` bits. Errors: also for set bits after the last one.
  absl::StatusOr<absl::string_view> bits(absl::string_view table, uint64_t count);
  // Returns the error of a damaged table.
  absl::Status damaged(absl::string_view table, absl::string_view why) const;

 private:
  absl::string_view what_;
  absl::string_view& bytes_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_FRAME_PART_H_
