// Tests that Prometheus scrapes a job, and that promtool accepts its page and the alarms.
// MILLRACE_PROMETHEUS names the program, which `./bazelw test_setup` provides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/program_test.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Json = nlohmann::json;

constexpr char kJob[] = R"(
  train {
    generated_data { directory: "data" rows: 400 eval_rows: 100 }
    train_data { batch_size: 50 }
    feature { name: "label" kind: LABEL }
    feature { name: "i{1..13}" kind: DENSE default_value: 0 }
    feature { name: "c{1..26}" }
    table { name: "c{1..26}" dim: 4 }
    model { name: "deepfm" [millrace.deepfm] { hidden: [16] } }
    max_epochs: 0
    max_seconds: 50
  }
  run {
    output_dir: "out"
    report { when { every_steps: 2 } }
    sink { prometheus { port: 0 } }
  })";

class PrometheusTest : public ProgramTest {
 protected:
  void SetUp() override {
    if (std::getenv("MILLRACE_PROMETHEUS") == nullptr) {
      GTEST_SKIP() << skip_not_provided("MILLRACE_PROMETHEUS", "./bazelw test_setup provides it");
    }
    prometheus_ = std::getenv("MILLRACE_PROMETHEUS");
    promtool_ = std::filesystem::path(prometheus_).replace_filename("promtool");
  }

  std::string prometheus_;
  std::string promtool_;
  const std::string rules_ = std::filesystem::absolute("docs/prometheus_rules.yml");
};

TEST_F(PrometheusTest, PrometheusScrapesAJob) {
  write("job.textproto", kJob);
  const ProgramResult result = run_program(
      {"/usr/bin/env", "python3", std::filesystem::absolute("tests/e2e/scrape_prometheus.py"),
       prometheus_, rules_, millrace_path(), "train", "job.textproto"},
      {.directory = path(""), .timeout = std::chrono::seconds(55)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json shown = Json::parse(result.out);
  EXPECT_EQ(shown["check_exit_code"], 0) << shown["check_output"];
  EXPECT_EQ(shown["check_output"], "") << "no advice about names";
  EXPECT_GT(shown["steps"][1], shown["steps"][0]);
  const std::string page = shown["page"];
  EXPECT_THAT(page, HasSubstr("millrace_metric{set=\"train\",metric=\"auc\"}"));
  EXPECT_THAT(page, HasSubstr("millrace_resident_memory_bytes "));
  EXPECT_THAT(page, HasSubstr("millrace_start_timestamp_seconds "));
  EXPECT_THAT(page, ContainsRegex("millrace_rows_per_second [1-9]"));
  EXPECT_THAT(shown["alarms"], UnorderedElementsAre("MillraceDown", "MillraceStale",
                                                    "MillraceLossJump", "MillraceRefusedSteps"));
}

TEST_F(PrometheusTest, AlarmsFireWhenTheyMustAndOnlyThen) {
  std::filesystem::copy(rules_, path("prometheus_rules.yml"));
  std::filesystem::copy("tests/e2e/prometheus_rules_test.yml", path("rules_test.yml"));
  for (const char* command : {"check", "test"}) {
    const std::string file =
        command == std::string("check") ? "prometheus_rules.yml" : "rules_test.yml";
    const ProgramResult result =
        run_program({promtool_, command, "rules", file}, {.directory = path("")});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  }
}

}  // namespace
}  // namespace millrace
