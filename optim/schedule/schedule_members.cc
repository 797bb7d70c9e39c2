#include "optim/schedule/schedule_members.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

std::string kind_name(ScheduleConfig::KindCase kind) {
  return ScheduleConfig::descriptor()->FindFieldByNumber(kind)->name();
}

}  // namespace

const ScheduleMember* ScheduleMembers::find(ScheduleConfig::KindCase kind) const {
  for (const ScheduleMember& member : members_) {
    if (member.kind == kind) return &member;
  }
  return nullptr;
}

void ScheduleMembers::check(absl::string_view where, const ScheduleConfig& config,
                            const ScheduleScope& scope, FieldErrors* errors) const {
  const ScheduleMember* member = find(config.kind_case());
  if (member == nullptr) {
    std::vector<std::string> names;
    for (const ScheduleMember& known : members_) names.push_back(kind_name(known.kind));
    errors->add(wrong(where, absl::StrCat("has no kind; set one of ", absl::StrJoin(names, ", "))));
    return;
  }
  member->check(absl::StrCat(where, ".", kind_name(member->kind)), config, scope, errors);
}

absl::StatusOr<std::unique_ptr<Schedule>> ScheduleMembers::create(
    const ScheduleConfig& config, double learning_rate, const ScheduleScope& scope) const {
  const ScheduleMember* member = find(config.kind_case());
  MILLRACE_CHECK(member != nullptr) << "a schedule without a kind was not checked";
  return member->create(config, learning_rate, scope);
}

}  // namespace millrace
