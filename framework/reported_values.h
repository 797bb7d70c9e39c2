// Named values that hooks and models report between two reports.
#ifndef MILLRACE_FRAMEWORK_REPORTED_VALUES_H_
#define MILLRACE_FRAMEWORK_REPORTED_VALUES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// How several values of one name become one.
enum class Reduction { kMean, kSum, kMin, kMax, kLast };

// Reduces in double; a not-a-number among the values makes the result one (but not under kLast).
// Not thread-safe.
class ReportedValues {
 public:
  // A name keeps the reduction of its first value.
  void add(absl::string_view name, double value, Reduction reduction);
  // Adds name → reduced value to `values`, and forgets them.
  void drain(std::map<std::string, double>* values);

 private:
  struct Entry {
    Reduction reduction;
    double value = 0;
    int64_t count = 0;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORTED_VALUES_H_
