#include "io/feature/text_ids.h"

#include <google/protobuf/text_format.h>

#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/transform/hash_functions.h"
#include "io/transform/transform_registry.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// The number of bytes of a text, `times` times.
class Length : public Transform {
 public:
  Length(Takes takes, int64_t times) : takes_(takes), times_(times) {}
  Takes takes() const override { return takes_; }
  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    const int64_t count = static_cast<int64_t>(input.column.strings.size());
    values->list.offsets = {0};
    const absl::Span<int64_t> ids = values->make_ids(times_ * count);
    for (int64_t i = 0; i < times_ * count; ++i) ids[i] = input.column.strings[i / times_].size();
    for (int64_t i = 1; i <= count; ++i) values->list.offsets.push_back(times_ * i);
    return absl::OkStatus();
  }

 private:
  const Takes takes_;
  const int64_t times_;
};
MILLRACE_REGISTER_TRANSFORM(text_length, "", [](const CustomConfig&) {
  return std::make_unique<Length>(Transform::Takes::kTextOrIntegers, 1);
});
MILLRACE_REGISTER_TRANSFORM(text_length_twice, "", [](const CustomConfig&) {
  return std::make_unique<Length>(Transform::Takes::kTextOrIntegers, 2);
});
MILLRACE_REGISTER_TRANSFORM(of_integers, "", [](const CustomConfig&) {
  return std::make_unique<Length>(Transform::Takes::kIntegers, 1);
});

class TextIdsTest : public testing::Test {
 protected:
  absl::StatusOr<std::optional<TextIds>> create(const std::string& features,
                                                absl::string_view table = "items") {
    TrainConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(features, &config)) << features;
    const std::vector<FeatureConfig> all(config.feature().begin(), config.feature().end());
    return TextIds::create(all, table, files_);
  }
  absl::StatusOr<std::vector<std::optional<int64_t>>> find(const std::string& features) {
    ASSIGN_OR_RETURN(const std::optional<TextIds> ids, create(features));
    if (!ids.has_value()) return absl::NotFoundError("no text");
    StringValues texts;
    for (const char* text : {"ring", "17", "book"}) texts.push_back(text);
    return ids->find(texts);
  }
  MemoryFileSystem files_;
};

TEST_F(TextIdsTest, TextsAreHashedAsByTheFeature) {
  ASSERT_OK_AND_ASSIGN(const auto ids,
                       find("feature { name: 'item' table: 'items' transform { hash { seed: 3 } } "
                            "          transform { modulo { divisor: 1000 } } } "
                            "feature { name: 'items' kind: DENSE } "
                            "feature { name: 'user' table: 'users' transform { hash {} } }"));
  EXPECT_THAT(ids, ElementsAre(Optional(hash_bytes(HashTransform::XXH3, "ring", 3) % 1000),
                               Optional(hash_bytes(HashTransform::XXH3, "17", 3) % 1000),
                               Optional(hash_bytes(HashTransform::XXH3, "book", 3) % 1000)));
}

TEST_F(TextIdsTest, WordsThatTheVocabularyLacksHaveNone) {
  files_.put("words.txt", "lamp\nbook\nring\n");
  for (const char* other : {"", " other_ids: 5"}) {
    ASSERT_OK_AND_ASSIGN(const auto ids,
                         find(std::string("feature { name: 'items' transform { vocabulary { path: "
                                          "'words.txt'") +
                              other + " } } }"));
    EXPECT_THAT(ids, ElementsAre(Optional(2), std::nullopt, Optional(1)));
  }
  EXPECT_THAT(find("feature { name: 'items' transform { vocabulary { path: 'none.txt' } } }"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.txt")));
}

TEST_F(TextIdsTest, FeaturesOfIntegersMakeNone) {
  ASSERT_OK_AND_ASSIGN(const auto none,
                       create("feature { name: 'items' } feature { name: 'item' table: 'items' "
                              "transform { modulo { divisor: 7 } } }"));
  EXPECT_FALSE(none.has_value());
}

TEST_F(TextIdsTest, ATextThatIsAskedForIsNotMissing) {
  ASSERT_OK_AND_ASSIGN(
      const auto ids,
      find("feature { name: 'a' table: 'items' transform { missing_values { text: 'ring' } } "
           "          transform { hash {} } } "
           "feature { name: 'b' table: 'items' transform { hash {} } }"));
  EXPECT_THAT(ids[0], Optional(hash_bytes(HashTransform::XXH3, "ring", 0)));
  ASSERT_OK_AND_ASSIGN(const auto none,
                       create("feature { name: 'items' transform { is_missing {} } }"));
  EXPECT_FALSE(none.has_value());
}

TEST_F(TextIdsTest, RegisteredTransformsOfTextMakeIds) {
  const auto feature = [](const std::string& name) {
    return "feature { name: 'items' transform { custom { name: '" + name + "' } } }";
  };
  ASSERT_OK_AND_ASSIGN(const auto ids, find(feature("text_length")));
  EXPECT_THAT(ids, ElementsAre(Optional(4), Optional(2), Optional(4)));
  ASSERT_OK_AND_ASSIGN(const auto none, create(feature("of_integers")));
  EXPECT_FALSE(none.has_value());
  EXPECT_THAT(
      find(feature("text_length_twice")),
      StatusIs(kInvalid, HasSubstr("feature items makes several ids of the text \"ring\"")));
  EXPECT_THAT(create(feature("text_lenght")),
              StatusIs(kInvalid, AllOf(HasSubstr("feature \"items\""),
                                       HasSubstr("did you mean \"text_length\"?"))));
}

TEST_F(TextIdsTest, FeaturesThatDifferAndSeveralIdsAreRefused) {
  EXPECT_THAT(create("feature { name: 'a' table: 'items' transform { hash {} } } "
                     "feature { name: 'b' table: 'items' transform { hash { seed: 1 } } }"),
              StatusIs(kInvalid, AllOf(HasSubstr("table items"), HasSubstr("features a and b"))));
  EXPECT_OK(
      create("feature { name: 'a' table: 'items' transform { hash {} } } "
             "feature { name: 'b' table: 'items' transform { hash {} } }"));
  EXPECT_THAT(
      create("feature { name: 'a' table: 'items' transform { multi_hash { divisor: 9 } } }"),
      StatusIs(kInvalid, AllOf(HasSubstr("feature a"), HasSubstr("multi_hash"))));
}

}  // namespace
}  // namespace millrace
