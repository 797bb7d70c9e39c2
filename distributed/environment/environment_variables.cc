#include "distributed/environment/environment_variables.h"

#include <cstdlib>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::Status bad_value(const char* variable, absl::string_view value, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(variable, " is \"", value, "\"; expected is ", expected));
}

}  // namespace

std::optional<std::string> process_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

absl::Status variable_not_set(const char* variable, absl::string_view because) {
  return absl::InvalidArgumentError(absl::StrCat(variable, " is not set, but ", because));
}

absl::StatusOr<std::optional<VariableNumber>> read_number(const GetVariable& get,
                                                          const char* variable,
                                                          const char* second) {
  std::optional<std::string> text = get(variable);
  if (!text && second != nullptr) {
    variable = second;
    text = get(variable);
  }
  if (!text) return std::nullopt;
  VariableNumber number{.variable = variable};
  if (!absl::SimpleAtoi(*text, &number.value)) return bad_value(variable, *text, "a whole number");
  return number;
}

absl::Status require_range(const VariableNumber& number, int low, int high) {
  if (number.value >= low && number.value <= high) return absl::OkStatus();
  std::string expected = high == std::numeric_limits<int>::max()
                             ? absl::StrCat("a number of at least ", low)
                             : absl::StrCat("a number from ", low, " to ", high);
  return bad_value(number.variable, absl::StrCat(number.value), expected);
}

absl::Status require_at_least(const VariableNumber& number, int low) {
  return require_range(number, low, std::numeric_limits<int>::max());
}

absl::Status read_optional_number(const GetVariable& get, const char* variable, const char* second,
                                  int low, int* value) {
  ASSIGN_OR_RETURN(std::optional<VariableNumber> number, read_number(get, variable, second));
  if (!number) return absl::OkStatus();
  RETURN_IF_ERROR(require_at_least(*number, low));
  *value = number->value;
  return absl::OkStatus();
}

absl::StatusOr<MasterAddress> read_master_address(const GetVariable& get, const char* host,
                                                  const char* port) {
  MasterAddress master;
  std::optional<std::string> name = get(host);
  if (!name) return variable_not_set(host, "there is more than one rank");
  master.host = std::string(absl::StripAsciiWhitespace(*name));
  if (master.host.empty()) return bad_value(host, *name, "the address of the machine of rank 0");
  ASSIGN_OR_RETURN(std::optional<VariableNumber> number, read_number(get, port));
  if (!number) return variable_not_set(port, "there is more than one rank");
  RETURN_IF_ERROR(require_range(*number, 1, 65535));
  master.port = number->value;
  return master;
}

}  // namespace millrace
