#include "checkpoint/bank/rows_file.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/format/safetensors_file.h"
#include "io/transform/hash_functions.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

class RowsFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<TableRows> read(const std::string& path, const std::string& config = "",
                                 int64_t dim = 2) {
    RowsFileConfig rows;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &rows)) << config;
    rows.set_table("items");
    return read_rows_file(files_, path, rows, {dim, added_columns_, features_});
  }
  absl::StatusOr<TableRows> text(const std::string& content, const std::string& config = "",
                                 int64_t dim = 2) {
    files_.put("rows.txt", content);
    return read("rows.txt", config, dim);
  }

  // Adds a feature of the table, in text format.
  void add_feature(const std::string& text) {
    features_.emplace_back();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &features_.back())) << text;
    features_.back().set_table("items");
  }

  MemoryFileSystem files_;
  int64_t added_columns_ = 0;
  std::vector<FeatureConfig> features_;
};

// A model adds a column to the two of the configuration.
TEST_F(RowsFileTest, RowsMayLackWhatTheModelAdds) {
  added_columns_ = 1;
  for (const int64_t columns : {2, 3}) {
    const std::string rest = columns == 3 ? " 9" : "";
    for (const std::string& first : {std::string(), absl::StrCat("2 ", columns, "\n")}) {
      ASSERT_OK_AND_ASSIGN(const TableRows rows,
                           text(absl::StrCat(first, "7 1 2", rest, "\n8 3 4", rest, "\n"), "", 3));
      EXPECT_EQ(rows.dim, columns);
      EXPECT_THAT(rows.ids, ElementsAre(7, 8));
      EXPECT_EQ(rows.weights.size(), 2 * columns);
    }
  }
  EXPECT_THAT(text("7 1 2 3 4\n", "", 3).status(),
              StatusIs(kDataLoss,
                       "rows.txt: line 1: 4 numbers; the table takes 2, or 3 with what the model "
                       "adds"));
  EXPECT_THAT(text("7 1 2\n8 1 2\n9 1 2 3\n", "", 3).status(),
              StatusIs(kDataLoss, "rows.txt: line 3: 3 numbers; rows before it have 2"));
}

TEST_F(RowsFileTest, TextIdsAreHashedAsByTheFeature) {
  add_feature("name: 'item' transform { hash { seed: 5 } }");
  const auto hash = [](absl::string_view word) {
    return static_cast<int64_t>(hash_bytes(HashTransform::XXH3, word, 5));
  };
  ASSERT_OK_AND_ASSIGN(TableRows rows, text("2 2\nring 1 2\nbook 3 4\n"));
  EXPECT_THAT(rows.ids, ElementsAre(hash("ring"), hash("book")));
  EXPECT_THAT(rows.weights, ElementsAre(1, 2, 3, 4));
  // One id that is no integer turns all ids into texts.
  ASSERT_OK_AND_ASSIGN(rows, text("ring 1 2\n17 3 4\n"));
  EXPECT_THAT(rows.ids, ElementsAre(hash("ring"), hash("17")));
  ASSERT_OK_AND_ASSIGN(rows, text("16 1 2\n17 3 4\n"));
  EXPECT_THAT(rows.ids, ElementsAre(16, 17));
  EXPECT_THAT(text("ring 1 2\nbook 3 4\nring 5 6\n").status(),
              StatusIs(kDataLoss, HasSubstr("line 3: id ")));
}

TEST_F(RowsFileTest, WordsThatTheVocabularyLacksAreOmitted) {
  files_.put("words.txt", "lamp\nring\n");
  add_feature("name: 'item' transform { vocabulary { path: 'words.txt' other_ids: 3 } }");
  ASSERT_OK_AND_ASSIGN(const TableRows rows, text("book 1 2\nring 3 4\nlamp 5 6\n"));
  EXPECT_THAT(rows.ids, ElementsAre(1, 0));
  EXPECT_THAT(rows.weights, ElementsAre(3, 4, 5, 6));
}

TEST_F(RowsFileTest, Text) {
  ASSERT_OK_AND_ASSIGN(const TableRows rows, text("7 0.5 -1e3\n\n-9\t2  3\r\n"));
  EXPECT_EQ(rows.dim, 2);
  EXPECT_THAT(rows.ids, ElementsAre(7, -9));
  EXPECT_THAT(rows.weights, ElementsAre(0.5f, -1000.f, 2.f, 3.f));
}

TEST_F(RowsFileTest, AByteOrderMarkIsNotOfTheFirstId) {
  ASSERT_OK_AND_ASSIGN(const TableRows rows, text("\xef\xbb\xbf"
                                                  "7 0.5 1\n8 2 3\n"));
  EXPECT_THAT(rows.ids, ElementsAre(7, 8));
}

TEST_F(RowsFileTest, TextWithAFirstLineOfNumbers) {
  ASSERT_OK_AND_ASSIGN(TableRows rows, text("1 2\n5 1 2\n"));
  EXPECT_THAT(rows.ids, ElementsAre(5));
  ASSERT_OK_AND_ASSIGN(rows, text("1 2\n5 3\n", "", 1));  // rows of one number
  EXPECT_THAT(rows.ids, ElementsAre(1, 5));
  EXPECT_THAT(text("2 2\n5 1 2\n").status(),
              StatusIs(kDataLoss, "rows.txt: line 1 says 2 rows; there are 1"));
  EXPECT_THAT(text("1 3\n5 1 2\n").status(),
              StatusIs(kDataLoss, "rows.txt: line 1: 3 columns; the table has 2"));
}

TEST_F(RowsFileTest, TextWithADelimiter) {
  ASSERT_OK_AND_ASSIGN(const TableRows rows, text("7, 1,2\n8,3 ,4", "delimiter: \",\""));
  EXPECT_THAT(rows.ids, ElementsAre(7, 8));
  EXPECT_THAT(rows.weights, ElementsAre(1, 2, 3, 4));
}

TEST_F(RowsFileTest, NoRows) {
  ASSERT_OK_AND_ASSIGN(const TableRows rows, text("\n"));
  EXPECT_TRUE(rows.ids.empty());
}

TEST_F(RowsFileTest, TextErrorsNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 2 3\n2 3\n", "rows.txt: line 2: 1 numbers; the table has 2"},
      {"1 2 3\n\n2 3 4 5\n", "line 3: 3 numbers; the table has 2"},
      {"x 2 3\n", "line 1: \"x\" is no 64-bit id"},
      {"9223372036854775808 2 3\n", "is no 64-bit id"},
      {"1 2 y\n", "line 1: \"y\" is no finite number"},
      {"1 2 nan\n", "is no finite number"},
      {"1 2 1e99\n", "is no finite number"},
      {"1 2 3\n\n1 3 4\n", "line 3: id 1 was there in line 1"},
  };
  for (const auto& [content, message] : cases) {
    EXPECT_THAT(text(content).status(), StatusIs(kDataLoss, HasSubstr(message))) << content;
  }
  EXPECT_THAT(read("none.txt").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.txt")));
}

TEST_F(RowsFileTest, Safetensors) {
  const std::vector<int64_t> ids = {3, -4}, twice = {3, 3};
  const std::vector<float> weights = {1, 2, 3, 4};
  std::vector<float> infinite = weights;
  infinite[3] = std::numeric_limits<float>::infinity();
  const std::string path = "rows.safetensors";
  const auto write = [&](const std::vector<int64_t>& i, const std::vector<float>& w,
                         std::vector<int64_t> shape) {
    EXPECT_OK(write_safetensors(files_, path,
                                {tensor_from_memory("ids", TensorType::kI64, {2}, i.data()),
                                 tensor_from_memory("vectors", TensorType::kF32, shape, w.data())},
                                {}));
  };
  write(ids, weights, {2, 2});
  ASSERT_OK_AND_ASSIGN(const TableRows rows, read(path, "weights: \"vectors\""));
  EXPECT_EQ(rows.ids, ids);
  EXPECT_EQ(rows.weights, weights);
  EXPECT_THAT(read(path).status(),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr(path), HasSubstr("weights"))));
  EXPECT_THAT(read(path, "weights: \"vectors\"", 3).status(),
              StatusIs(kDataLoss, absl::StrCat(path,
                                               ": tensor vectors is F32 [2, 2]; must be F32 "
                                               "[2, 3]")));
  EXPECT_THAT(read(path, "ids: \"vectors\" weights: \"ids\"").status(),
              StatusIs(kDataLoss, HasSubstr("tensor vectors is F32 [2, 2]; must be I64 [2]")));
  EXPECT_THAT(read(path, "weights: [\"a\", \"b\"]").status(),
              StatusIs(kInvalid, HasSubstr("one tensor of weights")));
  write(twice, weights, {2, 2});
  EXPECT_THAT(read(path, "weights: \"vectors\"").status(),
              StatusIs(kDataLoss, HasSubstr("row 1: id 3 was there in row 0")));
  write(ids, infinite, {2, 2});
  EXPECT_THAT(read(path, "weights: \"vectors\"").status(),
              StatusIs(kDataLoss, HasSubstr("row 1: number 1 is not finite")));
  files_.put(path, "damaged");
  EXPECT_THAT(read(path).status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
}

// Parquet and ORC.
TEST(RowsFileColumnsTest, ListsAndPlainColumns) {
  const TestColumn id = {"id", TestColumn::Rows<int64_t>{{5}, {-6}, {7}}};
  const TestColumn list = {"vector", TestColumn::Rows<double>{{1, 2}, {3, 4}, {5, 6}}, true};
  const TestColumn x = {"x", TestColumn::Rows<double>{{1}, {3}, {5}}};
  const TestColumn y = {"y", TestColumn::Rows<double>{{2}, {4}, {6}}};
  const std::string folder = fresh_test_dir();
  for (const DataConfig::Format format : {DataConfig::PARQUET, DataConfig::ORC}) {
    const std::string path = absl::StrCat(folder, "/rows", extension_of(format));
    ASSERT_OK(write_data_file({{id, list, x, y}}, format, 2, path));
    for (const char* weights : {"weights: \"vector\"", "weights: [\"x\", \"y\"]"}) {
      RowsFileConfig config;
      ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
          absl::StrCat("ids: \"id\" ", weights), &config));
      ASSERT_OK_AND_ASSIGN(const TableRows rows,
                           read_rows_file(FileSystem::local(), path, config, {2}));
      EXPECT_THAT(rows.ids, ElementsAre(5, -6, 7));
      EXPECT_THAT(rows.weights, ElementsAre(1, 2, 3, 4, 5, 6));
    }
  }
}

TEST(RowsFileColumnsTest, ErrorsNameFileAndRow) {
  const TestTable table = {{{"id", TestColumn::Rows<int64_t>{{5}, {}, {7}}},
                            {"twice", TestColumn::Rows<int64_t>{{5}, {5}, {7}}},
                            {"good", TestColumn::Rows<int64_t>{{1}, {2}, {3}}},
                            {"vector", TestColumn::Rows<double>{{1, 2}, {3, 4}, {5, 6}}, true},
                            {"short", TestColumn::Rows<double>{{1, 2}, {3, 4}, {5}}, true},
                            {"text", TestColumn::Rows<std::string>{{"a"}, {"b"}, {"c"}}}}};
  const std::string path = absl::StrCat(fresh_test_dir(), "/rows.parquet");
  ASSERT_OK(write_data_file(table, DataConfig::PARQUET, 2, path));
  // Errors of rows, and of the requested columns.
  const std::pair<const char*, const char*> cases[] = {
      {"ids: \"id\" weights: \"vector\"", "row 1: 0 ids; must be one"},
      {"ids: \"twice\" weights: \"vector\"", "row 1: id 5 was there in row 0"},
      {"ids: \"good\" weights: \"short\"", "row 2: 1 numbers; the table has 2"},
      {"ids: \"good\" weights: \"vectr\"", "no column \"vectr\"; did you mean \"vector\"?"},
      {"ids: \"vector\" weights: \"vector\"", "must be of integers"},
      {"ids: \"good\" weights: \"text\"", "must be of floating-point numbers"},
      {"ids: \"good\" weights: [\"vector\", \"short\", \"vector\"]",
       "3 columns of weights, not one of lists; the table has 2"},
  };
  for (const auto& [text, message] : cases) {
    RowsFileConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    const bool of_file = absl::StartsWith(message, "row ");
    EXPECT_THAT(
        read_rows_file(FileSystem::local(), path, config, {2}).status(),
        StatusIs(of_file ? kDataLoss : kInvalid, AllOf(HasSubstr(path), HasSubstr(message))));
  }
}

}  // namespace
}  // namespace millrace
