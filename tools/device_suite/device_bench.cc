// Three benchmarks of a CUDA device, as lines of JSON: pooling of received rows, copies from pinned
// memory, and sums over NCCL with one rank. On an error prints the reason and exits with 1.
#include <ATen/ops/zeros.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "distributed/device_channel.h"
#include "embedding/device/pool_rows_cuda.h"

namespace millrace {
namespace {

constexpr int kRepeats = 20;

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "device_bench: %s: %s\n", what, why);
  std::exit(1);
}

void check(const char* what, cudaError_t error) {
  if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}

void print(const char* name, double value, const char* unit) {
  std::printf("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n", name, value, unit);
}

// Returns the median of kRepeats calls, in seconds, after an unmeasured call.
template <typename Call>
double median_seconds(const Call& call) {
  std::vector<double> seconds;
  for (int i = -1; i < kRepeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i >= 0) seconds.push_back(took.count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepeats / 2, seconds.end());
  return seconds[kRepeats / 2];
}

template <typename T>
T* on_device(const std::vector<T>& from) {
  void* memory = nullptr;
  const size_t bytes = sizeof(T) * from.size();
  check("allocating", cudaMalloc(&memory, bytes));
  check("copying", cudaMemcpy(memory, from.data(), bytes, cudaMemcpyHostToDevice));
  return static_cast<T*>(memory);
}

// Measures a micro-batch of 65,536 lists with 10 ids each, of 1,000,000 rows of 64 float32.
void measure_pooling() {
  constexpr int64_t kRows = 1000000, kDim = 64, kBatch = 65536, kIds = 10;
  std::vector<uint32_t> places(kBatch * kIds);
  std::vector<int64_t> offsets(kBatch + 1);
  // The generator is written out, so that all machines measure the same places.
  uint64_t random = 1;
  for (uint32_t& place : places) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    place = static_cast<uint32_t>((random >> 33) % kRows);
  }
  for (int64_t i = 0; i <= kBatch; ++i) offsets[i] = i * kIds;
  DeviceLookup lookup;
  lookup.rows = reinterpret_cast<const char*>(on_device(std::vector<float>(kRows * kDim, 0.5f)));
  lookup.places = on_device(places);
  lookup.offsets = on_device(offsets);
  lookup.output = on_device(std::vector<float>(kBatch * kDim));
  lookup.divisor = ListDivisor::kLength;
  lookup.dim = kDim;
  lookup.batch = kBatch;
  lookup.stride = kDim;
  const double seconds = median_seconds([&] {
    const char* const error = start_pool_rows(lookup, nullptr);
    if (error != nullptr) fail("pooling", error);
    check("pooling", cudaDeviceSynchronize());
  });
  // A list reads kIds rows and writes one.
  const double bytes = 4.0 * kDim * kBatch * (kIds + 1);
  print("pool_rows", bytes / seconds / 1e9, "GB/s");
}

void measure_copies() {
  constexpr size_t kBytes = 64 << 20;
  void *pinned = nullptr, *device = nullptr;
  check("allocating", cudaMallocHost(&pinned, kBytes));
  check("allocating", cudaMalloc(&device, kBytes));
  const double seconds = median_seconds([&] {
    check("copying", cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice, nullptr));
    check("copying", cudaDeviceSynchronize());
  });
  print("copy_from_pinned", kBytes / seconds / 1e9, "GB/s");
}

// Measures the time from the start of a sum of 4 MB until the host knows its end.
void measure_sums() {
  DeviceChannelOptions options;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.prefix = "bench";
  absl::StatusOr<std::unique_ptr<DeviceChannel>> channel = connect_device_channel(options);
  if (!channel.ok()) fail("NCCL", channel.status().ToString().c_str());
  const at::Tensor tensor = at::zeros({1 << 20}, at::device(at::kCUDA).dtype(at::kFloat));
  const double seconds = median_seconds([&] {
    absl::StatusOr<std::unique_ptr<DeviceSum>> sum = (*channel)->start_sum(tensor);
    if (!sum.ok()) fail("NCCL", sum.status().ToString().c_str());
    for (;;) {
      const absl::StatusOr<bool> ended = (*sum)->ended();
      if (!ended.ok()) fail("NCCL", ended.status().ToString().c_str());
      if (*ended) return;
    }
  });
  print("nccl_sum_of_one_rank", seconds * 1e6, "us");
}

int run() {
  int devices = 0;
  check("looking for devices", cudaGetDeviceCount(&devices));
  if (devices == 0) fail("looking for devices", "the driver shows none");
  measure_pooling();
  measure_copies();
  measure_sums();
  return 0;
}

}  // namespace
}  // namespace millrace

int main() { return millrace::run(); }
