// Reading of the numbers and addresses that launchers put into environment variables.
#ifndef MILLRACE_DISTRIBUTED_ENVIRONMENT_ENVIRONMENT_VARIABLES_H_
#define MILLRACE_DISTRIBUTED_ENVIRONMENT_ENVIRONMENT_VARIABLES_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns the value of a variable, none if it is not set.
using GetVariable = std::function<std::optional<std::string>(const char*)>;

// Returns the value of a variable of this process.
std::optional<std::string> process_variable(const char* name);

// A number and the name of its variable.
struct VariableNumber {
  int value = 0;
  const char* variable = nullptr;
};

// Returns InvalidArgument: "VARIABLE is not set, but BECAUSE".
absl::Status variable_not_set(const char* variable, absl::string_view because);

// Reads `variable`, or `second` if `variable` is not set. Returns none if neither is set. Errors:
// InvalidArgument naming the variable, if its value is not a whole number.
absl::StatusOr<std::optional<VariableNumber>> read_number(const GetVariable& get,
                                                          const char* variable,
                                                          const char* second = nullptr);

// Errors: InvalidArgument naming the variable, if the number is outside [low, high].
absl::Status require_range(const VariableNumber& number, int low, int high);
absl::Status require_at_least(const VariableNumber& number, int low);

// Reads a number of at least `low` into `value`, which keeps its value if neither variable is set.
// Errors: InvalidArgument naming the variable, if its value is not a whole number or is smaller.
absl::Status read_optional_number(const GetVariable& get, const char* variable, const char* second,
                                  int low, int* value);

// The address at which rank 0 serves the rendezvous.
struct MasterAddress {
  std::string host;
  int port = 0;
};

// Reads the address of rank 0 from two variables.
// Errors: InvalidArgument naming the variable: not set, an empty host, no port in [1, 65535].
absl::StatusOr<MasterAddress> read_master_address(const GetVariable& get, const char* host,
                                                  const char* port);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_ENVIRONMENT_ENVIRONMENT_VARIABLES_H_
