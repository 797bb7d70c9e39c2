#include "embedding/device/pool_rows_cuda.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

#include "base/status_matchers.h"
#include "embedding/device/random_lookup_testing.h"
#include "tests/environment/skip.h"

namespace millrace {
namespace {

// Device memory with a copy of host memory.
class DeviceCopy {
 public:
  DeviceCopy(const void* from, size_t bytes) {
    EXPECT_EQ(cudaMalloc(&memory_, bytes + 1), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(memory_, from, bytes, cudaMemcpyHostToDevice), cudaSuccess);
  }
  template <typename T>
  explicit DeviceCopy(const std::vector<T>& from)
      : DeviceCopy(from.data(), sizeof(T) * from.size()) {}
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  ~DeviceCopy() { cudaFree(memory_); }

  template <typename T>
  T* get() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

struct OneThread {
  int64_t block() const { return 0; }
  int64_t blocks() const { return 1; }
  int64_t thread() const { return 0; }
  int64_t threads() const { return 1; }
};

std::vector<float> pool_on_host(const RandomLookup& lookup) {
  std::vector<float> output(lookup.batch() * lookup.dim);
  const DeviceLookup view = lookup.view(output.data());
  if (lookup.type == RowType::kFloat32) device::pool_rows<device::Float32Row>(view, OneThread());
  if (lookup.type == RowType::kFloat16) device::pool_rows<device::Float16Row>(view, OneThread());
  if (lookup.type == RowType::kBfloat16) device::pool_rows<device::Bfloat16Row>(view, OneThread());
  return output;
}

std::vector<float> pool_on_device(const RandomLookup& lookup) {
  std::vector<float> output(lookup.batch() * lookup.dim);
  const DeviceCopy rows(lookup.rows), places(lookup.places), offsets(lookup.offsets),
      weights(lookup.weights), pooled(output);
  DeviceLookup view = lookup.view(pooled.get<float>());
  view.rows = rows.get<char>();
  view.places = places.get<uint32_t>();
  view.offsets = offsets.get<int64_t>();
  view.weights = lookup.weights.empty() ? nullptr : weights.get<float>();
  const char* const error = start_pool_rows(view, nullptr);
  EXPECT_EQ(error, nullptr) << error;
  EXPECT_EQ(
      cudaMemcpy(output.data(), view.output, sizeof(float) * output.size(), cudaMemcpyDeviceToHost),
      cudaSuccess);
  return output;
}

TEST(PoolRowsCudaTest, HasTheBitsOfTheHost) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    GTEST_SKIP() << skip_hardware("CUDA device", "the driver shows none");
  }
  for (const RowType type : {RowType::kFloat32, RowType::kFloat16, RowType::kBfloat16}) {
    for (const ListDivisor divisor :
         {ListDivisor::kOne, ListDivisor::kLength, ListDivisor::kRootLength}) {
      for (const bool weighted : {false, true}) {
        for (int64_t dim = 1; dim <= 300; dim += 13) {
          const RandomLookup lookup =
              RandomLookup::make(dim, type, divisor, weighted, 50, static_cast<uint32_t>(dim));
          const std::vector<float> device = pool_on_device(lookup), host = pool_on_host(lookup);
          ASSERT_EQ(std::memcmp(device.data(), host.data(), sizeof(float) * host.size()), 0)
              << "dim " << dim << ", type " << static_cast<int>(type) << ", divisor "
              << static_cast<int>(divisor) << (weighted ? ", weighted" : "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace
