#include "io/transform/vocabulary/vocabulary.h"

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

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

}  // namespace
}  // namespace millrace
