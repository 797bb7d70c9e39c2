#include "io/transform/vocabulary_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/transform/transform_testing.h"

namespace millrace {

namespace {

using ::testing::HasSubstr;

class VocabularyTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<const Vocabulary>> load(const std::string& text,
                                                         int64_t other_ids = 0) {
    files_.put("/words", text);
    return Vocabulary::load(files_, "/words", other_ids);
  }
  MemoryFileSystem files_;
};

TEST_F(VocabularyTest, IdsAreLinesFromZero) {
  ASSERT_OK_AND_ASSIGN(const auto words, load("red\r\n\n17\n-3\nblue"));
  EXPECT_EQ(words->find("red"), 0);
  EXPECT_EQ(words->find(""), 1);
  EXPECT_EQ(words->find(int64_t{17}), 2);
  EXPECT_EQ(words->find(int64_t{-3}), 3);
  EXPECT_EQ(words->find("blue"), 4);
  EXPECT_EQ(words->find("green"), -1);
  EXPECT_EQ(words->find(int64_t{5}), -1);
}

TEST_F(VocabularyTest, AByteOrderMarkIsNotOfTheFirstWord) {
  ASSERT_OK_AND_ASSIGN(const auto words, load("\xef\xbb\xbfred\nblue\n"));
  EXPECT_EQ(words->find("red"), 0);
  EXPECT_EQ(words->find("blue"), 1);
}

TEST_F(VocabularyTest, OtherWordsHaveIdsBehindTheLines) {
  ASSERT_OK_AND_ASSIGN(const auto words, load("a\nb\n", 5));
  EXPECT_EQ(words->find("b"), 1);
  EXPECT_EQ(words->find("green"), 2 + static_cast<int64_t>(xxh3("green") % 5));
  EXPECT_EQ(words->find(int64_t{44}), words->find("44"));
}

TEST_F(VocabularyTest, FilesThatAreNone) {
  EXPECT_THAT(load(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/words has no lines")));
  EXPECT_THAT(load("a\nb\na\n"), StatusIs(absl::StatusCode::kDataLoss,
                                          HasSubstr("/words, line 3: \"a\" stands in line 1 too")));
  EXPECT_THAT(load(std::string("\xff\xfer\0e\0", 6)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/words: the text is UTF-16")));
  EXPECT_THAT(Vocabulary::load(files_, "/none", 0), StatusIs(absl::StatusCode::kNotFound));
}

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
