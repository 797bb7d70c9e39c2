// A job of three ranks with a table, one of which sends a damaged table message.
#ifndef MILLRACE_TESTS_RANKS_BAD_FRAMES_H_
#define MILLRACE_TESTS_RANKS_BAD_FRAMES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "distributed/collectives.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace::bad_frames {

inline constexpr int kRanks = 3;
inline constexpr int kSender = 1;  // sends the damaged message
inline constexpr int kReceiver = 2;

// An exchange of tables of the job: three in each step, then two for each batch of the evaluation
// after step 2.
struct Exchange {
  const char* name;
  int64_t number;  // from 0
};
const std::vector<Exchange>& exchanges();

struct Damage {
  const char* name;
  std::function<void(ByteBuffer&)> make;  // changes a message
  std::string said;                       // part of the receiver's error
};
// Returns damages that every exchange detects.
const std::vector<Damage>& damages();

// Returns the options of a rank: 4 steps.
TinyTrainerOptions options_of(int rank);
// Trains a rank. Errors: any error of the training.
absl::Status train(const TinyTrainerOptions& options, std::unique_ptr<Collectives> collectives);
// Trains a rank; kSender damages its message to kReceiver in the exchange.
absl::Status train(std::unique_ptr<Collectives> collectives, int64_t exchange,
                   const std::function<void(ByteBuffer&)>& damage);

// Expects the receiver to name the damage and the sender, and the others to report the same error.
// `ends`: by rank.
void expect_damage_is_named(const std::vector<absl::Status>& ends, const Damage& damage);

}  // namespace millrace::bad_frames

#endif  // MILLRACE_TESTS_RANKS_BAD_FRAMES_H_
