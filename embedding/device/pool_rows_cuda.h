// Pooling of received rows on a CUDA device.
#ifndef MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_CUDA_H_
#define MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_CUDA_H_

#include "embedding/device/pool_rows.h"

// cudaStream_t is a pointer to it.
struct CUstream_st;

namespace millrace {

// Starts the pooling on the stream of the current device and returns without waiting. The memory of
// the lookup must live, and must not change, until the stream has passed it. The output has the
// bits that the host computes, except that a not-a-number may be another one.
//
// Returns: null, or the text of CUDA's error.
const char* start_pool_rows(const DeviceLookup& lookup, CUstream_st* stream);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_CUDA_H_
