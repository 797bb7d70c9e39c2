// Variables of the environment for tests.
#ifndef MILLRACE_TESTS_ENVIRONMENT_SCOPED_VARIABLE_H_
#define MILLRACE_TESTS_ENVIRONMENT_SCOPED_VARIABLE_H_

#include <cstdlib>
#include <optional>
#include <string>

namespace millrace {

// Sets a variable of the environment, and restores the former value at the end of its lifetime.
// REQUIRES: no other thread reads or sets variables meanwhile.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const former = std::getenv(name)) former_ = former;
    ::setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    former_.has_value() ? ::setenv(name_, former_->c_str(), 1) : ::unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> former_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_ENVIRONMENT_SCOPED_VARIABLE_H_
