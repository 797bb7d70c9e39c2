#include "optim/schedule/schedule_table.h"

#include "base/status_macros.h"
#include "optim/schedule/kinds/chained_schedule.h"
#include "optim/schedule/kinds/constant_schedule.h"
#include "optim/schedule/kinds/cosine_schedule.h"
#include "optim/schedule/kinds/exponential_schedule.h"
#include "optim/schedule/kinds/inverse_square_root_schedule.h"
#include "optim/schedule/kinds/linear_warmup_schedule.h"
#include "optim/schedule/kinds/multi_step_schedule.h"
#include "optim/schedule/kinds/myle_schedule.h"
#include "optim/schedule/kinds/polynomial_schedule.h"
#include "optim/schedule/kinds/reduce_on_plateau_schedule.h"
#include "optim/schedule/kinds/step_schedule.h"
#include "optim/schedule/kinds/tri_stage_schedule.h"
#include "optim/schedule/schedule_registry.h"

namespace millrace {
namespace {

template <typename Member>
ScheduleMember member(ScheduleConfig::KindCase kind, bool chainable = true) {
  return {kind, &Member::check, &Member::create, chainable};
}

void check_custom(absl::string_view where, const ScheduleConfig& config, const ScheduleScope& scope,
                  FieldErrors* errors) {
  errors->add(annotate(schedule_registry().check(config.custom().name()), where));
}

absl::StatusOr<std::unique_ptr<Schedule>> create_custom(const ScheduleConfig& config,
                                                        double learning_rate,
                                                        const ScheduleScope& scope) {
  const ScheduleInput input{learning_rate, scope.unit, scope.totals};
  return schedule_registry().create(config.custom(), input);
}

}  // namespace

const ScheduleMembers& schedule_table() {
  static const ScheduleMembers* const table = new ScheduleMembers({
      member<ConstantSchedule>(ScheduleConfig::kConstant),
      member<LinearWarmupSchedule>(ScheduleConfig::kLinearWarmup),
      member<StepSchedule>(ScheduleConfig::kStep),
      member<MultiStepSchedule>(ScheduleConfig::kMultiStep),
      member<ExponentialSchedule>(ScheduleConfig::kExponential),
      member<CosineSchedule>(ScheduleConfig::kCosine),
      member<PolynomialSchedule>(ScheduleConfig::kPolynomial),
      member<InverseSquareRootSchedule>(ScheduleConfig::kInverseSquareRoot),
      member<MyleSchedule>(ScheduleConfig::kMyle),
      member<TriStageSchedule>(ScheduleConfig::kTriStage),
      member<ChainedSchedule>(ScheduleConfig::kChained),
      member<ReduceOnPlateauSchedule>(ScheduleConfig::kReduceOnPlateau, false),
      {ScheduleConfig::kCustom, &check_custom, &create_custom},
  });
  return *table;
}

}  // namespace millrace
