// Pooling of received rows on a CUDA device.
#ifndef MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_CUDA_H_
#define MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_CUDA_H_

#include "embedding/device/pool_rows.h"

// The type behind cudaStream_t.
struct CUstream_st;

namespace millrace {

// Starts pooling on a stream of the current device and returns without waiting. The memory of the
// lookup must remain valid and unchanged until the stream has completed the pooling. The output is
// bitwise equal to the host's, except for the bits of NaN. Returns null, or the text of CUDA's
// error.
const char* start_pool_rows(const DeviceLookup& lookup, CUstream_st* stream);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_DEVICE_POOL_ROWS_CUDA_H_
