#include "checkpoint/format/tensor_file_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The example of docs/checkpoint_format.md.
std::string golden_file() {
  std::string header =
      R"({"__metadata__":{"k":"v"},"ids":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
      R"("w":{"dtype":"F32","shape":[3,1],"data_offsets":[16,28]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  return std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header +
         std::string("\x07\0\0\0\0\0\0\0", 8) + std::string(8, '\xff') +
         std::string("\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f", 12);
}

absl::StatusOr<TensorFileLayout> golden_layout() {
  return TensorFileLayout::create({{"w", TensorType::kF32, {3, 1}},
                                   {"none", TensorType::kF64, {0}},
                                   {"ids", TensorType::kI64, {2}}},
                                  {{"k", "v"}});
}

absl::Status fill_golden(const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes) {
  static const int64_t kIds[] = {7, -1};
  static const float kWeights[] = {1, -2, 0.5};
  const char* from = tensor.name == "ids" ? reinterpret_cast<const char*>(kIds)
                                          : reinterpret_cast<const char*>(kWeights);
  std::memcpy(bytes.data(), from + begin, bytes.size());
  return absl::OkStatus();
}

TEST(TensorFileLayoutTest, GoldenBytes) {
  ASSERT_OK_AND_ASSIGN(
      const TensorFileLayout layout,
      TensorFileLayout::create({{"w", TensorType::kF32, {3, 1}}, {"ids", TensorType::kI64, {2}}},
                               {{"k", "v"}}));
  std::string file(layout.size_bytes(), 'x');
  ASSERT_OK(layout.fill(0, absl::MakeSpan(file), fill_golden));
  EXPECT_EQ(file, golden_file());
}

TEST(TensorFileLayoutTest, AnyRegionCanBeMadeAlone) {
  ASSERT_OK_AND_ASSIGN(const TensorFileLayout layout, golden_layout());
  std::string whole(layout.size_bytes(), 'x');
  ASSERT_OK(layout.fill(0, absl::MakeSpan(whole), fill_golden));
  const int64_t size = layout.size_bytes();
  for (int64_t begin = 0; begin < size; ++begin) {
    for (int64_t end = begin + 1; end <= size; ++end) {
      std::string region(end - begin, 'x');
      ASSERT_OK(layout.fill(begin, absl::MakeSpan(region), fill_golden));
      ASSERT_EQ(region, whole.substr(begin, end - begin)) << begin << " " << end;
    }
  }
}

TEST(TensorFileLayoutTest, TakesApartWhatItFilled) {
  ASSERT_OK_AND_ASSIGN(const TensorFileLayout layout, golden_layout());
  std::string file(layout.size_bytes(), 'x');
  ASSERT_OK(layout.fill(0, absl::MakeSpan(file), fill_golden));
  ASSERT_OK_AND_ASSIGN(const TensorFileLayout parsed,
                       TensorFileLayout::parse(file.substr(0, layout.data_begin()), file.size()));
  EXPECT_THAT(parsed.metadata(), ElementsAre(std::pair("k", "v")));
  EXPECT_EQ(parsed.data_begin(), layout.data_begin());
  EXPECT_EQ(parsed.size_bytes(), layout.size_bytes());
  for (int64_t piece = 1; piece <= parsed.size_bytes(); ++piece) {
    std::string ids(16, 'x'), w(12, 'x');
    for (int64_t at = 0; at < parsed.size_bytes(); at += piece) {
      const std::string bytes = file.substr(at, piece);
      ASSERT_OK(parsed.take(
          at, bytes, [&](const TensorInfo& tensor, int64_t begin, absl::Span<const char> region) {
            (tensor.name == "ids" ? ids : w)
                .replace(begin, region.size(), region.data(), region.size());
            return absl::OkStatus();
          }));
    }
    ASSERT_EQ(ids + w, file.substr(parsed.data_begin())) << piece;
  }
}

TEST(TensorFileLayoutTest, ErrorsNameTheTensor) {
  ASSERT_OK_AND_ASSIGN(const TensorFileLayout layout, golden_layout());
  std::string file(layout.size_bytes(), 'x');
  auto fail = [](const TensorInfo&, int64_t, absl::Span<char>) {
    return absl::UnavailableError("broken");
  };
  EXPECT_THAT(layout.fill(0, absl::MakeSpan(file), fail),
              StatusIs(absl::StatusCode::kUnavailable, "tensor \"ids\": broken"));
  EXPECT_OK(layout.fill(0, absl::MakeSpan(file).subspan(0, layout.data_begin()), fail))
      << "the header alone needs no tensor";
}

TEST(TensorFileLayoutTest, BadTensorsAndBadFiles) {
  EXPECT_FALSE(TensorFileLayout::create({{"", TensorType::kF32, {1}}}, {}).ok());
  EXPECT_FALSE(TensorFileLayout::create({{"a", TensorType::kU8, {INT64_MAX}}}, {}).ok());
  const std::string file = golden_file();
  const int64_t size = file.size();
  const auto lost = StatusIs(absl::StatusCode::kDataLoss);
  EXPECT_OK(TensorFileLayout::parse(file, size));
  EXPECT_THAT(TensorFileLayout::parse(file, size + 1), lost);
  EXPECT_THAT(TensorFileLayout::parse(file, size - 1), lost);
  EXPECT_THAT(TensorFileLayout::parse(file.substr(0, 20), size),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut")));
  EXPECT_THAT(TensorFileLayout::parse(file.substr(0, 7), size), lost);
  EXPECT_THAT(safetensors_start_bytes(std::string(8, '\xff'), size),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("allowed")));
  EXPECT_THAT(safetensors_start_bytes(file.substr(0, 8), 100), lost);
}

TEST(RowPiecesTest, CoverTheRegionOnce) {
  constexpr int64_t kRow = 5;
  for (int64_t begin = 0; begin < 12; ++begin) {
    for (int64_t size = 0; size < 14; ++size) {
      int64_t expected = begin;
      for_each_row_piece(kRow, begin, size,
                         [&](int64_t row, int64_t at, int64_t from, int64_t count) {
                           EXPECT_EQ(row * kRow + at, expected);
                           EXPECT_EQ(from, expected - begin);
                           EXPECT_GE(count, 1);
                           EXPECT_LE(at + count, kRow);
                           expected += count;
                         });
      EXPECT_EQ(expected, begin + size);
    }
  }
}

}  // namespace
}  // namespace millrace
