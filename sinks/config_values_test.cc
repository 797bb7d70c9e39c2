#include "sinks/config_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines(const std::string& text, size_t most = 100) {
  JobConfig config;
  EXPECT_OK(parse_text(text, "the test", &config));
  std::vector<std::string> lines;
  for (const ConfigValue& value : config_values(config, most)) {
    lines.push_back(value.path + "=" + to_text(value));
  }
  return lines;
}

TEST(ConfigValuesTest, ScalarsByTheirPath) {
  EXPECT_THAT(lines(""), IsEmpty());
  EXPECT_THAT(lines("train { train_data { batch_size: 512 } table { name: \"a\" dim: 4 } "
                    "        table { name: \"b\" } max_steps: 7 }"
                    "run { output_dir: \"out\" instruction_set: AVX2 report { tensorboard: false }"
                    "      plugins { directory: \"/a\" directory: \"/b\" } }"),
              ElementsAre("train.train_data.batch_size=512", "train.max_steps=7",
                          "run.output_dir=out", "run.report.tensorboard=false",
                          "run.instruction_set=AVX2", "run.plugins.directory=[/a, /b]",
                          "train.table.0.name=a", "train.table.0.dim=4", "train.table.1.name=b"));
}

TEST(ConfigValuesTest, FieldsInListsAreOmittedFirst) {
  EXPECT_THAT(lines("train { table { name: \"a\" dim: 4 } max_steps: 7 }", 2),
              ElementsAre("train.max_steps=7", "train.table.0.name=a"));
}

TEST(ConfigValuesTest, ValuesHaveTypes) {
  PrometheusSinkConfig prometheus;
  prometheus.set_port(0);
  EXPECT_THAT(config_values(prometheus, 1), ElementsAre(ConfigValue{"port", int64_t{0}}));
  ReportConfig report;
  report.set_jsonl(false);
  EXPECT_THAT(config_values(report, 1), ElementsAre(ConfigValue{"jsonl", false}));
}

}  // namespace
}  // namespace millrace
