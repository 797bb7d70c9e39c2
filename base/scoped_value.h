// A variable that has another value for a while.
#ifndef MILLRACE_BASE_SCOPED_VALUE_H_
#define MILLRACE_BASE_SCOPED_VALUE_H_

#include <utility>

namespace millrace {

// Gives `variable` a value for as long as this object lives, then the value it had before. The
// variable is borrowed.
//
//   const ScopedValue<bool> ending(ending_, true);
template <typename T>
class ScopedValue {
 public:
  ScopedValue(T& variable, T value)
      : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~ScopedValue() { variable_ = std::move(before_); }
  ScopedValue(const ScopedValue&) = delete;
  ScopedValue& operator=(const ScopedValue&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_SCOPED_VALUE_H_
