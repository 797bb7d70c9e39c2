#include "io/look/missing_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::Contains;

TEST(MissingText, HasTheTextsOfPandas) {
  for (const char* text : {"#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN", "-nan",
                           "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL", "NaN",
                           "None",   "n/a",      "nan",  "null",    "\\N",      "NAN",  "+nan"}) {
    EXPECT_TRUE(is_missing_text(text)) << text;
  }
  for (const char* text :
       {"", "0", "-", "?", "na", "none", "NAN1", "nano", "unknown", "NA NA NA"}) {
    EXPECT_FALSE(is_missing_text(text)) << text;
  }
}

TEST(MissingText, PlainOnesAreMissing) {
  EXPECT_THAT(plain_missing_texts(), Contains("NA"));
  for (const absl::string_view text : plain_missing_texts()) {
    EXPECT_TRUE(is_missing_text(text)) << text;
  }
}

TEST(MissingText, NotANumberInAnyCase) {
  EXPECT_TRUE(is_nan_text("nAn"));
  EXPECT_TRUE(is_nan_text("-NaN"));
  EXPECT_FALSE(is_nan_text("--nan"));
  EXPECT_FALSE(is_nan_text("NA"));
  EXPECT_FALSE(is_nan_text(""));
}

}  // namespace
}  // namespace millrace
