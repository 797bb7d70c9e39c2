#include "io/files/file_set.h"

#include <string>
#include <vector>

#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileSetTest : public testing::Test {
 protected:
  FileSetTest() : dir_(fresh_test_dir()) {}

  std::string write(const std::string& name, const TestTable& table) {
    const std::string path = join_path(dir_, name);
    EXPECT_OK(write_data_file(table, DataConfig::PARQUET, 4, path));
    return path;
  }
  DataConfig config(std::vector<std::string> paths) {
    DataConfig config;
    for (const std::string& path : paths) config.add_path(path);
    return config;
  }
  absl::StatusOr<FileSet> open(std::vector<std::string> paths, std::vector<std::string> columns) {
    return FileSet::open(FileSystem::local(), config(std::move(paths)), std::move(columns));
  }

  const std::string dir_;
  const TestTable ints_{{{"x", TestColumn::Rows<int64_t>(6, {1}), false}}};
  const TestTable texts_{{{"x", TestColumn::Rows<std::string>(3, {"a"}), false}}};
};

TEST_F(FileSetTest, ListsFilesInOrder) {
  const std::string b = write("b.parquet", ints_), a = write("a.parquet", ints_),
                    c = write("c.parquet", ints_);
  ASSERT_OK_AND_ASSIGN(const FileSet set, open({c, join_path(dir_, "[ab].parquet")}, {"x"}));
  EXPECT_THAT(set.paths(), ElementsAre(c, a, b));
  EXPECT_EQ(set.rows(), 18);
  EXPECT_THAT(set.group_rows()[0], ElementsAre(4, 2));
  EXPECT_EQ(set.first_row(1, 1), 4);
  EXPECT_THAT(set.column_types(), ElementsAre(ValueType::kInt64));
}

TEST_F(FileSetTest, AMissingPathIsABadFile) {
  const std::string none = join_path(dir_, "none.parquet"), a = write("a.parquet", ints_);
  DataConfig skip = config({none, a});
  skip.set_bad_data(DataConfig::SKIP);
  skip.set_max_bad_fraction(0.5);
  BadFiles bad;
  ASSERT_OK_AND_ASSIGN(const FileSet set, FileSet::open(FileSystem::local(), skip, {"x"},
                                                        /*may_be_empty=*/false, &bad));
  EXPECT_THAT(set.paths(), ElementsAre(none, a)) << "the numbers of other files stay";
  EXPECT_EQ(set.rows(), 6);
  EXPECT_THAT(bad.paths(10), ElementsAre(none));
  skip.set_max_bad_fraction(0.49);
  EXPECT_THAT(FileSet::open(FileSystem::local(), skip, {"x"}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("1 of 2 files are bad data, more than max_bad_fraction 0.49 "
                                       "allows"),
                             HasSubstr("at least 0.5"), HasSubstr("none.parquet"))));
  const std::string b = write("b.parquet", ints_);
  DataConfig of_three = config({none, a, b});
  of_three.set_bad_data(DataConfig::SKIP);
  EXPECT_THAT(FileSet::open(FileSystem::local(), of_three, {"x"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("at least 0.3334 to omit")))
      << "the default allows no bad file of a set below 100 files";
  of_three.set_max_bad_fraction(0.3334);
  EXPECT_OK(FileSet::open(FileSystem::local(), of_three, {"x"}));
}

TEST_F(FileSetTest, DelimitedTextThatIsOneCellNamesItsDelimiter) {
  const std::string path = join_path(dir_, "semicolons.csv");
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, "user;item;label\n1;2;0\n"));
  EXPECT_THAT(open({path}, {"label"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("set csv { delimiter: \";\" }")));
}

TEST_F(FileSetTest, OptionsOfDelimitedTextAreCheckedOnce) {
  DataConfig config = this->config({join_path(dir_, "none.csv")});
  config.mutable_csv()->set_delimiter("ab");
  EXPECT_THAT(FileSet::open(FileSystem::local(), config, {"x"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "csv: delimiter is \"ab\"; must be one character"));
}

TEST_F(FileSetTest, PatternsMayGoDeep) {
  ASSERT_OK(FileSystem::local().create_directories(join_path(dir_, "in/b/c")));
  const std::string deep = write("in/b/c/x.parquet", ints_), flat = write("in/y.parquet", ints_);
  ASSERT_OK_AND_ASSIGN(const FileSet set, open({join_path(dir_, "in/**/*.parquet")}, {"x"}));
  EXPECT_THAT(set.paths(), ElementsAre(deep, flat));
}

TEST_F(FileSetTest, AFileWhoseNameLooksLikeAPatternIsThatFile) {
  const std::string odd = write("data[1].parquet", ints_);
  write("data1.parquet", ints_);
  ASSERT_OK_AND_ASSIGN(const FileSet set, open({odd}, {"x"}));
  EXPECT_THAT(set.paths(), ElementsAre(odd));
}

TEST_F(FileSetTest, MissingFiles) {
  EXPECT_THAT(open({join_path(dir_, "no.parquet")}, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no.parquet")));
  EXPECT_THAT(open({join_path(dir_, "no-*.parquet")}, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no file matches")));
  EXPECT_THAT(open({}, {}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no path")));
  const std::string a = write("a.parquet", ints_);
  EXPECT_THAT(open({a, join_path(dir_, "*")}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.parquet is named twice")));
}

TEST_F(FileSetTest, ColumnsThatDoNotFit) {
  const std::string a = write("a.parquet", ints_);
  EXPECT_THAT(open({a}, {"xx"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                          AllOf(HasSubstr(a), HasSubstr("no column \"xx\""))));
  const std::string b = write("b.parquet", texts_);
  EXPECT_THAT(open({a, b}, {"x"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(b + ", column \"x\" holds text (string), but integers"),
                             HasSubstr("(int64) in " + a))));
  EXPECT_OK(open({a, b}, {}));  // what is not needed is not compared
  const std::string c = write("c.parquet", {{ints_.columns[0], ints_.columns[0]}});
  EXPECT_THAT(open({c}, {"x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two columns named \"x\"")));
}

TEST_F(FileSetTest, NumbersMayHaveAnotherTypeInEachFile) {
  const std::string a = write("a.parquet", ints_);
  const std::string b =
      write("b.parquet", {{{"x", TestColumn::Rows<double>{{1}, {}, {2.5}}, false}}});
  for (const std::vector<std::string>& paths : {std::vector{a, b}, std::vector{b, a}}) {
    ASSERT_OK_AND_ASSIGN(const FileSet set, open(paths, {"x"}));
    EXPECT_THAT(set.column_types(), ElementsAre(ValueType::kDouble));
    EXPECT_OK(set.open_again(0));
    EXPECT_OK(set.open_again(1));
  }
}

TEST_F(FileSetTest, NoRows) {
  const std::string a = write("a.parquet", {{{"x", TestColumn::Rows<int64_t>(), false}}});
  EXPECT_THAT(open({a}, {"x"}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no rows in " + a)));
}

TEST_F(FileSetTest, AFileThatChanged) {
  const std::string a = write("a.parquet", ints_);
  ASSERT_OK_AND_ASSIGN(const FileSet set, open({a}, {"x"}));
  EXPECT_OK(set.open_again(0));
  write("a.parquet", {{{"x", TestColumn::Rows<int64_t>(9, {1}), false}}});
  EXPECT_THAT(set.open_again(0), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("changed while")));
}

TEST_F(FileSetTest, ErrorsOfTheFileSystemKeepTheirCode) {
  const std::string a = write("a.parquet", ints_);
  for (int64_t n = 0;; ++n) {
    FaultFileSystem files(FileSystem::local());
    files.fail(n, 1, absl::UnavailableError("injected"));
    const auto set = FileSet::open(files, config({a}), {"x"});
    if (files.calls() <= n) break;
    EXPECT_THAT(set, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("injected"))) << n;
  }
}

}  // namespace
}  // namespace millrace
