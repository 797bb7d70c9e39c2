#include "embedding/device/pool_rows.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "base/status_matchers.h"
#include "embedding/device/random_lookup_testing.h"
#include "embedding/shard/request_plan.h"

namespace millrace {
namespace {

// The index of one device thread; the host computes one thread after another.
struct HostIndex {
  int64_t this_block = 0, all_blocks = 1, this_thread = 0, all_threads = 1;

  int64_t block() const { return this_block; }
  int64_t blocks() const { return all_blocks; }
  int64_t thread() const { return this_thread; }
  int64_t threads() const { return all_threads; }
};

template <typename Row>
void pool_of_type(const DeviceLookup& lookup, int64_t blocks, int64_t threads) {
  for (int64_t block = blocks - 1; block >= 0; --block) {
    for (int64_t thread = threads - 1; thread >= 0; --thread) {
      device::pool_rows<Row>(lookup, HostIndex{block, blocks, thread, threads});
    }
  }
}

std::vector<float> pool_as_device(const RandomLookup& lookup, int64_t blocks, int64_t threads) {
  std::vector<float> output(lookup.batch() * lookup.dim, -1.0f);
  const DeviceLookup view = lookup.view(output.data());
  switch (lookup.type) {
    case RowType::kFloat32: pool_of_type<device::Float32Row>(view, blocks, threads); break;
    case RowType::kFloat16: pool_of_type<device::Float16Row>(view, blocks, threads); break;
    case RowType::kBfloat16: pool_of_type<device::Bfloat16Row>(view, blocks, threads); break;
  }
  return output;
}

Pooling pooling_of(ListDivisor divisor) {
  switch (divisor) {
    case ListDivisor::kOne: return SUM;
    case ListDivisor::kLength: return MEAN;
    case ListDivisor::kRootLength: return SQUARE_ROOT_N;
  }
  return SUM;
}

// Returns the result of RequestPlan for the same rows. The id of a row is its number.
std::vector<float> pool_as_requester(const RandomLookup& lookup, InstructionSet set) {
  EmbeddingTableOptions options;
  options.name = "t";
  options.dim = lookup.dim;
  options.initializer.mutable_constant()->set_value(0);
  options.type = lookup.type;
  options.instruction_set = set;
  const std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  RequestPlan plan(*table, Placement{});
  plan.begin();
  const int64_t row_bytes = lookup.dim * row_type_bytes(lookup.type);
  std::vector<int64_t> all(lookup.rows.size() / row_bytes);
  std::iota(all.begin(), all.end(), 0);
  plan.request(all);
  for (size_t i = 0; i < all.size(); ++i) {
    plan.set_record(static_cast<uint32_t>(i), lookup.rows.data() + i * row_bytes);
  }
  const std::vector<int64_t> ids(lookup.places.begin(), lookup.places.end());
  IdLists lists;
  lists.ids = ids;
  lists.offsets = lookup.offsets;
  lists.weights = lookup.weights;
  lists.pooling = pooling_of(lookup.divisor);
  std::vector<float> output(lookup.batch() * lookup.dim);
  EXPECT_OK(plan.look_up(lists, {output.data(), lookup.dim}));
  return output;
}

// Returns the number of floats with different bits.
int64_t differences(const std::vector<float>& a, const std::vector<float>& b) {
  int64_t count = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    count += std::memcmp(&a[i], &b[i], sizeof(float)) != 0;
  }
  return count;
}

class PoolRowsTest : public testing::TestWithParam<std::tuple<RowType, ListDivisor, bool>> {
 protected:
  RandomLookup random_lookup(int64_t dim, int64_t batch, uint32_t seed) const {
    const auto [type, divisor, weighted] = GetParam();
    return RandomLookup::make(dim, type, divisor, weighted, batch, seed);
  }
};

TEST_P(PoolRowsTest, HasTheBitsOfTheRequester) {
  for (int64_t dim = 1; dim <= 300; ++dim) {
    const RandomLookup lookup = random_lookup(dim, dim % 23, static_cast<uint32_t>(dim));
    const std::vector<float> expected = pool_as_requester(lookup, best_instruction_set());
    EXPECT_EQ(differences(pool_as_device(lookup, 3, 32), expected), 0) << "dim " << dim;
  }
}

TEST_P(PoolRowsTest, HasTheBitsOfEachInstructionSet) {
  for (const InstructionSet set : kInstructionSets) {
    if (!has_instruction_set(set)) continue;
    for (const int64_t dim : {1, 7, 16, 100}) {
      const RandomLookup lookup = random_lookup(dim, 40, static_cast<uint32_t>(dim));
      EXPECT_EQ(differences(pool_as_device(lookup, 1, 1), pool_as_requester(lookup, set)), 0)
          << "dim " << dim;
    }
  }
}

TEST_P(PoolRowsTest, DoesNotDependOnBlocksAndThreads) {
  const RandomLookup lookup = random_lookup(70, 30, 5);
  const std::vector<float> expected = pool_as_device(lookup, 1, 1);
  for (const int64_t blocks : {1, 2, 29, 31}) {
    for (const int64_t threads : {1, 32, 96, 128}) {
      EXPECT_EQ(differences(pool_as_device(lookup, blocks, threads), expected), 0)
          << blocks << " blocks of " << threads << " threads";
    }
  }
}

std::string name_of(const testing::TestParamInfo<PoolRowsTest::ParamType>& info) {
  const char* const kTypes[] = {"Float32", "Float16", "Bfloat16"};
  const char* const kDivisors[] = {"Sum", "Mean", "SquareRootN"};
  return std::string(kTypes[static_cast<int>(std::get<0>(info.param))]) +
         kDivisors[static_cast<int>(std::get<1>(info.param))] +
         (std::get<2>(info.param) ? "Weighted" : "");
}

INSTANTIATE_TEST_SUITE_P(Each, PoolRowsTest,
                         testing::Combine(testing::Values(RowType::kFloat32, RowType::kFloat16,
                                                          RowType::kBfloat16),
                                          testing::Values(ListDivisor::kOne, ListDivisor::kLength,
                                                          ListDivisor::kRootLength),
                                          testing::Bool()),
                         name_of);

// The data must distinguish contraction from two roundings; otherwise other tests prove nothing.
TEST(PoolRowsTest, RoundsTheProductBeforeTheSum) {
  RandomLookup lookup;
  const float rows[] = {1.0f, 1.0f + 0x1p-12f};
  lookup.rows.assign(reinterpret_cast<const char*>(rows),
                     reinterpret_cast<const char*>(rows) + sizeof rows);
  lookup.places = {0, 1};
  lookup.offsets = {0, 2};
  lookup.weights = {-1.0f, 1.0f + 0x1p-12f};
  lookup.dim = 1;
  EXPECT_EQ(pool_as_device(lookup, 1, 1)[0], 0x1p-11f);
}

TEST(PoolRowsTest, WritesZerosForEmptyLists) {
  RandomLookup lookup;
  lookup.rows.resize(8);
  lookup.offsets = {3, 3, 3};
  lookup.dim = 2;
  for (const ListDivisor divisor :
       {ListDivisor::kOne, ListDivisor::kLength, ListDivisor::kRootLength}) {
    lookup.divisor = divisor;
    EXPECT_EQ(pool_as_device(lookup, 2, 32), std::vector<float>(4, 0.0f));
  }
}

// Columns between the rows of the output belong to other features.
TEST(PoolRowsTest, LeavesOtherColumnsAlone) {
  const RandomLookup lookup =
      RandomLookup::make(3, RowType::kFloat32, ListDivisor::kOne, false, 4, 1);
  std::vector<float> output(4 * 5, -1.0f);
  DeviceLookup view = lookup.view(output.data());
  view.stride = 5;
  pool_of_type<device::Float32Row>(view, 2, 32);
  const std::vector<float> expected = pool_as_device(lookup, 1, 1);
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t c = 0; c < 5; ++c) {
      EXPECT_EQ(output[row * 5 + c], c < 3 ? expected[row * 3 + c] : -1.0f);
    }
  }
}

}  // namespace
}  // namespace millrace
