// The conformance suite of learning-rate schedules.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_CONFORMANCE_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_CONFORMANCE_H_

#include <functional>
#include <limits>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "optim/schedule/schedule.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct ScheduleConformance {
  // Creates the schedule under test for a job with this learning rate, a new object at each call.
  std::function<std::unique_ptr<Schedule>(double learning_rate)> make;
  // The highest rate, as a multiple of the learning rate.
  double highest = 1;
  // The largest change of the rate from one position to the next, as a multiple of the learning
  // rate. Infinity if the rate may jump.
  double slope = std::numeric_limits<double>::infinity();
};

// Returns the promises of Schedule: rates that are finite, at least 0 and multiples of the learning
// rate, and depend on the position and the state alone, also on several threads; the same rate from
// end() on; no jumps, if there is a slope; after load_state() of state(), the rates of the
// original, also for values that both observe afterwards; state of another kind changes nothing;
// state that cannot have come from state() is refused; no rate is out of range after load_state()
// of a damaged state, which may be refused.
std::vector<Property> schedule_properties(const ScheduleConformance& conformance);

// Registers schedule_properties() as tests of `suite`, see register_properties(). The formula of a
// schedule needs separate tests.
//
//   [[maybe_unused]] const bool kSquareWave = register_schedule_conformance(
//       "SquareWave", {.make = [](double rate) { return std::make_unique<SquareWave>(rate); }});
bool register_schedule_conformance(const std::string& suite, const ScheduleConformance& conformance,
                                   std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_CONFORMANCE_H_
