#include "proto/text_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/config.pb.h"
#include "proto/model_configs.pb.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TextError error_of(absl::string_view text) {
  JobConfig config;
  const std::optional<TextError> error = parse_text_strictly(text, &config);
  return error.value_or(TextError{-1, -1, "no error"});
}

TEST(TextErrorTest, CorrectTextHasNone) {
  EXPECT_EQ(error_of("").what, "no error");
  EXPECT_EQ(error_of("train { seed: 3 model { [millrace.deepfm] { hidden: [8, 4] } } }").what,
            "no error");
}

TEST(TextErrorTest, PlacesCountFromOne) {
  const TextError error = error_of("train {\n  batch_size: 3\n}");
  EXPECT_EQ(error.line, 2);
  EXPECT_EQ(error.column, 13);
}

TEST(TextErrorTest, UnknownFieldNamesTheNearestOfItsMessage) {
  EXPECT_EQ(error_of("train { train_data { bach_size: 3 } }").what,
            "DataConfig has no field \"bach_size\"; did you mean \"batch_size\"?");
  EXPECT_EQ(error_of("trian { }").what,
            "JobConfig has no field \"trian\"; did you mean \"train\"?");
  EXPECT_THAT(error_of("run { zzz: 1 }").what, HasSubstr("known: output_dir, threads, read"));
}

TEST(TextErrorTest, AFieldOfAnOuterMessageHintsAtAMissingBrace) {
  EXPECT_THAT(error_of("train {\n default_table { dim: 8\n model { name: \"mlp\" } }").what,
              AllOf(HasSubstr("TableConfig has no field \"model\""),
                    HasSubstr("; TrainConfig around it has one: is a } missing before?")));
  EXPECT_THAT(error_of("train { optimizer { schedule { cosine { unit: EPOCHS } } } }").what,
              HasSubstr("ScheduleConfig around it has one"));
  EXPECT_THAT(error_of("train { feature { max_epochz: 3 } }").what,
              testing::Not(HasSubstr("missing before")));
}

TEST(TextErrorTest, TheEndOfTheTextNamesTheOpenMessage) {
  EXPECT_EQ(error_of("train {").what,
            "the text ends within \"train\", which begins at line 1: a } is missing");
  EXPECT_EQ(
      error_of("run {}\ntrain {  # {\n model {\n name: \"{\"\n [millrace.deepfm] {}\n }\n").what,
      "the text ends within \"train\", which begins at line 2: a } is missing");
  EXPECT_THAT(error_of("train {\n model {\n [millrace.deepfm] {\n").what,
              HasSubstr("\"[millrace.deepfm]\", which begins at line 3: 3 } are missing"));
  EXPECT_THAT(error_of("train { feature: [{ name: \"a\" }, { name: \"b\"").what,
              HasSubstr("an entry of a list, which begins at line 1: 2 } are missing"));
}

TEST(TextErrorTest, UnknownEnumValueNamesTheNearest) {
  EXPECT_EQ(error_of("train { feature { kind: DENS } }").what,
            "no value \"DENS\" of field \"kind\"; did you mean \"DENSE\"?");
  EXPECT_EQ(
      error_of("train { feature { pooling: AVERAGE } }").what,
      "no value \"AVERAGE\" of field \"pooling\"; known: SUM, MEAN, NONE, SQUARE_ROOT_N, FIRST_N");
  EXPECT_EQ(
      error_of("train { train_data { format: 77 } }").what,
      "no value \"77\" of field \"format\"; known: AUTO, ORC, PARQUET, CSV, TFRECORD, LIBSVM");
  // Values of two messages.
  EXPECT_EQ(error_of("train { table { initializer { xavier { distribution: 7 } } } }").what,
            "no value \"7\" of field \"distribution\"; known: UNIFORM, NORMAL");
}

TEST(TextErrorTest, EnumValueInQuotesNamesTheValues) {
  EXPECT_EQ(error_of("run { report { span: [\"EPOCH\"] } }").what,
            "value \"EPOCH\" of field \"span\" is in quotes; write it without them; known: WINDOW, "
            "EPOCH, TOTAL, MOVING");
  EXPECT_THAT(error_of("# EPOCH\nrun {\n\treport {\tspan: [WINDOW, 'EPOCH'] } }").what,
              HasSubstr("value 'EPOCH' of field \"span\" is in quotes"));
  EXPECT_THAT(error_of("train { feature { name: \"SUM\" pooling: \"SUM\" } }").what,
              HasSubstr("value \"SUM\" of field \"pooling\" is in quotes; write it without them; "
                        "known: SUM, MEAN"));
}

TEST(TextErrorTest, UnknownExtensionSaysWhatToLink) {
  EXPECT_THAT(error_of("train { model { [millrace.depfm] { } } }").what,
              AllOf(HasSubstr("ModelConfig has no extension [millrace.depfm]; did you mean "
                              "\"millrace.deepfm\"? An extension is known only"),
                    HasSubstr("deps")));
  EXPECT_THAT(error_of("train { model { [me.my_wonderful_network] { } } }").what,
              AllOf(HasSubstr("known: millrace.deepfm, millrace.dlrm"), HasSubstr("deps")));
  EXPECT_THAT(error_of("run { hooks { [millrace.deepfm] { } } }").what,
              HasSubstr("HookConfig has no extension [millrace.deepfm]"))
      << "an extension of another message";
}

TEST(TextErrorTest, OtherMistakesKeepTheirWords) {
  EXPECT_THAT(error_of("train { seed: 1 seed: 2 }").what,
              HasSubstr("\"seed\" is specified multiple"));
  EXPECT_THAT(error_of("train { optimizer { sgd {} adam {} } }").what, HasSubstr("\"adam\""));
  EXPECT_THAT(error_of("train { seed: \"x\" }").what, HasSubstr("Expected integer"));
  EXPECT_THAT(error_of("train { seed: -1 }").what, HasSubstr("Expected integer"));
  EXPECT_THAT(error_of("train { max_steps: 99999999999999999999 }").what,
              HasSubstr("out of range"));
  EXPECT_THAT(error_of("train }").what, HasSubstr("}"));
  EXPECT_NE(error_of("train { model { name: \"x } }").what, "no error");
}

TEST(TextErrorTest, AnyBytesGiveAnErrorOrAMessage) {
  const std::string text = "train { feature { name: \"c{1..3}\" kind: SPARSE } seed: 3 }";
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'\0', '{', '}', '"', '[', '\xff', '#'}) {
      std::string changed = text;
      changed[i] = c;
      error_of(changed);  // must not crash
    }
    error_of(absl::string_view(text).substr(0, i));
  }
}

}  // namespace
}  // namespace millrace
