// Streams of Arrow's IPC format, for tests.
#ifndef MILLRACE_IO_KAFKA_ARROW_STREAM_TESTING_H_
#define MILLRACE_IO_KAFKA_ARROW_STREAM_TESTING_H_

#include <cstdint>
#include <string>

namespace millrace {

// Returns a stream of one batch: row r = first, first + 1, ... has label (int64) r % 2, x (double,
// or int32 with `other_type`) r / 2, ids (list of int64) with r % 3 times r, and id (int64) r.
std::string arrow_stream(int64_t first, int64_t rows, bool other_type = false);

}  // namespace millrace

#endif  // MILLRACE_IO_KAFKA_ARROW_STREAM_TESTING_H_
