#include "serving/inference_request.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

// Each change of a valid request is read or refused, and what is read is consistent.
// MILLRACE_FUZZED_REQUESTS=1000000: docs/serving.md.
TEST(InferenceRequestTest, FuzzedRequestsAreReadOrRefused) {
  const std::string json =
      R"({"id":"1","inputs":[{"name":"a","shape":[2],"datatype":"INT64","data":[1,2]},)"
      R"({"name":"l","shape":[3],"datatype":"BYTES","data":["x","yz",""]},)"
      R"({"name":"l_lengths","shape":[2],"datatype":"INT32","data":[1,2]},)"
      R"({"name":"m","shape":[2,2],"datatype":"FP32","data":[[1.5,2],[3,-4e5]]},)"
      R"({"name":"b","shape":[2],"datatype":"UINT16","parameters":{"binary_data_size":4}}],)"
      R"("outputs":[{"name":"predictions","parameters":{"binary_data":true}}]})";
  const std::string body = json + std::string("\1\0\2\0", 4);
  const std::string length = absl::StrCat(json.size());
  const auto whole = parse_inference_request(body, length);
  ASSERT_OK(whole.status());
  EXPECT_EQ(whole->rows, 2);
  EXPECT_EQ(whole->columns.size(), 4);
  EXPECT_EQ(whole->columns.at("l").offsets, (std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(whole->columns.at("b").int64s, (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(whole->binary_output);

  const char* const asked = std::getenv("MILLRACE_FUZZED_REQUESTS");
  const int64_t cases = asked == nullptr ? 20'000 : std::stoll(asked);
  std::mt19937_64 random(1);
  const std::string pieces[] = {
      "[",    "]",    "{",       "}",    "\"",       ",",  ":", "-", "1e999", "99999999999999",
      "null", "true", "\\u0000", "\xff", "_lengths", "[[", "0"};
  int64_t read = 0;
  for (int64_t i = 0; i < cases; ++i) {
    std::string changed = body;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % changed.size();
      switch (random() % 4) {
        case 0: changed[at] = static_cast<char>(random()); break;
        case 1: changed.erase(at, random() % 20); break;
        case 2: changed.insert(at, pieces[random() % std::size(pieces)]); break;
        default: changed.insert(at, changed.substr(random() % changed.size(), random() % 40));
      }
      if (changed.empty()) changed = "{";
    }
    const auto request = parse_inference_request(
        changed, random() % 4 == 0 ? absl::StrCat(random() % 700)
                                   : absl::StrCat(changed.size() > 4 ? changed.size() - 4 : 0));
    if (!request.ok()) {
      ASSERT_TRUE(absl::IsInvalidArgument(request.status())) << request.status();
      continue;
    }
    ++read;
    for (const auto& [name, column] : request->columns) {
      const int64_t values =
          column.type == ValueType::kDouble   ? static_cast<int64_t>(column.doubles.size())
          : column.type == ValueType::kString ? column.strings.size()
                                              : static_cast<int64_t>(column.int64s.size());
      ASSERT_EQ(column.values(), values) << changed;
    }
  }
  EXPECT_GT(read, cases / 100) << "changes of values are valid";
  EXPECT_LT(read, cases);
}

}  // namespace
}  // namespace millrace
