#include "checkpoint/bank/model_bank_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TrainConfig train(const std::string& text) {
  TrainConfig config;
  const std::string whole = "table { name: \"items\" } table { name: \"users\" } " + text;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(whole, &config)) << text;
  return config;
}

// Returns a bank of one source.
TrainConfig source(const std::string& text) {
  return train("model_bank { source { path: \"a\" " + text + " } }");
}

TEST(ModelBankCheckTest, AcceptsWhatMakesSense) {
  for (const char* text :
       {"", "parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER, PROGRESS, CURSOR, HOOKS]", "parts: HOOKS",
        "load: \"*\" exclude: \"a\" allow_missing: \"b@c\" clear_rows: \"*\" optional: true",
        "rename { from: \"a.*\" to: \"b.*.c\" } rename { from: \"x\" to: \"y\" }",
        "dynamic: true parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER]",
        "rows { table: \"items\" delimiter: \",\" weights: [\"a\", \"b\"] } dynamic: true"}) {
    EXPECT_OK(check_model_bank(source(text))) << text;
  }
  EXPECT_OK(check_model_bank(train("")));
  EXPECT_OK(check_model_bank(train("initialize_from: \"x\"")));
  EXPECT_OK(check_model_bank(
      train("model_bank { source { path: \"a\" dynamic: true } reload { every_steps: 3 } }")));
}

TEST(ModelBankCheckTest, NamesSourceAndField) {
  const std::pair<const char*, const char*> cases[] = {
      {"parts: SLOTS", "SLOTS without WEIGHTS"},
      {"parts: CURSOR", "CURSOR without PROGRESS"},
      {"parts: WEIGHTS parts: WEIGHTS", "WEIGHTS more than once"},
      {"parts: PROGRESS dynamic: true", "a dynamic source gives no PROGRESS"},
      {"parts: HOOKS dynamic: true", "gives no HOOKS"},
      {"load: \"\"", "load has an empty pattern"},
      {"exclude: \"\"", "exclude has an empty pattern"},
      {"clear_rows: \"\"", "clear_rows has an empty"},
      {"allow_missing: \"\"", "allow_missing has an empty"},
      {"rename { from: \"a\" }", "needs both from and to"},
      {"rename { from: \"a*\" to: \"b\" }", "both must hold one *, or neither"},
      {"rename { from: \"*a*\" to: \"*b*\" }", "both must hold one *"},
      {"rows { table: \"item\" }", "no table \"item\"; did you mean \"items\"?"},
      {"rows { table: \"items\" } parts: WEIGHTS", "no parts, load, exclude or rename"},
      {"rows { table: \"items\" ids: \"\" }", "ids is empty"},
      {"rows { table: \"items\" weights: \"\" }", "weights has an empty"},
      {"rows { table: \"items\" delimiter: \"ab\" }", "must be one character"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(check_model_bank(source(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

TEST(ModelBankCheckTest, SourcesTogether) {
  const std::pair<const char*, const char*> cases[] = {
      {"model_bank {}", "it has no source"},
      {"model_bank {} initialize_from: \"a\"", "both given"},
      {"initialize_from: \"\"", "initialize_from is empty"},
      {"model_bank { source {} }", "train.model_bank.source[0]: path is missing"},
      {"model_bank { source { path: \"a\" } reload { at_start: true } }", "no source is dynamic"},
      {"model_bank { source { path: \"a\" dynamic: true } reload { at_end: true } }", "too late"},
      {"model_bank { source { path: \"a\" parts: PROGRESS } "
       "source { path: \"b\" parts: [WEIGHTS, PROGRESS] } }",
       "source[1]: source[0] gives PROGRESS already"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(check_model_bank(train(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

TEST(ModelBankCheckTest, TheShortFormIsWeightsAlone) {
  const ModelBankConfig bank = model_bank_of(train("initialize_from: \"x\""));
  ASSERT_EQ(bank.source_size(), 1);
  EXPECT_EQ(bank.source(0).path(), "x");
  EXPECT_TRUE(gives(bank.source(0), SourceConfig::WEIGHTS));
  EXPECT_FALSE(gives(bank.source(0), SourceConfig::SLOTS));
  EXPECT_EQ(model_bank_of(train("")).source_size(), 0);
  EXPECT_TRUE(gives(source("").model_bank().source(0), SourceConfig::SLOTS));
  EXPECT_FALSE(gives(source("").model_bank().source(0), SourceConfig::HOOKS));
  EXPECT_FALSE(
      gives(source("rows { table: \"items\" }").model_bank().source(0), SourceConfig::SLOTS));
}

TEST(ModelBankCheckTest, OfWeightsAloneNothingThatOnlyTrainingNeedsIsLeft) {
  const ModelBankConfig bank = weights_alone(model_bank_of(train(
      "model_bank { "
      "source { path: \"a\" load: [\"fc.*\", \"fc.*@m\"] exclude: \"b@v\" allow_missing: \"c\" } "
      "source { path: \"state\" parts: [PROGRESS, HOOKS] } "
      "source { path: \"slots\" load: \"items@m\" } "
      "source { path: \"b\" rename { from: \"x@m\" to: \"y@m\" } rename { from: \"x\" to: \"y\" } "
      "} "
      "source { path: \"rows\" rows { table: \"items\" } } }")));
  ASSERT_EQ(bank.source_size(), 3);
  EXPECT_EQ(bank.source(0).ShortDebugString(), "path: \"a\" parts: WEIGHTS load: \"fc.*\"");
  EXPECT_EQ(bank.source(1).ShortDebugString(),
            "path: \"b\" parts: WEIGHTS rename { from: \"x\" to: \"y\" }");
  EXPECT_EQ(bank.source(2).ShortDebugString(), "path: \"rows\" rows { table: \"items\" }");
}

}  // namespace
}  // namespace millrace
