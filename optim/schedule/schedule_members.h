// The kinds of schedules, by their field in ScheduleConfig.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_MEMBERS_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_MEMBERS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "optim/schedule/schedule_scope.h"
#include "proto/field_errors.h"
#include "proto/schedule.pb.h"

namespace millrace {

// One kind of schedule.
struct ScheduleMember {
  // Adds an error for each number of the kind's message that is out of range. `where` is the place
  // of that message in the configuration. Called with configurations of this kind alone.
  using Check = void (*)(absl::string_view where, const ScheduleConfig& config,
                         const ScheduleScope& scope, FieldErrors* errors);
  // Returns a schedule whose rates are multiples of `learning_rate`. Called only if the check has
  // found no error. Errors: those of a part from outside.
  using Create = absl::StatusOr<std::unique_ptr<Schedule>> (*)(const ScheduleConfig& config,
                                                               double learning_rate,
                                                               const ScheduleScope& scope);

  ScheduleConfig::KindCase kind = ScheduleConfig::KIND_NOT_SET;
  Check check = nullptr;
  Create create = nullptr;
  // If true, `chained` accepts this kind: the rate follows from the position alone.
  bool chainable = true;
};

// A set of kinds, immutable and safe for concurrent use.
class ScheduleMembers {
 public:
  // REQUIRES: kinds differ.
  explicit ScheduleMembers(std::vector<ScheduleMember> members) : members_(std::move(members)) {}

  // Returns the member of that kind, or null. Valid during the lifetime of this object.
  const ScheduleMember* find(ScheduleConfig::KindCase kind) const;

  // Adds all errors of the kind that is chosen, or that none is. `where` is the place of `config`.
  void check(absl::string_view where, const ScheduleConfig& config, const ScheduleScope& scope,
             FieldErrors* errors) const;

  // Returns the schedule. REQUIRES: check() with the same arguments adds no error. Errors: those of
  // ScheduleMember::Create.
  absl::StatusOr<std::unique_ptr<Schedule>> create(const ScheduleConfig& config,
                                                   double learning_rate,
                                                   const ScheduleScope& scope) const;

 private:
  std::vector<ScheduleMember> members_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_MEMBERS_H_
