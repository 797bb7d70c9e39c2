#include "distributed/rank_environment.h"

#include <cstdlib>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using Get = std::function<std::optional<std::string>(const char*)>;

// A number with the name of the variable that it came from.
struct Number {
  int value = 0;
  const char* variable = nullptr;  // null: it is the default
};

absl::Status not_set(const char* variable, const char* because) {
  return absl::InvalidArgumentError(absl::StrCat(variable, " is not set, but ", because));
}

absl::Status bad_value(const char* variable, absl::string_view value, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(variable, " is \"", value, "\"; expected is ", expected));
}

// Reads `variable`, or `second` where that is not set; none where neither is.
absl::StatusOr<std::optional<Number>> read_number(const Get& get, const char* variable,
                                                  const char* second = nullptr) {
  std::optional<std::string> text = get(variable);
  if (!text && second != nullptr) {
    variable = second;
    text = get(variable);
  }
  if (!text) return std::nullopt;
  Number number{.variable = variable};
  if (!absl::SimpleAtoi(*text, &number.value)) return bad_value(variable, *text, "a whole number");
  return number;
}

absl::Status require(const Number& number, int low, int high) {
  if (number.value >= low && number.value <= high) return absl::OkStatus();
  std::string expected = high == std::numeric_limits<int>::max()
                             ? absl::StrCat("a number of at least ", low)
                             : absl::StrCat("a number from ", low, " to ", high);
  return bad_value(number.variable, absl::StrCat(number.value), expected);
}

// Reads a number that may be missing, and is at least `low`.
absl::Status read_optional(const Get& get, const char* variable, const char* second, int low,
                           int* value) {
  ASSIGN_OR_RETURN(std::optional<Number> number, read_number(get, variable, second));
  if (!number) return absl::OkStatus();
  RETURN_IF_ERROR(require(*number, low, std::numeric_limits<int>::max()));
  *value = number->value;
  return absl::OkStatus();
}

absl::Status read_master(const Get& get, RankEnvironment* environment) {
  std::optional<std::string> address = get("MASTER_ADDR");
  if (!address) return not_set("MASTER_ADDR", "there is more than one rank");
  environment->master_address = std::string(absl::StripAsciiWhitespace(*address));
  if (environment->master_address.empty()) {
    return bad_value("MASTER_ADDR", *address, "the address of the machine of rank 0");
  }
  ASSIGN_OR_RETURN(std::optional<Number> port, read_number(get, "MASTER_PORT"));
  if (!port) return not_set("MASTER_PORT", "there is more than one rank");
  RETURN_IF_ERROR(require(*port, 1, 65535));
  environment->master_port = port->value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RankEnvironment> read_rank_environment(const Get& get) {
  const bool slurm = get("MASTER_ADDR").has_value();
  ASSIGN_OR_RETURN(std::optional<Number> world,
                   read_number(get, "WORLD_SIZE", slurm ? "SLURM_NTASKS" : nullptr));
  ASSIGN_OR_RETURN(std::optional<Number> rank,
                   read_number(get, "RANK", slurm ? "SLURM_PROCID" : nullptr));
  RankEnvironment environment;
  if (!world && !rank) return environment;
  if (!world) return not_set("WORLD_SIZE", absl::StrCat(rank->variable, " is").c_str());
  RETURN_IF_ERROR(require(*world, 1, std::numeric_limits<int>::max()));
  if (!rank) return not_set("RANK", absl::StrCat(world->variable, " is").c_str());
  RETURN_IF_ERROR(require(*rank, 0, world->value - 1));
  environment.world_size = world->value;
  environment.rank = rank->value;
  RETURN_IF_ERROR(read_optional(get, "LOCAL_RANK", slurm ? "SLURM_LOCALID" : nullptr, 0,
                                &environment.local_rank));
  RETURN_IF_ERROR(
      read_optional(get, "LOCAL_WORLD_SIZE", nullptr, 1, &environment.local_world_size));
  RETURN_IF_ERROR(
      read_optional(get, "TORCHELASTIC_RESTART_COUNT", nullptr, 0, &environment.restart_count));
  environment.agent_store = get("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (environment.world_size > 1) RETURN_IF_ERROR(read_master(get, &environment));
  return environment;
}

absl::StatusOr<RankEnvironment> read_rank_environment() {
  return read_rank_environment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

}  // namespace millrace
