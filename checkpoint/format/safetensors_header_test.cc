#include "checkpoint/format/safetensors_header.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ParseHeaderTest, ReadsTensorsAndMetadata) {
  ASSERT_OK_AND_ASSIGN(const SafetensorsHeader header,
                       parse_safetensors_header(
                           R"({"b":{"shape":[2,3],"dtype":"F32","data_offsets":[8,32]},
          "__metadata__":{"k":"v","":""},
          "a":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}   )",
                           32));
  ASSERT_EQ(header.tensors.size(), 2u);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].type, TensorType::kI64);
  EXPECT_THAT(header.tensors[0].shape, IsEmpty());
  EXPECT_EQ(header.tensors[1].name, "b");
  EXPECT_THAT(header.tensors[1].shape, ElementsAre(2, 3));
  EXPECT_EQ(header.tensors[1].begin, 8);
  EXPECT_EQ(header.tensors[1].size_bytes(), 24);
  EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"", ""}, {"k", "v"}}));
}

TEST(ParseHeaderTest, TensorsWithoutElementsTakeNoPlace) {
  EXPECT_OK(parse_safetensors_header("{}", 0));
  EXPECT_OK(parse_safetensors_header(
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
          "a":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]},
          "c":{"dtype":"F32","shape":[0],"data_offsets":[1,1]}})",
      1));
}

struct BadHeader {
  const char* name;
  std::string text;
  int64_t data_bytes;
  const char* error;
};

class BadHeaderTest : public testing::TestWithParam<BadHeader> {};

TEST_P(BadHeaderTest, IsRejected) {
  EXPECT_THAT(parse_safetensors_header(GetParam().text, GetParam().data_bytes),
              StatusIs(kDataLoss, HasSubstr(GetParam().error)));
}

// Returns a header of a tensor of one byte, with the given name (as JSON) and fields.
std::string one(const std::string& name, const std::string& fields) {
  return absl::StrCat("{\"", name, "\":{", fields, "}}");
}
const char kU8[] = R"("dtype":"U8","shape":[1],"data_offsets":[0,1])";

std::string with_shape(const std::string& shape, int64_t end) {
  return one("a",
             absl::StrCat(R"("dtype":"U8","shape":)", shape, R"(,"data_offsets":[0,)", end, "]"));
}

std::string name_of(const testing::TestParamInfo<BadHeader>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Text, BadHeaderTest,
    testing::Values(BadHeader{"Empty", "", 0, "does not start with {"},
                    BadHeader{"Space", " {}", 0, "does not start with {"},
                    BadHeader{"ByteOrderMark", "\xef\xbb\xbf{}", 0, "does not start with {"},
                    BadHeader{"List", "[]", 0, "does not start with {"},
                    BadHeader{"Open", "{", 0, "not JSON"},
                    BadHeader{"Trailing", "{}x", 0, "not JSON"},
                    BadHeader{"TwoValues", "{}{}", 0, "not JSON"},
                    BadHeader{"TrailingNul", std::string("{}\0", 3), 0, "holds NUL"},
                    BadHeader{"NulAndMore", std::string("{}\0x", 4), 0, "holds NUL"},
                    BadHeader{"Comment", "{/* */}", 0, "not JSON"},
                    BadHeader{"NotUtf8", "{\"\xff\":{}}", 0, "not JSON"},
                    BadHeader{"LoneSurrogate", R"({"\ud800":{}})", 0, "not JSON"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Names, BadHeaderTest,
    testing::Values(BadHeader{"Twice", absl::StrCat(R"({"a":{)", kU8, R"(},"a":{)", kU8, "}}"), 1,
                              "two entries named \"a\""},
                    BadHeader{"TwiceEscaped",
                              absl::StrCat(R"({"a":{)", kU8, R"(},"\u0061":{)", kU8, "}}"), 1,
                              "two entries named \"a\""},
                    BadHeader{"Empty", one("", kU8), 1, "tensor name \"\" is empty"},
                    BadHeader{"Nul", one("a\\u0000b", kU8), 1, "holds NUL"},
                    BadHeader{"DotDot", one("a/../b", kU8), 1, "holds \"..\""},
                    BadHeader{"Slash", one("/etc/passwd", kU8), 1, "starts with a slash"},
                    BadHeader{"SlashEscaped", one("\\/etc", kU8), 1, "starts with a slash"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Fields, BadHeaderTest,
    testing::Values(
        BadHeader{"Unknown", one("a", absl::StrCat(kU8, R"(,"extra":1)")), 1,
                  "unknown field \"extra\""},
        BadHeader{"Twice", one("a", absl::StrCat(kU8, R"(,"dtype":"U8")")), 1,
                  "field \"dtype\" twice"},
        BadHeader{"Missing", one("a", R"("dtype":"U8","shape":[1])"), 1, "are needed"},
        BadHeader{"None", one("a", ""), 0, "are needed"},
        BadHeader{"TypeUnknown", one("a", R"("dtype":"F33","shape":[1],"data_offsets":[0,1])"), 1,
                  "unknown dtype \"F33\"; did you mean \"F32\"?"},
        BadHeader{"TypeCase", one("a", R"("dtype":"u8","shape":[1],"data_offsets":[0,1])"), 1,
                  "unknown dtype \"u8\""},
        BadHeader{"TypeNumber", one("a", R"("dtype":8)"), 1,
                  "a number where none may be, at \"a\""},
        BadHeader{"ShapeText", one("a", R"("shape":"1")"), 1, "a text where none may be"},
        BadHeader{"OffsetsThree", one("a", R"("data_offsets":[0,1,2])"), 1, "has 3 numbers"},
        BadHeader{"OffsetsNone", one("a", R"("data_offsets":[])"), 1, "has 0 numbers"},
        BadHeader{"TensorIsNull", R"({"a":null})", 0, "null where none may be"},
        BadHeader{"TensorIsText", R"({"a":"x"})", 0, "a text where none may be"},
        BadHeader{"TensorIsList", R"({"a":[]})", 0, "a list where none may be"},
        BadHeader{"FieldIsObject", one("a", R"("dtype":{})"), 0, "an object where none may be"},
        BadHeader{"FieldIsTrue", one("a", R"("dtype":true)"), 0, "a boolean where none may be"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Numbers, BadHeaderTest,
    testing::Values(
        BadHeader{"Negative", with_shape("[-1]", 1), 1, "a negative number"},
        BadHeader{"MinusZero", with_shape("[-0]", 0), 0, "a negative number"},
        BadHeader{"Fraction", with_shape("[1.0]", 1), 1, "a fraction"},
        BadHeader{"Exponent", with_shape("[1e0]", 1), 1, "a fraction"},
        BadHeader{"BeyondInt64", with_shape("[9223372036854775808]", 1), 1, "is too large"},
        BadHeader{"BeyondUint64", with_shape("[18446744073709551616]", 1), 1, "a fraction"},
        BadHeader{"Overflow", with_shape("[4294967296,4294967296]", 0), 0, "shape overflows"},
        BadHeader{"OverflowHidden", with_shape("[0,4294967296,4294967296]", 0), 0,
                  "shape overflows"},
        BadHeader{"RankNine", with_shape("[1,1,1,1,1,1,1,1,1]", 1), 1, "more than 8 dimensions"},
        BadHeader{"NestedList", with_shape("[[1]]", 1), 1, "where none may be"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Places, BadHeaderTest,
    testing::Values(
        BadHeader{"TooFew", one("a", R"("dtype":"U8","shape":[2],"data_offsets":[0,1])"), 1,
                  "data_offsets 0 to 1 for 2 bytes of [2] U8"},
        BadHeader{"Backwards", one("a", R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"), 1,
                  "data_offsets 1 to 0"},
        BadHeader{"Start", one("a", R"("dtype":"U8","shape":[1],"data_offsets":[1,2])"), 2,
                  "starts at 1 where 0 is due: a gap or an overlap"},
        BadHeader{"Gap", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                         "b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                  3, "a gap"},
        BadHeader{"Overlap", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
                             "b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                  3, "an overlap"},
        BadHeader{"SamePlace", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                               "b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                  1, "an overlap"},
        BadHeader{"EmptyInside", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
                                 "b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})",
                  2, "starts at 1 where 2 is due"},
        BadHeader{"TrailingBytes", one("a", kU8), 2, "take 1 bytes, but 2 bytes follow"},
        BadHeader{"MissingBytes", one("a", kU8), 0, "take 1 bytes, but 0 bytes follow"},
        BadHeader{"NoTensors", "{}", 1, "take 0 bytes, but 1 bytes follow"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Metadata, BadHeaderTest,
    testing::Values(
        BadHeader{"KeyTwice", R"({"__metadata__":{"a":"1","\u0061":"2"}})", 0,
                  "metadata key \"a\" twice"},
        BadHeader{"Twice", R"({"__metadata__":{},"__metadata__":{}})", 0, "two entries"},
        BadHeader{"Number", R"({"__metadata__":{"a":1}})", 0, "a number where none may be"},
        BadHeader{"Nested", R"({"__metadata__":{"a":{}}})", 0, "an object where none may be"},
        BadHeader{"Text", R"({"__metadata__":"a"})", 0, "a text where none may be"}),
    name_of);

TEST(ParseHeaderTest, DeepNestingEndsAtOnce) {
  for (const char* open : {"[", "{\"a\":", "{\"__metadata__\":{\"a\":"}) {
    std::string text = "{\"a\":";
    for (int i = 0; i < 1'000'000; ++i) text += open;
    EXPECT_THAT(parse_safetensors_header(text, 0), StatusIs(kDataLoss));
  }
}

TEST(ParseHeaderTest, MessagesShowStrangeNamesEscaped) {
  EXPECT_THAT(parse_safetensors_header(one("/\\n\\u0001\\\"", kU8), 1),
              StatusIs(kDataLoss, HasSubstr(R"("/\n\x01\"")")));
}

TEST(LayOutTest, LargeElementsFirstThenByName) {
  std::vector<TensorInfo> tensors = {{"h", TensorType::kF16, {1}}, {"z", TensorType::kI64, {2}},
                                     {"b", TensorType::kF32, {3}}, {"a", TensorType::kF32, {1}},
                                     {"u", TensorType::kU8, {3}},  {"y", TensorType::kF64, {}},
                                     {"e", TensorType::kF32, {0}}};
  ASSERT_OK(lay_out_tensors(&tensors));
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.begin % tensor_type_bytes(tensor.type), 0) << tensor.name;
  }
  EXPECT_THAT(names, ElementsAre("y", "z", "a", "b", "e", "h", "u"));
  EXPECT_EQ(tensors.back().end, 8 + 16 + 4 + 12 + 2 + 3);
}

TEST(LayOutTest, RejectsWhatTheReaderWould) {
  auto lay_out = [](std::vector<TensorInfo> tensors) { return lay_out_tensors(&tensors); };
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(lay_out({{"a"}, {"a"}}), StatusIs(kInvalid, HasSubstr("\"a\" comes twice")));
  EXPECT_THAT(lay_out({{""}}), StatusIs(kInvalid, HasSubstr("is empty")));
  EXPECT_THAT(lay_out({{"/a"}}), StatusIs(kInvalid));
  EXPECT_THAT(lay_out({{"a..b"}}), StatusIs(kInvalid));
  EXPECT_THAT(lay_out({{std::string("a\0", 2)}}), StatusIs(kInvalid, HasSubstr("NUL")));
  EXPECT_THAT(lay_out({{"\xff"}}), StatusIs(kInvalid, HasSubstr("UTF-8")));
  EXPECT_THAT(lay_out({{"__metadata__"}}), StatusIs(kInvalid, HasSubstr("own")));
  EXPECT_THAT(lay_out({{"a", TensorType::kU8, std::vector<int64_t>(9, 1)}}), StatusIs(kInvalid));
  EXPECT_THAT(lay_out({{"a", TensorType::kF32, {huge}}}), StatusIs(kInvalid));
  EXPECT_THAT(lay_out({{"a", TensorType::kU8, {huge}}, {"b", TensorType::kU8, {1}}}),
              StatusIs(kInvalid, HasSubstr("overflows")));
}

TEST(FormatHeaderTest, ReadsBackAndIsPadded) {
  SafetensorsHeader header;
  header.metadata = {{"quote\"", "new\nline"}, {"größe", "\xf0\x9f\x98\x80"}};
  header.tensors = {{"a.weight", TensorType::kF32, {2, 3}}, {"ß\"\\", TensorType::kBool, {5}}};
  ASSERT_OK(lay_out_tensors(&header.tensors));
  ASSERT_OK_AND_ASSIGN(const std::string text, format_safetensors_header(header));
  EXPECT_EQ(text.size() % 8, 0u);
  ASSERT_OK_AND_ASSIGN(const SafetensorsHeader again, parse_safetensors_header(text, 29));
  EXPECT_EQ(again.metadata, header.metadata);
  ASSERT_EQ(again.tensors.size(), 2u);
  EXPECT_EQ(again.tensors[1].name, "ß\"\\");
  EXPECT_THAT(format_safetensors_header(again), IsOkAndHolds(text));
}

TEST(FormatHeaderTest, RejectsMetadataThatIsNotUtf8) {
  SafetensorsHeader header;
  header.metadata = {{"k", "\xc3"}};
  EXPECT_THAT(format_safetensors_header(header), StatusIs(kInvalid, HasSubstr("\"k\"")));
}

}  // namespace
}  // namespace millrace
