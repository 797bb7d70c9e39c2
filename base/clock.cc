#include "base/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace millrace {
namespace {

class RealClock : public Clock {
 public:
  absl::Time now() const override { return absl::Now(); }
  absl::Duration elapsed() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
  void sleep(absl::Duration duration) override { absl::SleepFor(duration); }
};

}  // namespace

Clock& Clock::real() {
  static RealClock* clock = new RealClock;
  return *clock;
}

}  // namespace millrace
