#include "io/format/text_numbers.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

// With digits behind the text, which must not count.
template <typename T>
std::optional<T> parsed(bool (*parse)(const char*, int64_t, T*), const std::string& text) {
  const std::string padded = text + "9999999999999999";
  T value{};
  if (!parse(padded.data(), static_cast<int64_t>(text.size()), &value)) return std::nullopt;
  return value;
}

TEST(TextNumbersTest, Integers) {
  for (int length = 1; length <= 19; ++length) {
    for (int trial = 0; trial < 200; ++trial) {
      int64_t number = static_cast<int64_t>(philox64(1, length, trial) >> 1);
      for (int i = length; i < 19; ++i) number /= 10;
      for (const int64_t value : {number, -number}) {
        ASSERT_EQ(parsed(parse_int64, absl::StrCat(value)), value);
        ASSERT_EQ(parsed(parse_double, absl::StrCat(value)), static_cast<double>(value));
      }
    }
  }
  EXPECT_EQ(parsed(parse_int64, "-0"), 0);
  EXPECT_EQ(parsed(parse_int64, "000000000000000000007"), 7);
  EXPECT_EQ(parsed(parse_int64, "9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parsed(parse_int64, "-9223372036854775808"), std::numeric_limits<int64_t>::min());
}

TEST(TextNumbersTest, WhatIsNoInteger) {
  for (const std::string text :
       {"", "-", "--1", "+1", "1.", "1 ", " 1", "0x1", "1e3", "/", ":", "9223372036854775808",
        "-9223372036854775809", "99999999999999999999999", "1234567a", "12345678/", "1234567-8"}) {
    EXPECT_EQ(parsed(parse_int64, text), std::nullopt) << text;
  }
  // Every byte at every place.
  for (int byte = 0; byte < 256; ++byte) {
    for (int place = 0; place < 20; ++place) {
      std::string text(20, '1');
      text[0] = '0';
      text[place] = static_cast<char>(byte);
      const bool good =
          (byte >= '0' && byte <= '9' && (place > 0 || byte == '0')) || (place == 0 && byte == '-');
      if (place == 0 && byte > '0' && byte <= '9') continue;  // 20 digits: too large for some
      ASSERT_EQ(parsed(parse_int64, text).has_value(), good) << byte << " " << place;
      ASSERT_EQ(parsed(parse_int64, text.substr(4)).has_value(),
                (place < 4) || (byte >= '0' && byte <= '9') || (place == 4 && byte == '-'))
          << byte << " " << place;
    }
  }
}

TEST(TextNumbersTest, Hexadecimal) {
  for (int length = 1; length <= 16; ++length) {
    for (int trial = 0; trial < 200; ++trial) {
      const uint64_t number = philox64(2, length, trial) >> (64 - 4 * length);
      ASSERT_EQ(parsed(parse_hexadecimal, absl::StrFormat("%0*x", length, number)), number);
      ASSERT_EQ(parsed(parse_hexadecimal, absl::StrFormat("%0*X", length, number)), number);
    }
  }
  EXPECT_EQ(parsed(parse_hexadecimal, ""), std::nullopt);
  EXPECT_EQ(parsed(parse_hexadecimal, "12345678123456781"), std::nullopt);
  for (int byte = 0; byte < 256; ++byte) {
    const bool digit = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
                       (byte >= 'A' && byte <= 'F');
    for (int length = 1; length <= 16; ++length) {
      for (int place = 0; place < length; ++place) {
        std::string text(length, 'f');
        text[place] = static_cast<char>(byte);
        ASSERT_EQ(parsed(parse_hexadecimal, text).has_value(), digit) << byte << " " << text;
      }
    }
  }
}

TEST(TextNumbersTest, DoublesAreTheNearest) {
  for (int trial = 0; trial < 2000; ++trial) {
    const double number = std::ldexp(static_cast<double>(philox64(3, 0, trial)),
                                     static_cast<int>(philox64(3, 1, trial) % 200) - 100);
    for (const int digits : {3, 9, 17}) {
      const std::string text = absl::StrFormat("%.*g", digits, number);
      ASSERT_EQ(parsed(parse_double, text), std::strtod(text.c_str(), nullptr)) << text;
    }
  }
  EXPECT_EQ(parsed(parse_double, "-12.5"), -12.5);
  EXPECT_EQ(parsed(parse_double, "1e400"), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(parsed(parse_double, "nan").value()));
  EXPECT_TRUE(std::signbit(parsed(parse_double, "-0").value()));
  for (const std::string text : {"", "-", ".", "1,5", "1.5x", "much", "1 2"}) {
    EXPECT_EQ(parsed(parse_double, text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace millrace
