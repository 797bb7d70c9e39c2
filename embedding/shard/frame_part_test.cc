#include "embedding/shard/frame_part.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(FramePartTest, PiecesAreReadAsTheyWereWritten) {
  std::vector<uint64_t> memory(6, ~uint64_t{0});
  auto* const bytes = reinterpret_cast<char*>(memory.data());
  PieceWriter writer(bytes);
  writer.number(70);
  std::memcpy(writer.piece(5), "abcde", 5);
  char* const bits = writer.zeros(8 * words_of_bits(70));
  for (const size_t bit : {0, 7, 8, 63, 64, 69}) set_bit(bits, bit);
  EXPECT_EQ(count_bits(bits, 70), 6u);

  absl::string_view rest(bytes, 40);
  PieceReader reader("ids", rest);
  ASSERT_OK_AND_ASSIGN(const uint64_t number, reader.number("t"));
  EXPECT_EQ(number, 70u);
  ASSERT_OK_AND_ASSIGN(const absl::string_view piece, reader.piece("t", 5, 1));
  EXPECT_EQ(piece, "abcde");
  ASSERT_OK_AND_ASSIGN(const absl::string_view words, reader.bits("t", 70));
  for (size_t bit = 0; bit < 70; ++bit) {
    const bool expected = bit == 0 || bit == 7 || bit == 8 || bit == 63 || bit == 64 || bit == 69;
    EXPECT_EQ(bit_of(words.data(), bit), expected) << bit;
  }
  EXPECT_EQ(rest.size(), 8u);
}

TEST(FramePartTest, WhatFillsAPieceUpIsCleared) {
  std::string memory(16, 'x');
  PieceWriter writer(memory.data());
  writer.piece(1);
  EXPECT_EQ(memory, absl::string_view("x\0\0\0\0\0\0\0xxxxxxxx", 16));
}

TEST(FramePartTest, TooLargeCountsAreErrors) {
  const std::string memory(32, '\1');
  for (const uint64_t count : {uint64_t{5}, uint64_t{1} << 61, ~uint64_t{0}}) {
    absl::string_view rest = memory;
    PieceReader reader("ids of rank 3", rest);
    EXPECT_THAT(reader.piece("t", count, 8).status(),
                StatusIs(absl::StatusCode::kDataLoss,
                         testing::AllOf(HasSubstr("ids of rank 3"), HasSubstr("table t"))));
  }
  absl::string_view rest(memory.data(), 9);
  PieceReader reader("ids", rest);
  EXPECT_FALSE(reader.piece("t", 9, 1).ok());  // the padding is missing
  EXPECT_FALSE(reader.piece("t", 2, 8).ok());
  EXPECT_OK(reader.piece("t", 1, 8));
  EXPECT_FALSE(reader.number("t").ok());
}

TEST(FramePartTest, BitsBehindTheLastAreErrors) {
  std::string memory(8, '\0');
  set_bit(memory.data(), 10);
  absl::string_view rest = memory;
  EXPECT_OK(PieceReader("rows", rest).bits("t", 11));
  rest = memory;
  EXPECT_THAT(PieceReader("rows", rest).bits("t", 10).status(),
              StatusIs(absl::StatusCode::kDataLoss));
  rest = {};
  EXPECT_OK(PieceReader("rows", rest).bits("t", 0));
}

TEST(FramePartTest, HeadersOfOtherPartsAreErrors) {
  const PartHeader header = {static_cast<uint32_t>(PartKind::kIds), 3, 77};
  const auto read = [&](const PartHeader& expected) {
    absl::string_view rest(reinterpret_cast<const char*>(&header), sizeof header);
    return PieceReader("ids", rest).header(expected);
  };
  EXPECT_OK(read(header));
  PartHeader other = header;
  other.kind = static_cast<uint32_t>(PartKind::kRows);
  EXPECT_THAT(read(other), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("something else")));
  other = header;
  other.tables = 2;
  EXPECT_THAT(read(other), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("another set")));
  other = header;
  other.fingerprint = 78;
  EXPECT_THAT(read(other), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("another set")));
}

}  // namespace
}  // namespace millrace
