#include "proto/text_dialect.h"

#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the error of parsing a configuration.
std::string error_of(absl::string_view text) {
  JobConfig config;
  return std::string(parse_text(text, "job", &config).message());
}

TEST(TextDialectTest, AByteOrderMarkIsNoMistake) {
  EXPECT_EQ(error_of("\xEF\xBB\xBFtrain { seed: 3 }"), "");
  EXPECT_THAT(error_of("\xEF\xBB\xBFtrain { sed: 3 }"), HasSubstr("job:1:12: "));
}

TEST(TextDialectTest, CommentsOfOtherLanguages) {
  EXPECT_THAT(error_of("train {\n  // the seed\n  seed: 3\n}"),
              AllOf(HasSubstr("job:2:3: "), HasSubstr("; comments begin with #")));
  EXPECT_THAT(error_of("train { seed: 3 // the seed\n}"), HasSubstr("; comments begin with #"));
  EXPECT_THAT(error_of("train { seed: 3 /* why */ }"), HasSubstr("; comments begin with #"));
  EXPECT_THAT(error_of("run { output_dir: \"s3://x\" x: 1 }"), Not(HasSubstr("comments")));
}

TEST(TextDialectTest, Json) {
  EXPECT_THAT(error_of("{\"train\": {\"seed\": 3}}"),
              AllOf(HasSubstr("; this looks like JSON"), HasSubstr("train { seed: 1")));
  EXPECT_THAT(error_of(" [{}]"), HasSubstr("JSON"));
  for (const char* array : {"[1,2]", "[ \"a\" ]", "[]", "[\n  {}]", "[-1]"}) {
    EXPECT_THAT(error_of(array), HasSubstr("JSON")) << array;
  }
}

TEST(TextDialectTest, Yaml) {
  EXPECT_THAT(error_of("train:\n  seed: 3\n"), HasSubstr("; this looks like YAML"));
  EXPECT_THAT(error_of("---\nseed: 3\n"), HasSubstr("YAML"));
  EXPECT_THAT(error_of("# a list\nhooks:\n  - name: a\n"), HasSubstr("YAML"));
}

TEST(TextDialectTest, Data) {
  for (const char* data :
       {"user_id,click\n1,0\n", "\"a b\";\"c\"\n", "1\t0\n", "PAR1\x15\x04", "ORC\x11"}) {
    EXPECT_THAT(error_of(data), HasSubstr("; this is data, not a configuration: draft one"))
        << data;
  }
  for (const char* text : {"sed\n", "\t sed: 3, train {", "# a, b\nsed: 3"}) {
    EXPECT_THAT(error_of(text), Not(HasSubstr("data"))) << text;
  }
}

TEST(TextDialectTest, OtherEncodings) {
  EXPECT_THAT(error_of(absl::string_view("\xFF\xFEt\0r\0", 6)), HasSubstr("save it as UTF-8"));
}

TEST(TextDialectTest, MistakesInTextFormatGetNoHint) {
  for (const char* text : {"train { sed: 3 }", "train { seed: }", "train {", "train { seed:\n x }",
                           "run: {\n output_dir:\n 'a'\n x: 3 }"}) {
    EXPECT_THAT(error_of(text), AllOf(Not(HasSubstr("looks like")), Not(HasSubstr("comments"))));
  }
}

}  // namespace
}  // namespace millrace
