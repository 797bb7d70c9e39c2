#include "io/epoch/epoch_source.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/epoch/epoch_reader.h"
#include "io/feature_schema.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EpochSourceTest : public testing::Test {
 protected:
  EpochSourceTest() {
    for (int file = 0; file < 3; ++file) {
      std::string text = "label,i1\n";
      for (int row = 0; row < 20; ++row) absl::StrAppend(&text, row % 2, ",", row, "\n");
      files_.put(absl::StrCat(file, ".csv"), text);
    }
    TrainConfig features;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "feature { name: 'label' kind: LABEL } feature { name: 'i1' kind: DENSE }", &features));
    options_.schema = *FeatureSchema::create(features);
    options_.files = &files_;
    set_data("");
  }
  void set_data(const char* text) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("path: '*.csv' batch_size: 7 ", text), &options_.data));
  }
  uint64_t fingerprint() const { return (*EpochSource::open(options_))->fingerprint(); }

  MemoryFileSystem files_;
  DatasetOptions options_;
};

TEST_F(EpochSourceTest, RanksBeginWithEqualShares) {
  options_.world_size = 3;
  for (int64_t rank = 0; rank < 3; ++rank) {
    options_.rank = rank;
    ASSERT_OK_AND_ASSIGN(const auto source, EpochSource::open(options_));
    EXPECT_EQ(source->rows(), 60);
    EXPECT_EQ(source->files().size(), 3u);
    const PassPosition begin = source->begin(4);
    EXPECT_EQ(begin.epoch, 4);
    EXPECT_EQ(begin.fingerprint, source->fingerprint());
    EXPECT_THAT(begin.rows_left, ElementsAre(RowInterval{rank * 20, rank * 20 + 20}));
  }
}

TEST_F(EpochSourceTest, GoesOnWithItsOwnOrAShareOfAll) {
  options_.world_size = 2;
  options_.rank = 1;
  ASSERT_OK_AND_ASSIGN(const auto source, EpochSource::open(options_));
  const PassPosition first{
      .epoch = 1, .rows_left = {{10, 30}}, .fingerprint = source->fingerprint()};
  const PassPosition second{.epoch = 1, .rows_left = {{50, 60}}};
  ASSERT_OK_AND_ASSIGN(const PassPosition own, source->resume({first, second}));
  EXPECT_THAT(own.rows_left, ElementsAre(RowInterval{50, 60}));
  EXPECT_EQ(own.fingerprint, source->fingerprint());
  ASSERT_OK_AND_ASSIGN(const PassPosition share, source->resume({first}));
  EXPECT_THAT(share.rows_left, ElementsAre(RowInterval{20, 30}));
  EXPECT_EQ(share.epoch, 1);
}

TEST_F(EpochSourceTest, FingerprintsSayWhatDecidesTheOrder) {
  const uint64_t plain = fingerprint();
  options_.seed = 2;
  EXPECT_EQ(fingerprint(), plain) << "nothing is drawn";
  std::set<uint64_t> all = {plain};
  for (const char* text :
       {"shuffle_rows: 10", "split { to: 0.5 }", "sample { rate: 0.5 }",
        "sample { rate: 0.5 resample: false }", "sample { negative_rate: 0.5 }"}) {
    set_data(text);
    EXPECT_TRUE(all.insert(fingerprint()).second) << text;
  }
  set_data("sample { rate: 0.5 }");
  options_.seed = 3;
  EXPECT_TRUE(all.insert(fingerprint()).second) << "another seed samples others";
  set_data("sample { rate: 1 correct_weights: false }");
  options_.data.set_batch_size(3);
  EXPECT_EQ(fingerprint(), plain);
}

TEST_F(EpochSourceTest, RefusesWhatDoesNotFit) {
  ASSERT_OK_AND_ASSIGN(const auto source, EpochSource::open(options_));
  const auto fails = [](const absl::Status& status, const char* what) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  fails(source->resume({}).status(), "no cursors");
  fails(source->check_fingerprint(1), "first file is now 0.csv");
  fails(source->resume({{.epoch = 0, .rows_left = {{0, 61}}}}).status(), "do not fit");
  set_data("shuffle_rows: 2147483648");
  fails(EpochSource::open(options_).status(),
        "shuffle_rows is 2147483648; must be 0 to 2147483647");
  set_data("mix {}");
  fails(EpochSource::open(options_).status(), "the data is a mix");
}

TEST_F(EpochSourceTest, AReaderGivesWhatACursorLeaves) {
  options_.reader_threads = 2;
  ASSERT_OK_AND_ASSIGN(const auto source, EpochSource::open(options_));
  EpochReader reader(*source, {.epoch = 0, .rows_left = {{5, 8}, {58, 60}}});
  EXPECT_EQ(*reader.batcher().available(100), 5);
  ASSERT_OK_AND_ASSIGN(const std::optional<Batch> batch, reader.batcher().next());
  EXPECT_EQ(batch->size, 5);
  EpochReader cancelled(*source, source->begin(0));
  cancelled.cancel();
  EXPECT_THAT(cancelled.batcher().next(), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace millrace
