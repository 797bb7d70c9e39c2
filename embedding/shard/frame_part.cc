#include "embedding/shard/frame_part.h"

#include <bit>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

uint64_t load_word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

size_t count_bits(const char* words, size_t bits) {
  size_t count = 0;
  for (size_t i = 0; i < words_of_bits(bits); ++i) count += std::popcount(load_word(words + 8 * i));
  return count;
}

void PieceWriter::number(uint64_t number) {
  std::memcpy(at_, &number, sizeof number);
  at_ += sizeof number;
}

char* PieceWriter::piece(size_t bytes) {
  char* const begin = at_;
  at_ += padded(bytes);
  std::memset(begin + bytes, 0, padded(bytes) - bytes);
  return begin;
}

char* PieceWriter::zeros(size_t bytes) {
  char* const begin = at_;
  at_ += padded(bytes);
  std::memset(begin, 0, padded(bytes));
  return begin;
}

absl::Status PieceReader::header(const PartHeader& expected) {
  PartHeader header;
  if (bytes_.size() < sizeof header) {
    return absl::DataLossError(absl::StrCat(what_, ": the frame ends before them"));
  }
  std::memcpy(&header, bytes_.data(), sizeof header);
  bytes_.remove_prefix(sizeof header);
  if (header.kind != expected.kind) {
    return absl::DataLossError(absl::StrCat(what_, ": the frame holds something else there"));
  }
  if (header.tables != expected.tables || header.fingerprint != expected.fingerprint) {
    return absl::DataLossError(absl::StrCat(
        what_, ": they are for another set of tables (", header.tables, " tables; here ",
        expected.tables, "); all ranks of a job need the same model and configuration"));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PieceReader::number(absl::string_view table) {
  if (bytes_.size() < sizeof(uint64_t)) return damaged(table, "the frame is too short");
  const uint64_t number = load_word(bytes_.data());
  bytes_.remove_prefix(sizeof number);
  return number;
}

absl::StatusOr<absl::string_view> PieceReader::piece(absl::string_view table, uint64_t count,
                                                     size_t bytes_each) {
  // Avoids a product that could overflow.
  if (count > bytes_.size() / bytes_each || padded(count * bytes_each) > bytes_.size()) {
    return damaged(table, "the frame is too short");
  }
  const absl::string_view piece = bytes_.substr(0, count * bytes_each);
  bytes_.remove_prefix(padded(count * bytes_each));
  return piece;
}

absl::StatusOr<absl::string_view> PieceReader::bits(absl::string_view table, uint64_t count) {
  ASSIGN_OR_RETURN(const absl::string_view words, piece(table, words_of_bits(count), 8));
  if (count % 64 != 0 && (load_word(words.data() + words.size() - 8) >> (count % 64)) != 0) {
    return damaged(table, "there is more than was asked for");
  }
  return words;
}

absl::Status PieceReader::damaged(absl::string_view table, absl::string_view why) const {
  return absl::DataLossError(absl::StrCat(what_, ", table ", table, ": ", why));
}

}  // namespace millrace
