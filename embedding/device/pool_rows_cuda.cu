#include <cuda_runtime.h>

#include <algorithm>

#include "embedding/device/pool_rows_cuda.h"

namespace millrace {
namespace {

constexpr int64_t kMostThreads = 256;  // per block
constexpr int64_t kWarp = 32;
constexpr int64_t kMostBlocks = 1 << 20;

struct ThreadIndex {
  __device__ int64_t block() const { return blockIdx.x; }
  __device__ int64_t blocks() const { return gridDim.x; }
  __device__ int64_t thread() const { return threadIdx.x; }
  __device__ int64_t threads() const { return blockDim.x; }
};

template <typename Row>
__global__ void pool_rows_of(DeviceLookup lookup) {
  device::pool_rows<Row>(lookup, ThreadIndex());
}

}  // namespace

const char* start_pool_rows(const DeviceLookup& lookup, CUstream_st* stream) {
  if (lookup.batch == 0 || lookup.dim == 0) return nullptr;
  const int64_t blocks = std::min(lookup.batch, kMostBlocks);
  const int64_t threads = std::min((lookup.dim + kWarp - 1) / kWarp * kWarp, kMostThreads);
  switch (lookup.type) {
    case RowType::kFloat32:
      pool_rows_of<device::Float32Row><<<blocks, threads, 0, stream>>>(lookup);
      break;
    case RowType::kFloat16:
      pool_rows_of<device::Float16Row><<<blocks, threads, 0, stream>>>(lookup);
      break;
    case RowType::kBfloat16:
      pool_rows_of<device::Bfloat16Row><<<blocks, threads, 0, stream>>>(lookup);
      break;
  }
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace millrace
