// The bad rows of one unit, and the policy for bad rows.
#ifndef MILLRACE_IO_BAD_ROWS_H_
#define MILLRACE_IO_BAD_ROWS_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace millrace {

// The set of bad rows of a unit. Readers and transforms of rows report bad rows here. The values of
// a bad row do not matter, because the row is omitted. Not thread-safe.
//
//   if (!parse(cell, &value)) RETURN_IF_ERROR(bad.add(row, absl::DataLossError(...)));
class BadRows {
 public:
  // `rows`: number of rows of the unit. `skip`: true for DataConfig::SKIP; otherwise add() returns
  // the error.
  BadRows(int64_t rows, bool skip) : rows_(rows), skip_(skip) {}

  // Called with each row that add() makes bad, and why, before it is left out or an error.
  using Listener = std::function<absl::Status(int64_t row, const absl::Status& why)>;
  void set_listener(Listener listener) { listener_ = std::move(listener); }

  // Adds `row`, which counts from 0 within the unit. A row may be added repeatedly. Returns: `why`,
  // or OK if bad rows are omitted; the error of the listener. REQUIRES: 0 <= row < rows.
  absl::Status add(int64_t row, absl::Status why);

  // Adds all rows, because the unit cannot be read. Forgets the rows added before. Returns: as add.
  absl::Status add_all(absl::Status why);

  // Notes that `row` is none: it is left out, but is not bad. For formats whose rows have gaps.
  void omit(int64_t row);

  // Returns true for bad rows and those that are none.
  bool contains(int64_t row) const { return !flags_.empty() && flags_[row] != 0; }
  bool is_omitted(int64_t row) const { return omitted_ > 0 && flags_[row] == kOmitted; }
  int64_t omitted() const { return omitted_; }
  // Returns the number of bad rows.
  int64_t count() const { return count_; }
  const absl::Status& first() const { return first_; }  // the first error added

 private:
  const int64_t rows_;
  const bool skip_;
  enum : uint8_t { kGood, kBad, kOmitted };
  int64_t count_ = 0, omitted_ = 0;
  std::vector<uint8_t> flags_;  // empty: all are good
  absl::Status first_;
  Listener listener_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_BAD_ROWS_H_
