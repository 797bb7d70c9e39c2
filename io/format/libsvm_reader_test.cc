#include "io/format/libsvm_reader.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LibsvmReaderTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<Column>> read_all(const std::string& text, BadRows* bad = nullptr) {
    files_.put("/data.libsvm", text);
    ASSIGN_OR_RETURN(const auto reader, open_file(files_, "/data.libsvm", config_));
    std::vector<ColumnRequest> requests;
    for (size_t c = 0; c < reader->columns().size(); ++c) {
      requests.push_back({static_cast<int64_t>(c), reader->columns()[c].type});
    }
    const RowRange all{0, 0, reader->group_rows().at(0)};
    return bad == nullptr ? reader->read(all, requests) : reader->read(all, requests, *bad);
  }
  absl::Status failure(const std::string& text) { return read_all(text).status(); }

  MemoryFileSystem files_;
  DataConfig config_;
};

TEST_F(LibsvmReaderTest, LabelsQidsIndicesAndValues) {
  ASSERT_OK_AND_ASSIGN(const auto columns,
                       read_all("1 qid:7 3:0.5 18446744073709551615:-2\r\n"
                                "\n"
                                "-1.5\t\n"
                                "0 2:1  # a remark 5:5"));  // no final line feed
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_THAT(columns[0].doubles, ElementsAre(1, -1.5, 0));
  EXPECT_THAT(columns[0].offsets, IsEmpty());
  EXPECT_THAT(columns[1].int64s, ElementsAre(7));
  EXPECT_THAT(columns[1].offsets, ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(columns[2].type, ValueType::kUint64);
  EXPECT_THAT(columns[2].int64s, ElementsAre(3, -1, 2));
  EXPECT_THAT(columns[3].doubles, ElementsAre(0.5, -2, 1));
  EXPECT_THAT(columns[3].offsets, ElementsAre(0, 2, 2, 3));
}

TEST_F(LibsvmReaderTest, LabelsMayHaveAPlus) {
  ASSERT_OK_AND_ASSIGN(const auto columns, read_all("+1 3:+0.5\n-1 4:1\n"));
  EXPECT_THAT(columns[0].doubles, ElementsAre(1, -1));
  EXPECT_THAT(columns[3].doubles, ElementsAre(0.5, 1));
  EXPECT_THAT(failure("+-1 2:3\n"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(failure("+ 2:3\n"), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(LibsvmReaderTest, FieldsHaveColumnsOfTheirOwn) {
  config_.mutable_libsvm()->set_fields(2);
  ASSERT_OK_AND_ASSIGN(const auto columns, read_all("1 1:8:0.5 0:3:2 1:9:4\n0 0:4:1\n"));
  ASSERT_EQ(columns.size(), 6u);
  EXPECT_THAT(columns[2].int64s, ElementsAre(3, 4));
  EXPECT_THAT(columns[2].offsets, IsEmpty());
  EXPECT_THAT(columns[4].int64s, ElementsAre(8, 9));
  EXPECT_THAT(columns[5].doubles, ElementsAre(0.5, 4));
  EXPECT_THAT(columns[5].offsets, ElementsAre(0, 2, 2));
  EXPECT_THAT(failure("1 2:8:0.5\n"), StatusIs(absl::StatusCode::kDataLoss,
                                               HasSubstr("field 2 where there are 2, from 0")));
  EXPECT_THAT(failure("1 8:0.5\n"), StatusIs(absl::StatusCode::kDataLoss,
                                             HasSubstr("\"8:0.5\" is not field:index:value")));
}

TEST_F(LibsvmReaderTest, ErrorsNameLineAndColumn) {
  EXPECT_THAT(failure("1 2:3\n\nx 2:3\n"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("/data.libsvm, line 3: column label: \"x\" is not a number")));
  for (const std::string pair :
       {"2", "2:", ":3", "-2:3", "2:x", "2:3:4", "18446744073709551616:1", "2:1,5", "qid:3"}) {
    EXPECT_THAT(failure("1 5:1 " + pair + "\n"),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("line 1: column index: \"" + pair + "\""))))
        << pair;
  }
  EXPECT_THAT(failure("1 qid:x\n"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("qid")));
  EXPECT_THAT(failure("# only a remark\n"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("column label: \"\"")));
}

TEST_F(LibsvmReaderTest, BadLinesAreLeftOutAndTheOthersRight) {
  BadRows bad(3, /*skip=*/true);
  ASSERT_OK_AND_ASSIGN(const auto columns, read_all("1 2:3\n0 5:1 bad 6:1\n0 7:1\n", &bad));
  EXPECT_EQ(bad.count(), 1);
  EXPECT_TRUE(bad.contains(1));
  EXPECT_EQ(columns[2].int64s[columns[2].begin(0)], 2);
  EXPECT_EQ(columns[2].int64s[columns[2].begin(2)], 7);
  EXPECT_EQ(columns[2].end(2) - columns[2].begin(2), 1);
}

TEST_F(LibsvmReaderTest, RangesOfRowsAndLayouts) {
  files_.put("/data.svm", "0 1:1\n\n1 2:1\n0 3:1\n");
  ASSERT_OK_AND_ASSIGN(const auto first, open_file(files_, "/data.svm", config_));
  ASSERT_OK_AND_ASSIGN(const auto reader, open_file(files_, "/data.svm", config_, first->layout()));
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 1, 2}, {{2, ValueType::kUint64}}));
  EXPECT_THAT(columns[0].int64s, ElementsAre(2, 3));
  EXPECT_THAT(reader->row_lines(), ElementsAre(3, 4));
  files_.put("/data.svm", "0 1:1\n");
  EXPECT_THAT(open_file(files_, "/data.svm", config_, first->layout()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("changed")));
}

// Lines are read one by one: damage reaches the one that it is in, and the next if it takes the
// line feed between them.
TEST_F(LibsvmReaderTest, DamageIsRefusedOrReachesItsLineAlone) {
  constexpr int64_t kLines = 200;
  std::string whole;
  for (int64_t i = 0; i < kLines; ++i) {
    absl::StrAppend(&whole, i, " qid:", i, " ", 1000 + i, ":0.5 ", 2000 + i, ":", i, "\n");
  }
  for (int trial = 0; trial < 2 * damaged_files(); ++trial) {
    std::string damaged = whole;
    const size_t place = philox64(5, 0, trial) % whole.size();
    const bool is_cut = trial % 2 == 0;
    if (is_cut) {
      damaged.resize(place);
    } else {
      damaged[place] = static_cast<char>(damaged[place] ^ (1 << (philox64(5, 1, trial) % 8)));
    }
    BadRows bad(std::count(damaged.begin(), damaged.end(), '\n') + 1, /*skip=*/true);
    const auto columns = read_all(damaged, &bad);
    if (!columns.ok()) {
      ASSERT_THAT(columns.status(),
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/data.libsvm")))
          << place;
      continue;
    }
    int64_t right = 0, wrong = 0;
    for (int64_t row = 0; row < (*columns)[0].rows; ++row) {
      if (bad.contains(row)) continue;
      const Column& label = (*columns)[0];
      const Column& index = (*columns)[2];
      const Column& value = (*columns)[3];
      const int64_t i = static_cast<int64_t>(label.doubles[label.begin(row)]);
      const int64_t first = index.begin(row), values = value.begin(row);
      const bool is_right = i >= 0 && i < kLines && index.end(row) - first == 2 &&
                            index.int64s[first] == 1000 + i &&
                            index.int64s[first + 1] == 2000 + i && value.doubles[values] == 0.5 &&
                            value.doubles[values + 1] == i;
      ++(is_right ? right : wrong);
    }
    const int64_t lines = std::count(whole.begin(), whole.begin() + place, '\n');
    ASSERT_LE(wrong, 1) << place;
    ASSERT_GE(right, is_cut ? lines : kLines - 2) << place;
  }
}

}  // namespace
}  // namespace millrace
