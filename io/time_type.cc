#include "io/time_type.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

using Kind = TimeType::Kind;

constexpr int64_t kDay = 86'400'000'000'000;

// Returns the nanoseconds of "s", "ms", "us", "ns" or "day", by which the text begins; 0: of none.
int64_t unit_of(absl::string_view text) {
  if (absl::StartsWith(text, "day")) return kDay;
  if (absl::StartsWith(text, "ms")) return 1'000'000;
  if (absl::StartsWith(text, "us")) return 1'000;
  if (absl::StartsWith(text, "ns")) return 1;
  return absl::StartsWith(text, "s") ? 1'000'000'000 : 0;
}

}  // namespace

TimeType parse_time_type(absl::string_view type_name) {
  constexpr struct {
    absl::string_view name;
    Kind kind;
  } kTypes[] = {{"timestamp[", Kind::kLocal},
                {"date32[", Kind::kDate},
                {"date64[", Kind::kDate},
                {"time32[", Kind::kTimeOfDay},
                {"time64[", Kind::kTimeOfDay}};
  for (const auto& [name, kind] : kTypes) {
    const size_t at = type_name.find(name);
    if (at == absl::string_view::npos) continue;
    absl::string_view inside = type_name.substr(at + name.size());
    inside = inside.substr(0, inside.find(']'));
    const int64_t unit = unit_of(inside);
    if (unit == 0) return {};
    const bool has_zone = absl::StrContains(inside, "tz=");
    return {has_zone ? Kind::kInstant : kind, unit};
  }
  return {};
}

bool have_one_meaning(const TimeType& a, const TimeType& b) {
  if (a.kind == Kind::kNone || b.kind == Kind::kNone || a.kind == b.kind) return true;
  if (a.kind == Kind::kTimeOfDay || b.kind == Kind::kTimeOfDay) return false;
  return a.kind == Kind::kDate || b.kind == Kind::kDate;
}

bool convert_time(const TimeType& from, const TimeType& to, int64_t* value) {
  if (from.nanoseconds >= to.nanoseconds) {  // every unit is a multiple of each smaller one
    return !__builtin_mul_overflow(*value, from.nanoseconds / to.nanoseconds, value);
  }
  const int64_t divisor = to.nanoseconds / from.nanoseconds;
  *value = *value / divisor - (*value % divisor < 0 ? 1 : 0);
  return true;
}

}  // namespace millrace
