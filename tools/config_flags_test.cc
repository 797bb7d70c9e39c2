#include "tools/config_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "io/window/window_source_registry.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

constexpr char kConfig[] = R"(
  train {
    train_data { path: "a.orc" batch_size: 32 }
    eval_data { data { path: "b.orc" } }
    feature { name: "label" kind: LABEL }
    feature { name: "c{1..2}" }
    table { name: "c{1..2}" dim: 4 }
    model { name: "deepfm" }
  }
)";

class ConfigFlagsTest : public testing::Test {
 protected:
  ConfigFlagsTest() : path_(testing::TempDir() + "/job.textproto") { write(kConfig); }

  void write(const std::string& text) {
    EXPECT_OK(write_file_atomically(FileSystem::local(), path_, text));
  }

  // Parses a command line like the program and loads its configuration.
  absl::StatusOr<JobConfig> load(std::vector<std::string> arguments) {
    CLI::App app("test");
    ConfigFlags flags;
    add_config_flags(app, flags);
    arguments.insert(arguments.begin(), path_);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(arguments);
    ASSIGN_OR_RETURN(const CheckedJob job, load_config(FileSystem::local(), flags));
    return job.config();
  }

  const std::string path_;
};

TEST_F(ConfigFlagsTest, WithoutFlagsTheFileWithNamesExpanded) {
  ASSERT_OK_AND_ASSIGN(const JobConfig config, load({}));
  EXPECT_EQ(config.train().seed(), 1u);
  EXPECT_THAT(config.train().train_data().path(), ElementsAre("a.orc"));
  ASSERT_EQ(config.train().feature_size(), 3);
  EXPECT_EQ(config.train().feature(2).table(), "c2");
  EXPECT_EQ(config.train().table_size(), 2);
}

TEST_F(ConfigFlagsTest, EveryFlagReplacesItsField) {
  ASSERT_OK_AND_ASSIGN(
      const JobConfig config,
      load({"--train_data", "x/*.orc,y.parquet", "--eval_data=z.orc", "--output_dir", "elsewhere",
            "--max_steps", "7", "--max_epochs", "3", "--seed", "18446744073709551615", "--threads",
            "2", "--instruction_set", "avx2", "--device", "auto"}));
  EXPECT_THAT(config.train().train_data().path(), ElementsAre("x/*.orc", "y.parquet"));
  EXPECT_EQ(config.train().train_data().batch_size(), 32);
  ASSERT_EQ(config.train().eval_data_size(), 1);
  EXPECT_THAT(config.train().eval_data(0).data().path(), ElementsAre("z.orc"));
  EXPECT_EQ(config.run().output_dir(), "elsewhere");
  EXPECT_EQ(config.train().max_steps(), 7);
  EXPECT_EQ(config.train().max_epochs(), 3);
  EXPECT_EQ(config.train().seed(), 18446744073709551615u);
  EXPECT_EQ(config.run().threads(), 2);
  EXPECT_EQ(config.run().instruction_set(), RunConfig::AVX2);
}

TEST_F(ConfigFlagsTest, HelpSaysWhatLiftsALimit) {
  CLI::App app("test");
  ConfigFlags flags;
  add_config_flags(app, flags);
  for (const char* limit : {"--max_steps", "--max_epochs"}) {
    EXPECT_THAT(app.get_option(limit)->get_description(), HasSubstr("0: no limit")) << limit;
  }
}

TEST_F(ConfigFlagsTest, SetAppliesInOrderAndNamedFlagsAfterIt) {
  ASSERT_OK_AND_ASSIGN(
      const JobConfig config,
      load({"--seed", "5", "--set", "train.max_epochs=3", "--set", "train.max_epochs=4", "--set",
            "train.seed=6", "--set", "train.optimizer.learning_rate=0.5"}));
  EXPECT_EQ(config.train().max_epochs(), 4);
  EXPECT_EQ(config.train().seed(), 5u);
  EXPECT_EQ(config.train().optimizer().learning_rate(), 0.5);
}

TEST_F(ConfigFlagsTest, FlagsOfPathsMayBeRepeated) {
  ASSERT_OK_AND_ASSIGN(const JobConfig config,
                       load({"--train_data", "x.orc,y.orc", "--eval_data", "a.orc", "--train_data",
                             "z.orc", "--eval_data=b*.orc"}));
  EXPECT_THAT(config.train().train_data().path(), ElementsAre("x.orc", "y.orc", "z.orc"));
  EXPECT_THAT(config.train().eval_data(0).data().path(), ElementsAre("a.orc", "b*.orc"));
}

// An unset variable of the shell must not remove files silently.
TEST_F(ConfigFlagsTest, EachFlagOfPathsNamesAFile) {
  const auto error_of = [&](std::vector<std::string> arguments) -> std::string {
    try {
      load(std::move(arguments)).status().IgnoreError();
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of({"--train_data", ","}),
            "--train_data: \",\" names no file; give PATH[,PATH...]");
  EXPECT_THAT(error_of({"--eval_data", ""}), StartsWith("--eval_data: \"\" names no file"));
  EXPECT_THAT(error_of({"--eval_data", "", "--eval_data", "b.orc"}),
              StartsWith("--eval_data: \"\" names no file"));
  // Refused by the parser.
  EXPECT_THAT(error_of({"--train_data=a.orc", "--train_data="}),
              StartsWith("--train_data: 1 required TEXT missing"));
}

TEST_F(ConfigFlagsTest, EvalDataMakesASetWhereThereIsNone) {
  ASSERT_OK_AND_ASSIGN(const JobConfig config,
                       load({"--set", "train.eval_data=[]", "--eval_data", "z.orc"}));
  ASSERT_EQ(config.train().eval_data_size(), 1);
  EXPECT_EQ(config.train().eval_data(0).name(), "eval");
}

TEST_F(ConfigFlagsTest, UnknownMetricsAreFoundTogetherWithTheirNearest) {
  EXPECT_THAT(load({"--set", "train.metric=['auc', 'loglos']", "--set",
                    "train.eval_data[0].metric=['acu']"}),
              StatusIs(kInvalid,
                       AllOf(HasSubstr("train.metric[1]: no metric \"loglos\"; did you mean"),
                             HasSubstr("train.eval_data[0] \"eval\".metric[0]: no metric \"acu\"; "
                                       "did you mean \"auc\"?"))));
}

TEST_F(ConfigFlagsTest, EvalDataOfSeveralSetsIsAmbiguous) {
  EXPECT_THAT(load({"--set", R"(train.eval_data=[{ name: "one" }, { name: "two" }])", "--eval_data",
                    "z.orc"}),
              StatusIs(kInvalid, AllOf(HasSubstr("--eval_data"), HasSubstr("several"))));
}

TEST_F(ConfigFlagsTest, GeneratedDataIsReadWhereNoPathIsGiven) {
  write(R"(
    train {
      generated_data { directory: "d" rows: 100 eval_rows: 10 }
      feature { name: "label" kind: LABEL }
      feature { name: "i1" kind: DENSE }
      model { name: "deepfm" }
    })");
  ASSERT_OK_AND_ASSIGN(JobConfig config, load({}));
  EXPECT_THAT(
      config.train().train_data().path(),  // and no other file of the directory
      ElementsAre("d/part-0.parquet", "d/part-1.parquet", "d/part-2.parquet", "d/part-3.parquet"));
  ASSERT_EQ(config.train().eval_data_size(), 1);
  EXPECT_THAT(config.train().eval_data(0).data().path(), ElementsAre("d/eval.parquet"));

  ASSERT_OK_AND_ASSIGN(config, load({"--set", "train.generated_data.eval_rows=0"}));
  EXPECT_EQ(config.train().eval_data_size(), 0);

  // Other training data: nothing is generated.
  ASSERT_OK_AND_ASSIGN(config, load({"--train_data", "mine.orc"}));
  EXPECT_FALSE(config.train().has_generated_data());
  EXPECT_THAT(config.train().train_data().path(), ElementsAre("mine.orc"));
}

TEST_F(ConfigFlagsTest, PathsReplaceAMix) {
  write(R"(
    train {
      generated_data { directory: "d" }
      train_data { mix { source { proportion: 1 data { path: "a.orc" } } } }
      feature { name: "label" kind: LABEL }
      feature { name: "i1" kind: DENSE }
      model { name: "deepfm" }
    })");
  ASSERT_OK_AND_ASSIGN(const JobConfig mixed, load({}));
  EXPECT_TRUE(mixed.train().train_data().has_mix());
  EXPECT_TRUE(mixed.train().train_data().path().empty()) << "nor is generated data read";
  ASSERT_OK_AND_ASSIGN(const JobConfig plain, load({"--train_data", "b.orc"}));
  EXPECT_FALSE(plain.train().train_data().has_mix());
  EXPECT_THAT(plain.train().train_data().path(), ElementsAre("b.orc"));
}

absl::StatusOr<std::unique_ptr<WindowSource>> create_own_windows(const CustomConfig&,
                                                                 const WindowSourceInput&) {
  return absl::UnimplementedError("no windows");
}
MILLRACE_REGISTER_WINDOW_SOURCE(own_windows, "a source of this test", &create_own_windows);

TEST_F(ConfigFlagsTest, PathsReplaceWindowsWithFilesOfTheirOwn) {
  for (const char* windows :
       {"directory { path: 'in' }", "list {}", "custom { name: 'own_windows' }"}) {
    write(absl::StrCat(R"(
      train {
        train_data { windows { )",
                       windows, R"( } }
        feature { name: "label" kind: LABEL }
        feature { name: "i1" kind: DENSE }
        model { name: "deepfm" }
      })"));
    ASSERT_OK_AND_ASSIGN(const JobConfig config, load({"--train_data", "b.orc"}));
    EXPECT_THAT(config.train().train_data().path(), ElementsAre("b.orc"));
    EXPECT_EQ(config.train().train_data().has_windows(), *windows != 'd');
  }
}

TEST_F(ConfigFlagsTest, ErrorsNameTheFlagOrTheFile) {
  EXPECT_THAT(load({"--set", "train.max_epoch=3"}),
              StatusIs(kInvalid, AllOf(HasSubstr("--set"), HasSubstr("max_epochs"))));
  EXPECT_THAT(load({"--device", "cuda:0"}),
              StatusIs(kInvalid, AllOf(HasSubstr("--device cuda:0"), HasSubstr("cpu"))));
  EXPECT_THAT(load({"--set", "train.train_data.batch_size=0"}),
              StatusIs(kInvalid, AllOf(HasSubstr(path_), HasSubstr("batch_size"))));
  EXPECT_THAT(load({"--max_steps", "-1"}), StatusIs(kInvalid, HasSubstr("max_steps")));
  EXPECT_THAT(load({"--threads", "-1"}), StatusIs(kInvalid, HasSubstr("threads")));
  EXPECT_THAT(load({"--instruction_set", "sse"}),
              StatusIs(kInvalid, AllOf(HasSubstr("--instruction_set"), HasSubstr("baseline"))));
  write("train { sed: 3 }");
  EXPECT_THAT(load({}), StatusIs(kInvalid, AllOf(HasSubstr(path_ + ":1:"), HasSubstr("seed"))));
}

TEST_F(ConfigFlagsTest, AJobShowsAllMistakesWithTheFileOnEachLine) {
  ConfigFlags flags;
  flags.config = path_;
  flags.set = {"train.table[0].dim=0",
               "train.metric=['acu']",
               "run.threads=-1",
               "train.hooks=[{name: 'no_such_hook'}]",
               "train.global_batch_size=64",
               "train.train_data.batch_size=512",
               "run.evaluation.best={term {monitor: 'evla/loss'}}"};
  const absl::Status status = load_job(FileSystem::local(), flags, 3).status();
  ASSERT_THAT(status, StatusIs(kInvalid, HasSubstr("no_such_hook")));
  const std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], StartsWith(absl::StrCat(i == 0 ? "" : "  ", path_, ": ")));
  }
  const std::string text(status.message());
  for (const char* part :
       {"train.table[0] \"c1\": dim is 0", "train.table[1] \"c2\": dim is 0",
        "train.metric[0]: ", "run: threads is -1", "train.hooks[0]: no hook \"no_such_hook\"",
        "which 3 ranks do not divide", "did you mean \"eval/loss\"?"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(ConfigFlagsTest, MissingFile) {
  ConfigFlags flags;
  flags.config = testing::TempDir() + "/missing.textproto";
  EXPECT_THAT(load_config(FileSystem::local(), flags),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(flags.config)));
}

TEST_F(ConfigFlagsTest, FlagsThatAreNoNumbersAreRefused) {
  EXPECT_THROW(load({"--max_steps", "many"}).status().IgnoreError(), CLI::ParseError);
  EXPECT_THROW(load({"--seed", "-1"}).status().IgnoreError(), CLI::ParseError);
  EXPECT_THROW(load({"--no_such_flag"}).status().IgnoreError(), CLI::ParseError);
}

}  // namespace
}  // namespace millrace
