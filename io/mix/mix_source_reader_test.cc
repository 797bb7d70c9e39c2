#include "io/mix/mix_source_reader.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/feature_schema.h"
#include "io/mix/source_passes.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Ten rows with the example ids 0 to 9.
class MixSourceReaderTest : public testing::Test {
 protected:
  MixSourceReaderTest() {
    std::string text = "label,id\n";
    for (int row = 0; row < 10; ++row) absl::StrAppend(&text, "1,", row, "\n");
    files_.put("a.csv", text);
    TrainConfig features;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "feature { name: 'label' kind: LABEL } feature { name: 'id' kind: EXAMPLE_ID }",
        &features));
    DatasetOptions options;
    options.schema = *FeatureSchema::create(features);
    options.files = &files_;
    options.data.add_path("a.csv");
    source_ = *EpochSource::open(options);
  }

  static PassPosition at(int64_t pass, std::vector<RowInterval> left) {
    return {.epoch = pass_epoch(0, pass), .rows_left = std::move(left)};
  }
  static std::vector<int64_t> take(MixSourceReader& reader, int64_t count) {
    const auto ready = reader.available(count);
    EXPECT_OK(ready);
    std::vector<BatchPiece> pieces;
    reader.take(ready.value_or(0), &pieces);
    std::vector<int64_t> ids;
    for (const BatchPiece& piece : pieces) {
      for (const BlockRow& row : piece.rows) ids.push_back(piece.block->example_ids[row.row]);
    }
    EXPECT_EQ(reader.release(), 0);
    return ids;
  }

  MemoryFileSystem files_;
  std::unique_ptr<EpochSource> source_;
};

TEST_F(MixSourceReaderTest, OnePassEnds) {
  MixSourceReader reader(*source_, /*repeats=*/false, {source_->begin(0)});
  EXPECT_EQ(*reader.available(1), 1);
  EXPECT_THAT(take(reader, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(reader.position().front().rows_left, ElementsAre(RowInterval{4, 10}));
  EXPECT_THAT(take(reader, 100), SizeIs(6));
  EXPECT_THAT(take(reader, 100), IsEmpty());
  EXPECT_THAT(reader.position().front().rows_left, IsEmpty());
}

TEST_F(MixSourceReaderTest, PassesFollowEachOther) {
  MixSourceReader reader(*source_, /*repeats=*/true, {at(0, {{7, 10}})});
  EXPECT_THAT(take(reader, 2), ElementsAre(7, 8));
  EXPECT_THAT(take(reader, 3), ElementsAre(9, 0, 1));
  PassPosition second = at(1, {{2, 10}});
  second.fingerprint = source_->fingerprint();
  EXPECT_THAT(reader.position(), ElementsAre(second));
  EXPECT_THAT(take(reader, 25), SizeIs(25));
  EXPECT_EQ(reader.position().front().epoch, pass_epoch(0, 3));
  EXPECT_THAT(reader.position().front().rows_left, ElementsAre(RowInterval{7, 10}));
  EXPECT_THAT(reader.position(), SizeIs(1));
  EXPECT_THAT(take(reader, 0), IsEmpty());
}

TEST_F(MixSourceReaderTest, SharesOfLaterPassesComeBeforeWholeOnes) {
  const SourcePosition start = {at(0, {{9, 10}}), at(1, {}), at(2, {{3, 5}})};
  MixSourceReader reader(*source_, /*repeats=*/true, start);
  EXPECT_THAT(reader.position(), SizeIs(3));
  EXPECT_EQ(*reader.available(2), 2) << "reads ahead";
  EXPECT_THAT(reader.position(), SizeIs(3)) << "which is not taken yet";
  EXPECT_THAT(take(reader, 2), ElementsAre(9, 3));
  EXPECT_EQ(reader.position().front().epoch, pass_epoch(0, 2));
  EXPECT_THAT(reader.position().front().rows_left, ElementsAre(RowInterval{4, 5}));
  EXPECT_THAT(reader.position(), SizeIs(1));
  EXPECT_THAT(take(reader, 3), ElementsAre(4, 0, 1));
  EXPECT_EQ(reader.position().front().epoch, pass_epoch(0, 3));
}

TEST_F(MixSourceReaderTest, CancelIsForGood) {
  MixSourceReader reader(*source_, /*repeats=*/true, {source_->begin(0)});
  EXPECT_THAT(take(reader, 4), SizeIs(4));
  reader.cancel();
  EXPECT_THAT(reader.available(100), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace millrace
