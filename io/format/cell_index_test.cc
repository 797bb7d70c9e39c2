#include "io/format/cell_index.h"

#include <string>
#include <vector>

#include "base/isa/instruction_set.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

struct Index {
  std::vector<uint32_t> ends;
  std::vector<uint32_t> lines;
  friend bool operator==(const Index&, const Index&) = default;
};

Index byte_by_byte(const std::string& text, int64_t size, char delimiter) {
  Index index;
  for (int64_t i = 0; i < size; ++i) {
    if (text[i] == '\n') index.lines.push_back(static_cast<uint32_t>(index.ends.size()));
    if (text[i] == '\n' || text[i] == delimiter) index.ends.push_back(static_cast<uint32_t>(i));
  }
  return index;
}

Index with(InstructionSet set, const std::string& text, int64_t size, char delimiter) {
  Index index;
  index.ends.resize(size + 8);
  index.lines.resize(size);
  const CellCounts counts =
      index_cells(set)(text.data(), size, delimiter, index.ends.data(), index.lines.data());
  index.ends.resize(counts.cells);
  index.lines.resize(counts.lines);
  return index;
}

class CellIndexTest : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (has_instruction_set(GetParam())) return;
    GTEST_SKIP() << skip_hardware(name_of(GetParam()), "this machine lacks it");
  }
};

TEST_P(CellIndexTest, FindsWhatALoopFinds) {
  for (int trial = 0; trial < 400; ++trial) {
    const int64_t size = philox64(1, 0, trial) % 300;
    const uint64_t density = 1 + philox64(1, 1, trial) % 60;
    std::string text(size + kTextPadding, '\n');  // the padding must not count
    for (int64_t i = 0; i < size; ++i) {
      const uint64_t bits = philox64(2, trial, i);
      text[i] = bits % density == 0 ? '\t' : bits % 41 == 0 ? '\n' : static_cast<char>(bits >> 32);
    }
    for (const char delimiter : {'\t', ',', '\x80', '\xff'}) {
      ASSERT_EQ(with(GetParam(), text, size, delimiter), byte_by_byte(text, size, delimiter))
          << trial;
    }
  }
}

TEST_P(CellIndexTest, NothingButDelimiters) {
  for (const int64_t size : {0, 1, 63, 64, 65, 128}) {
    const std::string text(size + kTextPadding, ',');
    const Index index = with(GetParam(), text, size, ',');
    ASSERT_EQ(index.ends.size(), size);
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(index.ends[i], i);
    EXPECT_TRUE(index.lines.empty());
  }
}

TEST_P(CellIndexTest, MarksAreDelimitersLineFeedsAndQuotes) {
  for (int trial = 0; trial < 400; ++trial) {
    const int64_t size = philox64(3, 0, trial) % 300;
    std::string text(size + kTextPadding, '"');  // the padding must not count
    std::vector<uint32_t> expected;
    for (int64_t i = 0; i < size; ++i) {
      text[i] = "abc,\n\"\xff"[philox64(4, trial, i) % 7];
      if (text[i] == ',' || text[i] == '\n' || text[i] == '"') {
        expected.push_back(static_cast<uint32_t>(i));
      }
    }
    std::vector<uint32_t> places(size + 8);
    places.resize(index_marks(GetParam())(text.data(), size, ',', places.data()));
    ASSERT_EQ(places, expected) << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, CellIndexTest, testing::ValuesIn(kInstructionSets),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace millrace
