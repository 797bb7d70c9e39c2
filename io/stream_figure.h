// Values that a stream of windows reports.
#ifndef MILLRACE_IO_STREAM_FIGURE_H_
#define MILLRACE_IO_STREAM_FIGURE_H_

#include <string>

namespace millrace {

// A value of one rank about the position of a stream.
struct StreamFigure {
  std::string name;  // "kafka_lag_records"
  double value = 0;
  enum Over { kSum, kMin } over = kSum;  // how the values of ranks become one
};

}  // namespace millrace

#endif  // MILLRACE_IO_STREAM_FIGURE_H_
