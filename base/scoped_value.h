// A variable that has another value for a while.
#ifndef MILLRACE_BASE_SCOPED_VALUE_H_
#define MILLRACE_BASE_SCOPED_VALUE_H_

#include <utility>

namespace millrace {

// Sets `variable` during the lifetime of this object and restores the previous value in the
// destructor. Borrows the variable.
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
