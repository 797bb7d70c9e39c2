#include "base/byte_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace millrace {
namespace {

std::string everything() {
  ByteWriter writer;
  writer.write_uint8(200);
  writer.write_uint32(0xdeadbeef);
  writer.write_uint64(std::numeric_limits<uint64_t>::max());
  writer.write_int64(-2);
  writer.write_float(-0.5f);
  writer.write_double(1e300);
  writer.write_string(absl::string_view("a\0b", 3));
  writer.write_string("");
  return writer.take();
}

TEST(ByteStreamTest, ReadsWhatWasWritten) {
  const std::string bytes = everything();
  ByteReader reader(bytes);
  EXPECT_EQ(reader.read_uint8(), 200);
  EXPECT_EQ(reader.read_uint32(), 0xdeadbeef);
  EXPECT_EQ(reader.read_uint64(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(reader.read_int64(), -2);
  EXPECT_EQ(reader.read_float(), -0.5f);
  EXPECT_EQ(reader.read_double(), 1e300);
  EXPECT_EQ(reader.read_string(), absl::string_view("a\0b", 3));
  EXPECT_FALSE(reader.done());
  EXPECT_EQ(reader.remaining(), 8);
  EXPECT_EQ(reader.read_string(), "");
  EXPECT_TRUE(reader.done());
}

TEST(ByteStreamTest, LittleEndianOnEveryMachine) {
  ByteWriter writer;
  writer.write_uint32(0x04030201);
  writer.write_double(1);
  EXPECT_EQ(writer.bytes(), std::string("\1\2\3\4\0\0\0\0\0\0\xf0\x3f", 12));
}

TEST(ByteStreamTest, EveryBitOfAFloatComesThrough) {
  for (const double value :
       {-0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()}) {
    ByteWriter writer;
    writer.write_double(value);
    const double read = ByteReader(writer.bytes()).read_double();
    EXPECT_EQ(read, value);
    EXPECT_EQ(std::signbit(read), std::signbit(value));
  }
  ByteWriter writer;
  writer.write_float(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(ByteReader(writer.bytes()).read_float()));
}

TEST(ByteStreamTest, EveryTruncationIsSeen) {
  const std::string bytes = everything();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader reader(absl::string_view(bytes).substr(0, size));
    reader.read_uint8();
    reader.read_uint32();
    reader.read_uint64();
    reader.read_int64();
    reader.read_float();
    reader.read_double();
    reader.read_string();
    reader.read_string();
    EXPECT_FALSE(reader.ok()) << size;
    EXPECT_FALSE(reader.done()) << size;
    EXPECT_EQ(reader.remaining(), 0) << size;
    EXPECT_EQ(reader.read_uint8(), 0) << "a failure lasts";
  }
}

TEST(ByteStreamTest, AStringLongerThanTheBytes) {
  ByteWriter writer;
  writer.write_uint64(std::numeric_limits<uint64_t>::max());
  writer.write_uint8('x');
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.read_string(), "");
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace millrace
