#include "job/generate/generator.h"

#include <cmath>

#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/outside_checkpoints.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GenerateOptions small_options(const std::string& directory) {
  GenerateOptions options;
  options.rows = 500;
  options.eval_rows = 300;
  options.files = 3;
  options.rows_in_group = 64;
  options.output_dir = testing::TempDir() + "/" + directory;
  return options;
}

std::string content(const std::string& path) { return *read_file(FileSystem::local(), path); }

TEST(GeneratorTest, WritesFilesAndSaysWhere) {
  const GenerateOptions options = small_options("where/deep");
  ASSERT_OK_AND_ASSIGN(GenerateResult result, generate(FileSystem::local(), options));
  const std::string& dir = options.output_dir;
  EXPECT_THAT(result.train_paths, ElementsAre(dir + "/part-0.parquet", dir + "/part-1.parquet",
                                              dir + "/part-2.parquet"));
  EXPECT_EQ(result.eval_path, dir + "/eval.parquet");
  ASSERT_OK_AND_ASSIGN(std::vector<std::string> written, FileSystem::local().glob(dir + "/*"));
  EXPECT_EQ(written.size(), 4u);
}

TEST(GeneratorTest, EqualOptionsGiveEqualFiles) {
  for (const ColumnarFormat format : {ColumnarFormat::kParquet, ColumnarFormat::kOrc}) {
    GenerateOptions options = small_options("equal_a");
    options.format = format;
    ASSERT_OK_AND_ASSIGN(GenerateResult a, generate(FileSystem::local(), options));
    options.output_dir += "_again";
    ASSERT_OK_AND_ASSIGN(GenerateResult b, generate(FileSystem::local(), options));
    options.output_dir += "_other";
    options.model.seed = 2;
    ASSERT_OK_AND_ASSIGN(GenerateResult other, generate(FileSystem::local(), options));
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(content(a.train_paths[i]), content(b.train_paths[i]));
    EXPECT_EQ(content(a.eval_path), content(b.eval_path));
    EXPECT_EQ(a.best_auc, b.best_auc);
    EXPECT_NE(content(a.eval_path), content(other.eval_path));
  }
}

TEST(GeneratorTest, FilesAndGroupsDoNotChangeTheExamples) {
  GenerateOptions options = small_options("groups_a");
  ASSERT_OK_AND_ASSIGN(GenerateResult a, generate(FileSystem::local(), options));
  options.output_dir += "_b";
  options.files = 1;
  options.rows_in_group = 1000;
  ASSERT_OK_AND_ASSIGN(GenerateResult b, generate(FileSystem::local(), options));
  EXPECT_EQ(a.positives, b.positives);
  EXPECT_EQ(a.best_auc, b.best_auc);
  EXPECT_EQ(a.best_logloss, b.best_logloss);
}

TEST(GeneratorTest, BestIsBetterThanTheMeanAndBelowCertainty) {
  GenerateOptions options = small_options("best");
  options.eval_rows = 20000;
  options.rows_in_group = 16384;
  ASSERT_OK_AND_ASSIGN(GenerateResult result, generate(FileSystem::local(), options));
  EXPECT_GT(result.best_auc, 0.75);
  EXPECT_LT(result.best_auc, 0.9);
  EXPECT_LT(result.best_logloss, -0.25 * std::log(0.25) - 0.75 * std::log(0.75));
  EXPECT_NEAR(result.positives, 125, 50);
}

TEST(GeneratorTest, NoEvaluationRows) {
  GenerateOptions options = small_options("no_eval");
  options.eval_rows = 0;
  ASSERT_OK_AND_ASSIGN(GenerateResult result, generate(FileSystem::local(), options));
  EXPECT_EQ(result.eval_path, "");
  EXPECT_TRUE(std::isnan(result.best_auc));
  EXPECT_TRUE(std::isnan(result.best_logloss));
}

TEST(GeneratorTest, OptionsOutOfRangeAreNamedAndCreateNothing) {
  const auto refused = [](auto change, const std::string& what) {
    GenerateOptions options = small_options("refused");
    change(options);
    EXPECT_THAT(generate(FileSystem::local(), options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
    EXPECT_THAT(FileSystem::local().glob(testing::TempDir() + "/refused*"),
                IsOkAndHolds(IsEmpty()));
  };
  refused([](GenerateOptions& o) { o.rows = 0; }, "rows is 0");
  refused([](GenerateOptions& o) { o.eval_rows = -1; }, "eval_rows is -1");
  refused([](GenerateOptions& o) { o.files = 0; }, "files is 0");
  refused([](GenerateOptions& o) { o.files = 501; }, "files is 501");
  refused([](GenerateOptions& o) { o.rows_in_group = 0; }, "rows_in_group is 0");
  refused([](GenerateOptions& o) { o.model.positive_rate = 1; }, "positive_rate is 1");
  refused([](GenerateOptions& o) { o.model.positive_rate = std::nan(""); }, "positive_rate is nan");
  refused([](GenerateOptions& o) { o.model.zipf_exponent = -1; }, "zipf_exponent is -1");
  refused([](GenerateOptions& o) { o.output_dir = ""; }, "output_dir");
}

TEST(GeneratorTest, FileInPlaceOfTheDirectoryIsNamed) {
  GenerateOptions options = small_options("taken");
  ASSERT_OK(write_file_atomically(FileSystem::local(), options.output_dir, "x"));
  const absl::Status status = generate(FileSystem::local(), options).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("taken"));
}

TEST(GeneratorTest, FilesOfOthersStay) {
  FileSystem& files = FileSystem::local();
  GenerateOptions options = small_options("others");
  for (const std::string name : {"/part-2.parquet", "/eval.parquet"}) {
    const std::string path = options.output_dir + name;
    remove_recursively(files, options.output_dir).IgnoreError();
    ASSERT_OK(files.create_directories(options.output_dir));
    ASSERT_OK(write_file_atomically(files, path, "mine"));
    EXPECT_THAT(generate(files, options),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr(path), HasSubstr("--overwrite"))));
    EXPECT_THAT(files.list(options.output_dir), IsOkAndHolds(testing::SizeIs(1)));
    EXPECT_THAT(read_file(files, path), IsOkAndHolds("mine"));
  }
  options.overwrite = true;
  EXPECT_OK(generate(files, options).status());
  options.overwrite = false;
  EXPECT_OK(generate(files, options).status()) << "they are generated ones now";
}

TEST(GeneratorTest, FilesOfOthersAmongGeneratedOnesStay) {
  FileSystem& files = FileSystem::local();
  GenerateOptions options = small_options("among");
  remove_recursively(files, options.output_dir).IgnoreError();
  ASSERT_OK(generate(files, options).status());
  const std::string mine = options.output_dir + "/part-3.parquet";
  ASSERT_OK(write_file_atomically(files, mine, "mine"));
  options.files = 4;
  EXPECT_THAT(generate(files, options), StatusIs(absl::StatusCode::kPermissionDenied,
                                                 AllOf(HasSubstr(mine), HasSubstr("--overwrite"))));
  EXPECT_THAT(read_file(files, mine), IsOkAndHolds("mine"));
  options.files = 2;
  EXPECT_OK(generate(files, options).status());
  options.files = 3;
  EXPECT_OK(generate(files, options).status()) << "part-2 is a generated one still";
  const std::string replaced = options.output_dir + "/part-1.parquet";
  ASSERT_OK(write_file_atomically(files, replaced, "mine"));
  EXPECT_FALSE(generate(files, options).ok()) << "it has another size than the generated one";
  EXPECT_THAT(read_file(files, replaced), IsOkAndHolds("mine"));
}

TEST(GeneratorTest, MarksOfOlderVersionsNameNoFiles) {
  FileSystem& files = FileSystem::local();
  GenerateOptions options = small_options("older");
  for (const std::string mark : {"/.generated", "/generated.textproto"}) {
    remove_recursively(files, options.output_dir).IgnoreError();
    options.files = 2;
    ASSERT_OK(generate(files, options).status());
    ASSERT_OK(files.remove(options.output_dir + "/.generated"));
    ASSERT_OK(write_file_atomically(files, options.output_dir + mark,
                                    "The files beside this one were generated by Millrace.\n"));
    EXPECT_OK(generate(files, options).status());
    const std::string mine = options.output_dir + "/part-2.parquet";
    ASSERT_OK(write_file_atomically(files, mine, "mine"));
    options.files = 3;
    EXPECT_FALSE(generate(files, options).ok()) << "the mark names the files now";
    EXPECT_THAT(read_file(files, mine), IsOkAndHolds("mine"));
  }
}

TEST(GeneratorTest, AMarkOfSomebodyElseStays) {
  FileSystem& files = FileSystem::local();
  GenerateOptions options = small_options("mark");
  const std::string mark = options.output_dir + "/.generated";
  ASSERT_OK(files.create_directories(options.output_dir));
  ASSERT_OK(write_file_atomically(files, mark, "mine"));
  EXPECT_THAT(generate(files, options),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(mark)));
  EXPECT_THAT(read_file(files, mark), IsOkAndHolds("mine"));
  options.overwrite = true;
  EXPECT_OK(generate(files, options).status());
}

TEST(GeneratorTest, FullDiskLeavesNoHalfFile) {
  const GenerateOptions options = small_options("full");
  FaultFileSystem files(FileSystem::local());
  FaultFileSystem looks(FileSystem::local());  // which are spared if they fail
  ASSERT_OK(check_outside_checkpoints(looks, options.output_dir));
  files.fail(looks.calls() + 20, 1, absl::ResourceExhaustedError("disk full"));
  EXPECT_THAT(generate(files, options),
              StatusIs(absl::StatusCode::kResourceExhausted, "disk full"));
  EXPECT_THAT(FileSystem::local().glob(options.output_dir + "/*.tmp*"), IsOkAndHolds(IsEmpty()));
}

TEST(GeneratorTest, FormatsByName) {
  EXPECT_THAT(parse_columnar_format("parquet"), IsOkAndHolds(ColumnarFormat::kParquet));
  EXPECT_THAT(parse_columnar_format("orc"), IsOkAndHolds(ColumnarFormat::kOrc));
  EXPECT_THAT(parse_columnar_format("Orc"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("parquet or orc")));
}

}  // namespace
}  // namespace millrace
