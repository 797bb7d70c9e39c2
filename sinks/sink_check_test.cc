// Checks the sinks of configurations.

#include <string>

#include "base/status_matchers.h"
#include "proto/config_reader.h"
#include "sinks/configured_sinks.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::Status check(const std::string& sinks) {
  JobConfig config;
  EXPECT_OK(parse_text("run {" + sinks + "}", "the test", &config));
  return check_sinks(config.run());
}

TEST(SinkCheckTest, GoodOnesPass) {
  EXPECT_OK(check(""));
  EXPECT_OK(
      check("sink { csv {} } sink { csv { directory: \"other/folder\" } }"
            "sink { tensorboard {} ranks: ALL }"
            "sink { prometheus { port: 0 } } sink { prometheus { port: 0 } }"
            "sink { prometheus { address: \"0.0.0.0\" } }"
            "sink { prometheus { address: \"::1\" } }"
            "sink { mlflow { tracking_uri: \"https://tracker\" directory: \"c\" } }"
            "sink { mlflow { tracking_uri: \"http://tracker:5000/mlflow\" } }"
            "sink { mlflow { tracking_uri: \"http://tracker\" directory: \"b\" } ranks: ALL }"));
}

TEST(SinkCheckTest, Mistakes) {
  const auto expect = [](const std::string& sinks, const std::string& what) {
    EXPECT_THAT(check(sinks), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect("sink {}",
         "run.sink[0]: says not which sink; give csv, tensorboard, prometheus, mlflow or custom");
  expect("sink { csv { directory: \"\" } }", "run.sink[0].csv: directory is \"\"");
  expect("sink { csv { directory: \"/tmp\" } }", "must be a path below output_dir");
  expect("sink { tensorboard { directory: \"a/../..\" } }", "run.sink[0].tensorboard");
  expect("sink { csv { directory: \"./x/\" } }", "without \".\", \"..\" and double slashes");
  expect("sink { csv { directory: \"checkpoints\" } }", "Millrace's own");
  expect("sink { prometheus { port: 65536 } }", "port is 65536");
  expect("sink { prometheus { port: -1 } }", "port is -1");
  expect("sink { prometheus { address: \"localhost\" } }", "must be an IP address");
  expect("sink { csv {} } sink { csv {} }", "run.sink[1]: run.sink[0] writes to directory metrics");
  expect("sink { prometheus {} } sink { prometheus {} }",
         "run.sink[1].prometheus: run.sink[0] has port 9464, this sink port 9464; give it other "
         "ports or another address");
  expect("sink { mlflow {} }", "run.sink[0].mlflow: tracking_uri is missing");
  const auto expect_mlflow = [&](const std::string& fields, const std::string& what) {
    expect("sink { mlflow { tracking_uri: \"http://a\" " + fields + " } }", what);
  };
  expect("sink { mlflow { tracking_uri: \"https://ann:pw@a\" } }",
         "run.sink[0].mlflow: tracking_uri has a user name or a password, which logs would show");
  expect("sink { mlflow { tracking_uri: \"mlruns\" } }", "it must have the form http://HOST:PORT");
  expect_mlflow("timeout_seconds: 0", "timeout_seconds is 0");
  expect_mlflow("experiment: \"\"", "experiment is \"\"");
  expect_mlflow("directory: \"best\"", "Millrace's own");
  expect_mlflow("directory: \"/a\"", "must be a path below output_dir");
  expect_mlflow("directory: \"metrics\"", "which has other files of Millrace");
  expect_mlflow("directory: \"tensorboard\"", "which has other files of Millrace");
  expect_mlflow("} } sink { mlflow { tracking_uri: \"http://b\"",
                "run.sink[1]: run.sink[0] writes to directory mlflow as well");
  expect_mlflow("directory: \"a\" } } sink { csv { directory: \"a\"",
                "run.sink[1]: run.sink[0] keeps its run in directory a; give another one");
  expect("sink { custom { name: \"none\" } }", "run.sink[0].custom: no sink \"none\"");
}

TEST(SinkCheckTest, DirectoriesOfRanksAreNotThoseOfOtherSinks) {
  const auto refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  const std::string all = "sink { csv { directory: \"m\" } ranks: ALL }";
  const auto csv = [](const std::string& directory) {
    return "sink { csv { directory: \"" + directory + "\" } }";
  };
  EXPECT_THAT(check(all + csv("m/rank-0")), refused("run.sink[1]: run.sink[0] writes to directory "
                                                    "m/rank-0 as well"));
  EXPECT_THAT(check(csv("m/rank-12") + all), refused("writes to directory m/rank-12 as well"));
  const std::string mlflow =
      "sink { mlflow { tracking_uri: \"http://a\" directory: \"m\" } ranks: ALL }";
  EXPECT_THAT(check(mlflow + csv("m/rank-1")),
              refused("run.sink[1]: run.sink[0] keeps its run in directory m/rank-1"));
  EXPECT_OK(check(all + csv("m/rank-01")));
  EXPECT_OK(check(all + csv("m/rank-0/other")));
  EXPECT_OK(check(all + csv("m/rank-")));
  EXPECT_OK(check(csv("m") + csv("m/rank-0")));
  EXPECT_OK(check(all + "sink { tensorboard { directory: \"m/rank-0\" } }"));
}

absl::Status check_ports(const std::string& sinks, int ranks) {
  JobConfig config;
  EXPECT_OK(parse_text("run {" + sinks + "}", "the test", &config));
  return check_sink_ports(config.run(), {.world_size = ranks});
}

TEST(SinkCheckTest, EachRankHasAPort) {
  const std::string last = "sink { prometheus { port: 65535 } ranks: ALL }";
  EXPECT_OK(check_ports(last, 1));
  EXPECT_OK(check_ports("sink { prometheus { port: 65534 } ranks: ALL }", 2));
  EXPECT_OK(check_ports("sink { prometheus { port: 65535 } }", 2));
  EXPECT_THAT(check_ports(last, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("run.sink[0].prometheus: port is 65535, so that 2 ranks need "
                                 "ports 65535 to 65536; it must be at most 65534")));
  EXPECT_OK(
      check_ports("sink { prometheus { port: 65535 port_by_local_rank: true } ranks: ALL }", 2));
}

TEST(SinkCheckTest, DirectoriesOfSinks) {
  const auto directories = [](const std::string& text) {
    JobConfig config;
    EXPECT_OK(parse_text("run {" + text + "}", "the test", &config));
    return sink_directories(config.run());
  };
  EXPECT_THAT(directories(""), ElementsAre("tensorboard"));
  EXPECT_THAT(directories("report { tensorboard: false }"), IsEmpty());
  EXPECT_THAT(directories("sink { csv {} } sink { prometheus {} }"),
              ElementsAre("metrics", "tensorboard"));
  EXPECT_THAT(directories("sink { tensorboard { directory: 'a/b' } ranks: ALL }"),
              ElementsAre("a/b"));
}

TEST(SinkCheckTest, NoPortIsThatOfTwoSinks) {
  const auto two = [](const std::string& first, const std::string& second, int ranks) {
    return check_ports(
        "sink { prometheus { port: " + first + " } sink { prometheus { port: " + second + " }",
        ranks);
  };
  const auto overlap = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(two("9464 } ranks: ALL", "9465 } ranks: ALL", 2),
              overlap("run.sink[1].prometheus: run.sink[0] has ports 9464 to 9465, this sink ports "
                      "9465 to 9466"));
  EXPECT_THAT(two("9465 }", "9464 } ranks: ALL", 2), overlap("run.sink[0] has port 9465"));
  EXPECT_THAT(two("9464 address: '0.0.0.0' }", "9464 }", 1), overlap("run.sink[0] has port 9464"));
  for (const char* any : {"9464 address: '::' }", "9464 address: '0::0' }"}) {
    for (const char* other : {"9464 }", "9464 address: '0.0.0.0' }", "9464 address: '::1' }"}) {
      EXPECT_THAT(two(any, other, 1), overlap("run.sink[0] has port 9464")) << other;
      EXPECT_THAT(two(other, any, 1), overlap("run.sink[0] has port 9464")) << other;
    }
  }
  EXPECT_OK(two("9464 address: '0.0.0.0' }", "9464 address: '::1' }", 1));
  EXPECT_OK(two("9464 } ranks: ALL", "9465 } ranks: ALL", 1));
  EXPECT_OK(two("9464 } ranks: ALL", "9466 } ranks: ALL", 2));
  EXPECT_OK(two("9464 }", "9464 address: '127.0.0.2' }", 1));
  EXPECT_OK(two("0 } ranks: ALL", "0 } ranks: ALL", 2));
}

}  // namespace
}  // namespace millrace
