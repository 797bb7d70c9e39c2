#include "sinks/configured_sinks.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "proto/config_reader.h"
#include "sinks/prometheus/prometheus_sink.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfiguredSinksTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<NamedSink>> make(const std::string& run, int rank = 0) {
    JobConfig config;
    EXPECT_OK(parse_text("run {" + run + "}", "the test", &config));
    return make_sinks(config, files_, rank);
  }
  std::vector<std::string> names(const std::string& run, int rank = 0) {
    std::vector<std::string> names;
    const auto sinks = make(run, rank);
    EXPECT_OK(sinks.status());
    if (!sinks.ok()) return names;
    for (const NamedSink& named : *sinks) names.push_back(named.name);
    return names;
  }
  // Lets all sinks write a report.
  void report(const std::string& run, int rank) {
    const auto sinks = make(run, rank);
    ASSERT_OK(sinks.status());
    for (const NamedSink& named : *sinks) {
      EXPECT_OK(named.sink->start(0));
      EXPECT_OK(named.sink->write_report(Report()));
    }
  }
  MemoryFileSystem files_;
};

TEST_F(ConfiguredSinksTest, TensorBoardIsThereByDefault) {
  EXPECT_THAT(names(""), ElementsAre("tensorboard"));
  EXPECT_THAT(names("report { tensorboard: false }"), IsEmpty());
  EXPECT_THAT(names("sink { tensorboard { directory: \"tb\" } }"), ElementsAre("tensorboard"));
  EXPECT_THAT(names("sink { csv {} } sink { prometheus { port: 0 } }"),
              ElementsAre("csv", "prometheus", "tensorboard"));
}

TEST_F(ConfiguredSinksTest, OtherRanksHaveThoseOfAllRanks) {
  EXPECT_THAT(names("sink { csv {} }", 1), IsEmpty());
  EXPECT_THAT(names("sink { csv {} ranks: ALL } sink { prometheus { port: 0 } }", 1),
              ElementsAre("csv"));
}

TEST_F(ConfiguredSinksTest, PlacesAreBelowTheOutputDirectory) {
  report("output_dir: \"o\" sink { csv {} }", 0);
  report("output_dir: \"o\" sink { csv { directory: \"all\" } ranks: ALL }", 1);
  EXPECT_OK(files_.info("o/metrics/train.csv").status());
  EXPECT_OK(files_.info("o/all/rank-1/train.csv").status());
  EXPECT_OK(files_.info("o/tensorboard").status());
}

TEST_F(ConfiguredSinksTest, AnOccupiedPortIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto first, PrometheusSink::create("127.0.0.1", 0, Clock::real()));
  const std::string taken =
      absl::StrCat("sink { csv {} } sink { prometheus { port: ", first->port(), " } }");
  EXPECT_THAT(make(taken).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("run.sink[1]"), HasSubstr(absl::StrCat(first->port())),
                             HasSubstr("choose another port"))));
}

}  // namespace
}  // namespace millrace
