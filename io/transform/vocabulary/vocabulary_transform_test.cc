#include "io/transform/vocabulary/vocabulary_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

class VocabularyTransformTest : public ::testing::Test {
 protected:
  VocabularyTransformTest() {
    EXPECT_OK(write_file_atomically(files_, "words", "red\n12\nblue\n"));
  }

  std::unique_ptr<Transform> prepared(int64_t other_ids) {
    VocabularyTransform config;
    config.set_path("words");
    config.set_other_ids(other_ids);
    std::unique_ptr<Transform> transform = make_vocabulary_transform(config);
    EXPECT_OK(transform->prepare(files_));
    return transform;
  }

  MemoryFileSystem files_;
};

TEST_F(VocabularyTransformTest, TextsBecomeTheirLines) {
  const FeatureValues values = apply_to_texts(*prepared(10), {"blue", "green", "red"});
  EXPECT_TRUE(values.are_ids);
  const int64_t other = 3 + static_cast<int64_t>(xxh3("green", 0) % 10);
  EXPECT_THAT(values.list.values, ElementsAre(2, other, 0));
}

TEST_F(VocabularyTransformTest, OtherWordsAreLeftOutWithoutIdsForThem) {
  const FeatureValues values = apply_to_texts(*prepared(0), {"blue", "green", "red"});
  EXPECT_THAT(values.list.values, ElementsAre(2, 0));
  EXPECT_THAT(values.list.offsets, ElementsAre(0, 1, 1, 2));
}

TEST_F(VocabularyTransformTest, IntegersAreWrittenInDecimal) {
  EXPECT_THAT(apply_to_ids(*prepared(0), id_column({12})).list.values, ElementsAre(1));
}

TEST_F(VocabularyTransformTest, AMissingFileIsAnError) {
  VocabularyTransform config;
  config.set_path("nowhere");
  EXPECT_THAT(make_vocabulary_transform(config)->prepare(files_),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace millrace
