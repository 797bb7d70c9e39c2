#include "io/kafka/kafka_payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

DataConfig config_of(bool is_example) {
  DataConfig config;
  if (is_example) {
    config.set_format(DataConfig::TFRECORD);
    config.mutable_tfrecord()->add_column()->set_name("x");
  } else {
    config.mutable_csv()->add_column("x");
    config.mutable_csv()->add_column("y");
  }
  return config;
}

// Whatever a record holds, if it is taken it is one row and leaves its neighbours theirs.
// MILLRACE_FUZZED_RECORDS=1000000: the number of random records.
TEST(KafkaPayloadTest, EachRecordIsOneRow) {
  const char* const asked = std::getenv("MILLRACE_FUZZED_RECORDS");
  const int64_t count = asked == nullptr ? 5000 : std::stoll(asked);
  std::minstd_rand random(1);
  const std::string pieces = "\"\"\"\",,\n\r0a \x0a\x08\x12\x01\xff";
  for (int64_t i = 0; i < count; ++i) {
    const bool is_example = i % 4 == 0;
    const auto payload = KafkaPayload::create(config_of(is_example));
    std::string value;
    for (size_t size = random() % 12; value.size() < size;) {
      value.push_back(pieces[random() % pieces.size()]);
    }
    if (!payload->error(value).empty()) continue;
    std::string file;
    payload->append(is_example ? "" : "7,8", &file);
    payload->append(value, &file);
    payload->append(is_example ? "" : "7,8", &file);
    payload->append(payload->blank(), &file);
    MemoryFileSystem files;
    files.put("f", file);
    const auto opened = payload->open(files, "f");
    ASSERT_OK(opened.status()) << absl::CHexEscape(value);
    const auto& groups = (*opened)->group_rows();
    ASSERT_EQ(std::accumulate(groups.begin(), groups.end(), int64_t{0}), 4)
        << absl::CHexEscape(value);
    BadRows bad(4, /*skip=*/true);
    const auto columns = (*opened)->read({0, 0, 4}, {{0, ValueType::kInt64}}, bad);
    ASSERT_OK(columns.status()) << absl::CHexEscape(value);
    ASSERT_TRUE(!bad.contains(0) && !bad.contains(2) && !bad.contains(3))
        << absl::CHexEscape(value);
    if (!is_example) {
      const Column& x = columns->front();
      ASSERT_EQ(x.int64s[x.begin(2)], 7) << absl::CHexEscape(value);
    }
  }
}

}  // namespace
}  // namespace millrace
