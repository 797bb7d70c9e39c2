#include "io/format/tfrecord_reader.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "proto/tf_example.pb.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string example(int64_t id, std::vector<float> numbers = {},
                    std::vector<std::string> words = {}) {
  TfExample example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["id"].mutable_int64_list()->add_value(id);
  for (const float number : numbers) features["x"].mutable_float_list()->add_value(number);
  for (const auto& word : words) features["word"].mutable_bytes_list()->add_value(word);
  return example.SerializeAsString();
}

class TfRecordReaderTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<FileReader>> open(const std::string& bytes) {
    files_.put("/d.tfrecord", bytes);
    return open_file(files_, "/d.tfrecord", config_);
  }
  // Reads column "id" of all rows.
  absl::StatusOr<std::vector<int64_t>> ids(const std::string& bytes) {
    ASSIGN_OR_RETURN(const auto reader, open(bytes));
    std::vector<int64_t> all;
    for (size_t group = 0; group < reader->group_rows().size(); ++group) {
      ASSIGN_OR_RETURN(const auto columns,
                       reader->read({static_cast<int64_t>(group), 0, reader->group_rows()[group]},
                                    {{0, ValueType::kInt64}}));
      all.insert(all.end(), columns[0].int64s.begin(), columns[0].int64s.end());
    }
    return all;
  }
  MemoryFileSystem files_;
  DataConfig config_;
};

TEST_F(TfRecordReaderTest, ColumnsAreFeaturesByName) {
  const std::string bytes = tfrecord(example(1)) + tfrecord(example(2, {0.5f, 2}, {"a"})) +
                            tfrecord(example(3, {}, {"b", "", "c"}));
  for (const std::string& file :
       {bytes, gzip(bytes), gzip(bytes.substr(0, 40)) + gzip(bytes.substr(40))}) {
    ASSERT_OK_AND_ASSIGN(const auto reader, open(file));
    ASSERT_EQ(reader->columns().size(), 3u);
    EXPECT_EQ(reader->columns()[0].name, "id");
    EXPECT_EQ(reader->columns()[1].name, "word");
    EXPECT_EQ(reader->columns()[2].name, "x");
    EXPECT_THAT(reader->group_rows(), ElementsAre(3));
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 3}, {{2, ValueType::kDouble},
                                                                      {0, ValueType::kInt64},
                                                                      {1, ValueType::kString}}));
    EXPECT_THAT(columns[0].doubles, ElementsAre(0.5, 2));
    EXPECT_THAT(columns[0].offsets, ElementsAre(0, 0, 2, 2));
    EXPECT_THAT(columns[1].int64s, ElementsAre(1, 2, 3));
    EXPECT_THAT(columns[1].offsets, IsEmpty());
    ASSERT_EQ(columns[2].strings.size(), 4);
    EXPECT_EQ(columns[2].strings[3], "c");
    ASSERT_OK_AND_ASSIGN(const auto tail, reader->read({0, 2, 1}, {{0, ValueType::kInt64}}));
    EXPECT_THAT(tail[0].int64s, ElementsAre(3));
  }
}

TEST_F(TfRecordReaderTest, ConfiguredColumnsMayBeMissingEverywhere) {
  auto* column = config_.mutable_tfrecord()->add_column();
  column->set_name("rare");
  column->set_type(TfRecordConfig::FLOAT);
  config_.mutable_tfrecord()->add_column()->set_name("id");
  ASSERT_OK_AND_ASSIGN(const auto reader, open(tfrecord(example(1))));
  ASSERT_EQ(reader->columns().size(), 2u);
  EXPECT_EQ(reader->columns()[0].type, ValueType::kDouble);
  ASSERT_OK_AND_ASSIGN(const auto columns,
                       reader->read({0, 0, 1}, {{0, ValueType::kDouble}, {1, ValueType::kInt64}}));
  EXPECT_THAT(columns[0].offsets, ElementsAre(0, 0));
  EXPECT_THAT(columns[1].int64s, ElementsAre(1));
}

TEST_F(TfRecordReaderTest, GroupsOfAPlainFileAndOneOfACompressedOne) {
  std::string bytes;
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 40000; ++i) {
    bytes += tfrecord(example(i * 7));
    expected.push_back(i * 7);
  }
  ASSERT_OK_AND_ASSIGN(const auto plain, open(bytes));
  EXPECT_THAT(plain->group_rows(), ElementsAre(16384, 16384, 7232));
  ASSERT_OK_AND_ASSIGN(const auto again,
                       open_file(files_, "/d.tfrecord", config_, plain->layout()));
  ASSERT_OK_AND_ASSIGN(const auto one, again->read({1, 5, 2}, {{0, ValueType::kInt64}}));
  EXPECT_THAT(one[0].int64s, ElementsAre((16384 + 5) * 7, (16384 + 6) * 7));
  EXPECT_EQ(ids(bytes).value(), expected);
  ASSERT_OK_AND_ASSIGN(const auto compressed, open(gzip(bytes)));
  EXPECT_THAT(compressed->group_rows(), ElementsAre(40000));
  for (const int64_t begin : {39990, 100, 16384}) {
    ASSERT_OK_AND_ASSIGN(const auto columns,
                         compressed->read({0, begin, 10}, {{0, ValueType::kInt64}}));
    EXPECT_EQ(columns[0].int64s[0], begin * 7);
  }
}

TEST_F(TfRecordReaderTest, DamageIsLocatedByRecordAndByte) {
  const std::string first = tfrecord(example(1)), second = tfrecord(example(2));
  const std::string place = absl::StrCat("record 1 at byte ", first.size());
  for (size_t at = 0; at < second.size(); ++at) {
    std::string damaged = first + second + first;
    damaged[first.size() + at] = static_cast<char>(damaged[first.size() + at] ^ 0x10);
    EXPECT_THAT(ids(damaged),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("/d.tfrecord"), HasSubstr(place), HasSubstr("checksum"))))
        << at;
  }
  for (size_t size = first.size() + 1; size < first.size() + second.size(); ++size) {
    EXPECT_THAT(ids((first + second).substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(place), HasSubstr("the file ends within it"))));
  }
}

TEST_F(TfRecordReaderTest, BadRecordsAreLeftOutAndTheOthersRight) {
  TfExample other;
  (*other.mutable_features()->mutable_feature())["id"].mutable_float_list()->add_value(1);
  std::string flipped = tfrecord(example(5));
  flipped[14] ^= 1;
  const std::string bytes = tfrecord(example(1)) + tfrecord("\xff\xff") + tfrecord(example(2)) +
                            flipped + tfrecord(other.SerializeAsString()) + tfrecord(example(3));
  ASSERT_OK_AND_ASSIGN(const auto reader, open(bytes));
  BadRows bad(6, /*skip=*/true);
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 6}, {{0, ValueType::kInt64}}, bad));
  EXPECT_EQ(bad.count(), 3);
  EXPECT_THAT(bad.first().message(), HasSubstr("record 1"));
  for (const auto& [row, id] : {std::pair<int64_t, int64_t>{0, 1}, {2, 2}, {5, 3}}) {
    ASSERT_FALSE(bad.contains(row));
    EXPECT_EQ(columns[0].int64s[columns[0].begin(row)], id);
    EXPECT_EQ(columns[0].end(row) - columns[0].begin(row), 1);
  }
  EXPECT_THAT(reader->read({0, 4, 1}, {{0, ValueType::kInt64}}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("column id: holds numbers where integers are due")));
}

TEST_F(TfRecordReaderTest, GiganticLengthsAndBombsAreRefusedUnderTheCap) {
  config_.set_max_group_bytes(1 << 20);
  // A header whose checksum is right.
  const std::string large = tfrecord(std::string(2 << 20, 'x'));
  EXPECT_THAT(open(large), StatusIs(absl::StatusCode::kDataLoss,
                                    AllOf(HasSubstr("record 0"), HasSubstr("2097152 bytes"))));
  EXPECT_THAT(open(large.substr(0, 12)), StatusIs(absl::StatusCode::kDataLoss));
  std::string many;
  for (int i = 0; i < 3000; ++i) many += tfrecord(std::string(10000, '\0'));
  const std::string bomb = gzip(many);
  ASSERT_LT(bomb.size(), 100000u);
  EXPECT_THAT(open(bomb),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than max_group_bytes")));
}

TEST_F(TfRecordReaderTest, TruncatedAndFlippedGzipNeverGivesWrongRows) {
  std::string bytes;
  for (int64_t i = 0; i < 300; ++i) bytes += tfrecord(example(philox64(1, 0, i) >> 1));
  const std::string whole = gzip(bytes);
  const std::vector<int64_t> right = ids(whole).value();
  for (int trial = 0; trial < 200; ++trial) {
    std::string damaged = whole;
    const size_t place = philox64(2, 0, trial) % whole.size();
    if (trial % 2 == 0) {
      damaged.resize(place);
    } else {
      damaged[place] = static_cast<char>(damaged[place] ^ (1 << trial / 2 % 8));
    }
    const auto read = ids(damaged);
    if (!read.ok()) {
      EXPECT_THAT(read, StatusIs(absl::StatusCode::kDataLoss));
      EXPECT_THAT(read.status().message(), HasSubstr("/d.tfrecord"));
    } else if (!read->empty()) {  // bits of the header that mean nothing
      EXPECT_EQ(*read, right);
    }
  }
}

}  // namespace
}  // namespace millrace
