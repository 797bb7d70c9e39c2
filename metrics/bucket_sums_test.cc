#include "metrics/bucket_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string saved(const BucketSums& sums) {
  ByteWriter writer;
  sums.save(&writer);
  return writer.take();
}

bool reads(const BucketSums& sums, const std::string& bytes) {
  ByteReader reader(bytes);
  return sums.read(&reader).has_value();
}

TEST(BucketSumsTest, TheUpperBoundBelongsToABucket) {
  BucketSums sums(4);
  for (const float prediction : {0.0f, 0.1f, 0.25f}) sums.add(prediction, 1);
  sums.add(0.2500001f, 10);
  sums.add(0.5f, 10);
  sums.add(1.0f, 100);
  EXPECT_THAT(sums.sums(), ElementsAre(3, 20, 0, 100));
}

TEST(BucketSumsTest, PredictionsOutsideCountInTheFirstAndTheLastBucket) {
  BucketSums sums(4);
  for (const float prediction : {-0.5f, -kInfinity}) sums.add(prediction, 1);
  for (const float prediction : {1.5f, kInfinity}) sums.add(prediction, 1);
  EXPECT_THAT(sums.sums(), ElementsAre(2, 0, 0, 2));
}

TEST(BucketSumsTest, SumsAreAddedAndReset) {
  BucketSums a(2), b(2);
  a.add(0.5, 1);
  b.add(0.5, 2);
  b.add(1.0, 3);
  a.add(b);
  EXPECT_THAT(a.sums(), ElementsAre(3, 3));
  a.reset();
  EXPECT_THAT(a.sums(), ElementsAre(0, 0));
}

TEST(BucketSumsTest, SavedSumsAreReadBack) {
  BucketSums sums(100);
  sums.add(0.3, -2.5);
  sums.add(0.99, 4);
  const std::string bytes = saved(sums);
  EXPECT_EQ(bytes.size(), 4 + 2 * 12) << "sums of 0 take no bytes";
  BucketSums copy(100);
  ByteReader reader(bytes);
  const auto entries = copy.read(&reader);
  ASSERT_TRUE(entries.has_value());
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(copy.sums(), BucketSums(100).sums()) << "read() adds nothing";
  copy.add(*entries);
  EXPECT_EQ(copy.sums(), sums.sums());
}

TEST(BucketSumsTest, BytesThatNoSumsSavedAreRefused) {
  const auto bytes_of = [](uint32_t count, const std::vector<BucketSums::Entry>& entries) {
    ByteWriter writer;
    writer.write_uint32(count);
    for (const BucketSums::Entry& entry : entries) {
      writer.write_uint32(entry.bucket);
      writer.write_double(entry.sum);
    }
    return writer.take();
  };
  const BucketSums sums(4);
  EXPECT_TRUE(reads(sums, bytes_of(2, {{1, 0.5}, {3, -2}})));
  EXPECT_FALSE(reads(sums, ""));
  EXPECT_FALSE(reads(sums, bytes_of(4000000000u, {{1, 0.5}}))) << "more than there are bytes";
  EXPECT_FALSE(reads(sums, bytes_of(1, {{4, 0.5}}))) << "no such bucket";
  EXPECT_FALSE(reads(sums, bytes_of(2, {{3, 1}, {1, 1}}))) << "out of order";
  EXPECT_FALSE(reads(sums, bytes_of(2, {{1, 1}, {1, 1}}))) << "twice";
  EXPECT_FALSE(reads(sums, bytes_of(1, {{1, kInfinity}})));
}

}  // namespace
}  // namespace millrace
