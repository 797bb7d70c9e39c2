#include "optim/schedule/schedule_members.h"

#include "base/status_matchers.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

class Twice : public Schedule {
 public:
  Twice(double learning_rate, const ScheduleScope& scope)
      : Schedule(scope.unit), rate_(2 * learning_rate) {}
  double rate_at(double position) const override { return rate_; }

 private:
  double rate_;
};

const ScheduleMember kTwice = {
    ScheduleConfig::kConstant,
    [](absl::string_view where, const ScheduleConfig& config, const ScheduleScope& scope,
       FieldErrors* errors) {
      if (config.constant().factor() == 0) errors->add(wrong(where, "is nothing"));
    },
    [](const ScheduleConfig& config, double learning_rate,
       const ScheduleScope& scope) -> absl::StatusOr<std::unique_ptr<Schedule>> {
      return std::make_unique<Twice>(learning_rate, scope);
    },
};

std::string errors_of(const ScheduleMembers& members, const ScheduleConfig& config) {
  FieldErrors errors;
  members.check("here", config, ScheduleScope(), &errors);
  return std::string(errors.status().message());
}

TEST(ScheduleMembersTest, FindsAMemberByItsKind) {
  const ScheduleMembers members({kTwice});
  EXPECT_EQ(members.find(ScheduleConfig::kConstant)->check, kTwice.check);
  EXPECT_EQ(members.find(ScheduleConfig::kMyle), nullptr);
  EXPECT_EQ(members.find(ScheduleConfig::KIND_NOT_SET), nullptr);
}

TEST(ScheduleMembersTest, CreatesTheKindThatIsChosen) {
  ScheduleConfig config;
  config.mutable_constant();
  const ScheduleScope scope{.unit = ScheduleConfig::EPOCHS, .totals = {}, .members = nullptr};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Schedule> schedule,
                       ScheduleMembers({kTwice}).create(config, 3, scope));
  EXPECT_EQ(schedule->rate_at(0), 6);
  EXPECT_EQ(schedule->unit(), ScheduleConfig::EPOCHS);
}

TEST(ScheduleMembersTest, ErrorsNameTheKind) {
  const ScheduleMembers members({kTwice});
  ScheduleConfig config;
  EXPECT_EQ(errors_of(members, config), "here: has no kind; set one of constant");
  config.mutable_constant();
  EXPECT_EQ(errors_of(members, config), "");
  config.mutable_constant()->set_factor(0);
  EXPECT_EQ(errors_of(members, config), "here.constant: is nothing");
}

}  // namespace
}  // namespace millrace
