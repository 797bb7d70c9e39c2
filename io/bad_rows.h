// Rows of one unit that are bad data, and what is to be done about them.
#ifndef MILLRACE_IO_BAD_ROWS_H_
#define MILLRACE_IO_BAD_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace millrace {

// Everybody who reads or transforms rows tells it of bad ones. What such a row then holds does not
// matter: it is left out. Not thread-safe.
//
//   if (!parse(cell, &value)) RETURN_IF_ERROR(bad.add(row, absl::DataLossError(...)));
class BadRows {
 public:
  // `rows` in all. `skip`: DataConfig::SKIP; else add() returns what is wrong.
  BadRows(int64_t rows, bool skip) : rows_(rows), skip_(skip) {}

  // `row` counts from 0 within the unit; one may be added often. Returns: `why`, or OK if such rows
  // are left out. REQUIRES: 0 <= row < rows.
  absl::Status add(int64_t row, absl::Status why);

  // All rows, because the unit cannot be read; what was added before is forgotten. Returns: as add.
  absl::Status add_all(absl::Status why);

  bool contains(int64_t row) const { return !flags_.empty() && flags_[row] != 0; }
  int64_t count() const { return count_; }
  const absl::Status& first() const { return first_; }  // what was added first

 private:
  const int64_t rows_;
  const bool skip_;
  int64_t count_ = 0;
  std::vector<uint8_t> flags_;  // empty: none
  absl::Status first_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_BAD_ROWS_H_
