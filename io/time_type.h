// What the integers of dates and times count.
#ifndef MILLRACE_IO_TIME_TYPE_H_
#define MILLRACE_IO_TIME_TYPE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

struct TimeType {
  enum class Kind {
    kNone,       // no date and no time, such as int64
    kDate,       // days
    kLocal,      // timestamps without a zone
    kInstant,    // timestamps with a zone: since 1970-01-01 UTC
    kTimeOfDay,  // since midnight
  };
  Kind kind = Kind::kNone;
  int64_t nanoseconds = 1;  // of the unit
  friend bool operator==(const TimeType&, const TimeType&) = default;
};

// Parses the name of a type as Arrow gives it, also of a list: "timestamp[ms]", "date32[day]",
// "timestamp[us, tz=UTC]", "time64[ns]". Other names are kNone.
TimeType parse_time_type(absl::string_view type_name);

// Returns true if values of both have one meaning after conversion to one unit: instants do not fit
// timestamps without a zone, and times of the day fit only themselves. kNone fits all.
bool have_one_meaning(const TimeType& a, const TimeType& b);

// Converts a value between units, rounding down. Returns false if the result does not fit int64.
// REQUIRES: have_one_meaning(from, to).
bool convert_time(const TimeType& from, const TimeType& to, int64_t* value);

}  // namespace millrace

#endif  // MILLRACE_IO_TIME_TYPE_H_
