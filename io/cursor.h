// A position in the data.
#ifndef MILLRACE_IO_CURSOR_H_
#define MILLRACE_IO_CURSOR_H_

#include <cstdint>
#include <vector>

namespace millrace {

// Blocks [begin, end) in the order of an epoch.
struct BlockInterval {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const BlockInterval&, const BlockInterval&) = default;
};

// One rank's position just after a batch: what of an epoch it has yet to read. Everything
// else (which rows a block holds, and in which order) follows from the seed, the epoch and the
// files, so a cursor stays small whatever the size of the data.
struct Cursor {
  int64_t epoch = 0;
  // What this rank has left, the open block first. Empty at the end of the epoch.
  std::vector<BlockInterval> blocks_left;
  // Rows already taken of the first block left, in its shuffled order.
  int64_t offset_in_block = 0;
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

}  // namespace millrace

#endif  // MILLRACE_IO_CURSOR_H_
