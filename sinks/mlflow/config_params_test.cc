#include "sinks/mlflow/config_params.h"

#include <string>

#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using Params = std::vector<std::pair<std::string, std::string>>;

Params params_of(const std::string& text, size_t most = 100) {
  JobConfig config;
  EXPECT_OK(parse_text(text, "the test", &config));
  return config_params(config, most);
}

TEST(ConfigParamsTest, FieldsAreTexts) {
  EXPECT_THAT(params_of(""), IsEmpty());
  EXPECT_THAT(
      params_of("train { train_data { batch_size: 512 } } run { report { jsonl: false } }"),
      ElementsAre(Pair("train.train_data.batch_size", "512"), Pair("run.report.jsonl", "false")));
  EXPECT_THAT(params_of("train { max_steps: 7 max_epochs: 2 }", 1),
              ElementsAre(Pair("train.max_steps", "7")));
}

TEST(ConfigParamsTest, TextsAreCutBetweenCharacters) {
  std::string text;
  for (size_t i = 0; i < kMostParamCharacters; ++i) text += "ü";
  const Params params = params_of("run { output_dir: \"" + text + "x\" }");
  EXPECT_THAT(params, ElementsAre(Pair("run.output_dir", text)));
}

}  // namespace
}  // namespace millrace
