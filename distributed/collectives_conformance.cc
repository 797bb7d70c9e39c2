#include "distributed/collectives_conformance.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/byte_buffer.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Returns an error that names the line from a body, unless the condition holds.
#define REQUIRE_RANK(condition)                                                         \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      return absl::InternalError(absl::StrCat("line ", __LINE__, ": not " #condition)); \
    }                                                                                   \
  } while (false)

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

int64_t sum_of_ranks(int world_size) { return int64_t{world_size} * (world_size - 1) / 2; }

// Depends on the rank and on `i`; not representable exactly.
float value_of(int rank, int64_t i) { return 0.1f * (rank + 1) / static_cast<float>(i % 97 + 1); }

at::Tensor values_of(int rank, int64_t count, at::ScalarType type) {
  at::Tensor tensor = at::empty({count}, at::kFloat);
  float* data = tensor.data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) data[i] = value_of(rank, i);
  return tensor.to(type);
}

std::string bytes_of(const at::Tensor& tensor) {
  return std::string(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
}

// Writes a message of an exchange, whose bytes depend on its sender and receiver.
void write_message(int from, int to, int64_t number, size_t size, ByteBuffer& buffer) {
  char block[1021];  // not a power of two, so that a shift is detected
  for (size_t i = 0; i < sizeof(block); ++i) {
    block[i] = static_cast<char>(31 * from + 17 * to + 7 * number + i);
  }
  buffer.resize(size);
  for (size_t i = 0; i < size; i += sizeof(block)) {
    std::memcpy(buffer.data() + i, block, std::min(size - i, sizeof(block)));
  }
}

bool is_message(const ByteBuffer& buffer, int from, int to, int64_t number, size_t size) {
  ByteBuffer wanted;
  write_message(from, to, number, size, wanted);
  return buffer.view() == wanted.view();
}

// Number of bytes from one rank to another.
using MessageSize = std::function<size_t(int from, int to)>;

// An exchange of a rank, with the buffers.
class Exchange {
 public:
  explicit Exchange(Collectives& c)
      : collectives_(c), sent_(c.world_size()), received_(c.world_size()) {}

  // The same buffers may be used again once the previous exchange has ended.
  void start(int64_t number, MessageSize size) {
    const int rank = collectives_.rank();
    number_ = number;
    size_ = std::move(size);
    for (int to = 0; to < sent_.size(); ++to) {
      write_message(rank, to, number, to == rank ? 3 : size_(rank, to), sent_[to]);
    }
    received_[rank].append("to be cleared");
    pending_ = collectives_.start_exchange(sent_, absl::MakeSpan(received_));
  }
  absl::Status wait() {
    RETURN_IF_ERROR(pending_->wait());
    const int rank = collectives_.rank();
    for (int from = 0; from < received_.size(); ++from) {
      if (from == rank) continue;
      REQUIRE_RANK(is_message(received_[from], from, rank, number_, size_(from, rank)));
    }
    REQUIRE_RANK(received_[rank].empty());
    return pending_->wait();  // again
  }
  absl::Status run(int64_t number, MessageSize size) {
    start(number, std::move(size));
    return wait();
  }

 private:
  Collectives& collectives_;
  std::vector<ByteBuffer> sent_;
  std::vector<ByteBuffer> received_;
  std::unique_ptr<PendingCollective> pending_;
  int64_t number_ = 0;
  MessageSize size_;
};

absl::Status know_themselves(Collectives& c, int world_size) {
  REQUIRE_RANK(c.world_size() == world_size);
  REQUIRE_RANK(c.rank() >= 0 && c.rank() < world_size);
  ASSIGN_OR_RETURN(std::vector<std::string> ranks, c.all_gather(absl::StrCat(c.rank())));
  REQUIRE_RANK(ranks.size() == world_size);
  for (int rank = 0; rank < world_size; ++rank) REQUIRE_RANK(ranks[rank] == absl::StrCat(rank));
  return absl::OkStatus();
}

absl::Status sum_integers(Collectives& c) {
  const int world_size = c.world_size();
  // Wraps around exactly as in two's complement.
  std::vector<int64_t> values = {c.rank(), 1, kLargest, kLeast, -c.rank()};
  auto pending = c.start_sum(absl::MakeSpan(values));
  RETURN_IF_ERROR(pending->wait());
  RETURN_IF_ERROR(pending->wait());  // again
  REQUIRE_RANK(values[0] == sum_of_ranks(world_size));
  REQUIRE_RANK(values[1] == world_size);
  REQUIRE_RANK(values[2] == static_cast<int64_t>(static_cast<uint64_t>(kLargest) * world_size));
  REQUIRE_RANK(values[3] == static_cast<int64_t>(static_cast<uint64_t>(kLeast) * world_size));
  REQUIRE_RANK(values[4] == -sum_of_ranks(world_size));

  std::vector<int64_t> many(100'000);
  for (int64_t i = 0; i < many.size(); ++i) many[i] = i * (c.rank() + 1);
  RETURN_IF_ERROR(c.start_sum(absl::MakeSpan(many))->wait());
  const int64_t factor = sum_of_ranks(world_size) + world_size;
  for (int64_t i = 0; i < many.size(); ++i) REQUIRE_RANK(many[i] == i * factor);

  std::vector<int64_t> none;
  return c.start_sum(absl::MakeSpan(none))->wait();
}

// The order is the order of ranks: (2^60 + 1) + -2^60 is 0 in double, 2^60 + -2^60 + 1 is 1.
absl::Status sum_doubles(Collectives& c) {
  const double large = std::ldexp(1.0, 60);
  const auto value = [&](int rank, size_t i) {
    const double values[] = {0.1 * (rank + 1),
                             rank % 3 == 0   ? large
                             : rank % 3 == 1 ? -large
                                             : 1.0,
                             rank == 0 ? std::numeric_limits<double>::infinity() : 1.0, -0.0};
    return values[i];
  };
  std::vector<double> values, sums;
  for (size_t i = 0; i < 4; ++i) {
    values.push_back(value(c.rank(), i));
    double sum = value(0, i);
    for (int rank = 1; rank < c.world_size(); ++rank) sum += value(rank, i);
    sums.push_back(sum);
  }
  auto pending = c.start_sum(absl::MakeSpan(values));
  RETURN_IF_ERROR(pending->wait());
  RETURN_IF_ERROR(pending->wait());  // again
  REQUIRE_RANK(std::memcmp(values.data(), sums.data(), sizeof(double) * sums.size()) == 0);

  std::vector<double> many(100'000, 0.5);
  RETURN_IF_ERROR(c.start_sum(absl::MakeSpan(many))->wait());
  for (const double number : many) REQUIRE_RANK(number == 0.5 * c.world_size());
  std::vector<double> none;
  return c.start_sum(absl::MakeSpan(none))->wait();
}

absl::Status sum_tensors(Collectives& c) {
  const int world_size = c.world_size();
  for (at::ScalarType type : {at::kFloat, at::kDouble, at::kLong}) {
    // Empty, small, and larger than any buffer of the system.
    for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{2} << 20}) {
      at::Tensor tensor = at::arange(count, at::kLong).mul(c.rank() + 1).to(type);
      RETURN_IF_ERROR(c.start_sum(tensor)->wait());
      // Integers below 2^24 are exact in all types.
      const int64_t factor = sum_of_ranks(world_size) + world_size;
      REQUIRE_RANK(tensor.equal(at::arange(count, at::kLong).mul(factor).to(type)));
    }
  }
  at::Tensor matrix = at::full({3, 5}, 0.5, at::kDouble);
  RETURN_IF_ERROR(c.start_sum(matrix)->wait());
  REQUIRE_RANK(matrix.equal(at::full({3, 5}, 0.5 * world_size, at::kDouble)));
  return absl::OkStatus();
}

absl::Status gather_strings(Collectives& c) {
  // Rank r gives r * 1000 bytes: none at rank 0.
  const auto text_of = [](int rank) { return std::string(rank * 1000, 'a' + rank); };
  ASSIGN_OR_RETURN(std::vector<std::string> all, c.all_gather(text_of(c.rank())));
  REQUIRE_RANK(all.size() == c.world_size());
  for (int rank = 0; rank < all.size(); ++rank) REQUIRE_RANK(all[rank] == text_of(rank));

  ASSIGN_OR_RETURN(all, c.all_gather(""));
  REQUIRE_RANK(all == std::vector<std::string>(c.world_size()));

  const std::string with_zeros("a\0b\xff", 4);
  ASSIGN_OR_RETURN(all, c.all_gather(with_zeros));
  REQUIRE_RANK(all == std::vector<std::string>(c.world_size(), with_zeros));
  return absl::OkStatus();
}

absl::Status broadcast_from_each(Collectives& c) {
  for (int root = 0; root < c.world_size(); ++root) {
    for (int length : {0, 1, 3 << 20}) {
      const std::string wanted(length, 'A' + root);
      const std::string given = c.rank() == root ? wanted : "not this";
      ASSIGN_OR_RETURN(std::string received, c.broadcast(given, root));
      REQUIRE_RANK(received == wanted);
    }
  }
  return absl::OkStatus();
}

absl::Status exchange_messages(Collectives& c) {
  const int world_size = c.world_size();
  Exchange exchange(c);
  const MessageSize sizes[] = {
      [](int, int) { return 0; }, [](int from, int to) { return 1 + from + 2 * to; },
      // Some messages, or all messages of a rank, are empty.
      [](int from, int to) { return (from + to) % 2 * 1000; },
      [](int from, int) { return from == 0 ? 100'000 : 0; },
      // Messages larger than any buffer of the system, in both directions or in one.
      [](int from, int to) { return (12 << 20) + from + 2 * to; },
      [](int from, int) { return from == 0 ? 12 << 20 : 1; },
      [](int, int to) { return to == 0 ? 6 << 20 : 0; }};
  int64_t number = 0;
  int64_t bytes = 0;
  for (const MessageSize& size : sizes) {
    RETURN_IF_ERROR(exchange.run(++number, size));
    for (int to = 0; to < world_size; ++to) {
      if (to != c.rank()) bytes += static_cast<int64_t>(size(c.rank(), to)) + kTableHeaderBytes;
    }
    REQUIRE_RANK(c.table_traffic().bytes_sent == bytes);
  }
  return absl::OkStatus();
}

// Ranks are early and late in turn. Buffers are written to as soon as an exchange has ended.
absl::Status random_exchanges(Collectives& c) {
  std::mt19937_64 own(c.rank());
  Exchange exchanges[2] = {Exchange(c), Exchange(c)};
  for (int64_t number = 0; number < 100; ++number) {
    const MessageSize size = [=](int from, int to) -> size_t {
      std::mt19937_64 random(1 + number * 1000 + from * 30 + to);
      random.discard(10);
      const size_t limits[] = {1, 100, 10'000, 300'000};
      return random() % limits[random() % 4];
    };
    Exchange& exchange = exchanges[number % 2];
    exchange.start(number, size);
    for (uint64_t i = own() % 4 == 0 ? own() % 1000 : 0; i > 0; --i) std::this_thread::yield();
    RETURN_IF_ERROR(exchange.wait());
  }
  return absl::OkStatus();
}

// Small messages and the other channels do not wait for one another, in any order on each rank. For
// large messages all ranks wait in the same order.
absl::Status exchanges_beside_sums(Collectives& c) {
  for (int64_t round = 0; round < 12; ++round) {
    const bool large = round % 4 == 3;
    const size_t bytes = large ? 6 << 20 : 5000;
    std::vector<int64_t> control = {1};
    at::Tensor data = at::full({10'000}, 1.0, at::kFloat);
    Exchange exchange(c);
    std::unique_ptr<PendingCollective> pending[2];
    const int order = static_cast<int>((c.rank() + round) % 3);
    for (int i = 0; i < 3; ++i) {
      switch ((order + i) % 3) {
        case 0: pending[0] = c.start_sum(absl::MakeSpan(control)); break;
        case 1: pending[1] = c.start_sum(data); break;
        default: exchange.start(round, [=](int from, int to) { return bytes + from + to; });
      }
    }
    for (int i = 0; i < 3; ++i) {
      const int which = ((large ? 0 : order) + 2 * i) % 3;
      RETURN_IF_ERROR(which == 2 ? exchange.wait() : pending[which]->wait());
    }
    REQUIRE_RANK(control[0] == c.world_size());
    REQUIRE_RANK(data.equal(at::full({10'000}, c.world_size(), at::kFloat)));
  }
  return absl::OkStatus();
}

// The order of waiting differs from the order of starting.
absl::Status many_exchanges_under_way(Collectives& c) {
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int64_t number = 0; number < 40; ++number) {
    exchanges.push_back(std::make_unique<Exchange>(c));
    exchanges.back()->start(number, [=](int from, int to) { return number * 10'000 + from + to; });
  }
  for (int i = 39; i >= 0; --i) RETURN_IF_ERROR(exchanges[(i + 20 * (c.rank() % 2)) % 40]->wait());
  return absl::OkStatus();
}

// Dropping an exchange frees its buffers at once.
absl::Status exchanges_not_waited_for(Collectives& c) {
  Exchange kept(c);
  for (int64_t number = 0; number < 12; ++number) {
    const size_t bytes = number % 3 == 0 ? 6 << 20 : 100;
    const MessageSize size = [=](int from, int to) { return bytes + from + to; };
    if ((number + c.rank()) % 2 == 0) {
      Exchange(c).start(number, size);
    } else {
      RETURN_IF_ERROR(kept.run(number, size));
    }
  }
  return kept.run(12, [](int, int) { return 10; });
}

// The control and data channels do not wait for one another, in any order on each rank.
absl::Status channels_are_independent(Collectives& c) {
  for (int round = 0; round < 10; ++round) {
    std::vector<int64_t> control = {1};
    at::Tensor data = at::full({10'000}, 1.0, at::kFloat);
    if (c.rank() % 2 == 0) {
      auto behind = c.start_sum(absl::MakeSpan(control));
      RETURN_IF_ERROR(c.start_sum(data)->wait());
      ASSIGN_OR_RETURN(std::string text, c.broadcast("go", 0));
      REQUIRE_RANK(text == "go");
      RETURN_IF_ERROR(behind->wait());
    } else {
      auto pending = c.start_sum(data);
      auto behind = c.start_sum(absl::MakeSpan(control));
      RETURN_IF_ERROR(behind->wait());
      RETURN_IF_ERROR(pending->wait());
      RETURN_IF_ERROR(c.broadcast("", 0).status());
    }
    REQUIRE_RANK(control[0] == c.world_size());
    REQUIRE_RANK(data.equal(at::full({10'000}, c.world_size(), at::kFloat)));
  }
  return absl::OkStatus();
}

// Many collectives on both channels; the order of waiting differs from the order of starting.
absl::Status many_under_way(Collectives& c) {
  constexpr int kCount = 64;
  std::vector<std::vector<int64_t>> control(kCount);
  std::vector<at::Tensor> data(kCount);
  std::vector<std::unique_ptr<PendingCollective>> pending;
  for (int i = 0; i < kCount; ++i) {
    control[i].assign(i + 1, i);
    data[i] = at::full({i * 100 + 1}, i, at::kFloat);
    pending.push_back(c.start_sum(absl::MakeSpan(control[i])));
    pending.push_back(c.start_sum(data[i]));
  }
  for (int i = 2 * kCount - 1; i >= 0; --i) RETURN_IF_ERROR(pending[i]->wait());
  for (int i = 0; i < kCount; ++i) {
    REQUIRE_RANK(control[i] == std::vector<int64_t>(i + 1, i * c.world_size()));
    REQUIRE_RANK(data[i].equal(at::full({i * 100 + 1}, i * c.world_size(), at::kFloat)));
  }
  return absl::OkStatus();
}

// Sums of numbers that round have the same bits on all ranks, each time.
absl::Status bits_are_the_same(Collectives& c) {
  for (int64_t count : {7, 1000, 300'001}) {
    for (at::ScalarType type : {at::kFloat, at::kDouble}) {
      std::string first;
      for (int round = 0; round < 3; ++round) {
        at::Tensor tensor = values_of(c.rank(), count, type);
        RETURN_IF_ERROR(c.start_sum(tensor)->wait());
        const std::string bits = bytes_of(tensor);
        if (round == 0) first = bits;
        REQUIRE_RANK(bits == first);
      }
      ASSIGN_OR_RETURN(std::vector<std::string> all, c.all_gather(first));
      for (const std::string& other : all) REQUIRE_RANK(other == first);
    }
  }
  return absl::OkStatus();
}

// A pending collective without a wait continues.
absl::Status not_waited_for(Collectives& c) {
  at::Tensor dropped = at::full({100}, 1.0, at::kFloat);
  std::vector<int64_t> values = {1};
  c.start_sum(dropped).reset();
  c.start_sum(absl::MakeSpan(values)).reset();
  ASSIGN_OR_RETURN(std::vector<std::string> all, c.all_gather("x"));
  REQUIRE_RANK(all.size() == c.world_size());
  // `values` must live until the end of its sum, which precedes the end of any later sum.
  std::vector<int64_t> later = {2};
  RETURN_IF_ERROR(c.start_sum(absl::MakeSpan(later))->wait());
  REQUIRE_RANK(later[0] == 2 * c.world_size());
  return absl::OkStatus();
}

void expect_all_ok(const std::vector<absl::Status>& results, const char* part) {
  for (int rank = 0; rank < results.size(); ++rank) {
    EXPECT_THAT(results[rank], IsOk()) << part << ", rank " << rank;
  }
}

// Checks that every collective returns `error` at once.
absl::Status all_return(Collectives& c, const absl::Status& error) {
  std::vector<int64_t> values = {1};
  REQUIRE_RANK(c.start_sum(absl::MakeSpan(values))->wait() == error);
  REQUIRE_RANK(c.start_sum(at::full({2}, 1.0, at::kFloat))->wait() == error);
  REQUIRE_RANK(c.all_gather("x").status() == error);
  REQUIRE_RANK(c.broadcast("x", 0).status() == error);
  std::vector<ByteBuffer> buffers(c.world_size());
  std::vector<ByteBuffer> received(c.world_size());
  REQUIRE_RANK(c.start_exchange(buffers, absl::MakeSpan(received))->wait() == error);
  return absl::OkStatus();
}

// The activity of the other ranks while one rank leaves the job or fails.
enum class Waiting { kControl, kData, kBoth, kGather, kTables, kLargeTables, kAll, kNowhere };

// Joins the collective of `waiting`, which cannot succeed. Returns its error; OK if there was no
// wait.
absl::Status wait_in_vain(Collectives& c, Waiting waiting) {
  std::vector<int64_t> values(16, 1);
  at::Tensor tensor = at::full({1 << 20}, 1.0, at::kFloat);
  std::unique_ptr<PendingCollective> control;
  if (waiting == Waiting::kControl || waiting == Waiting::kBoth || waiting == Waiting::kAll) {
    control = c.start_sum(absl::MakeSpan(values));
  }
  if (waiting == Waiting::kTables || waiting == Waiting::kLargeTables || waiting == Waiting::kAll) {
    const size_t size = waiting == Waiting::kTables ? 100 : 6 << 20;
    Exchange exchange(c);
    exchange.start(0, [=](int, int) { return size; });
    std::unique_ptr<PendingCollective> data;
    if (waiting == Waiting::kAll) data = c.start_sum(tensor);
    const absl::Status tables = exchange.wait();
    REQUIRE_RANK(control == nullptr || control->wait() == tables);
    REQUIRE_RANK(data == nullptr || data->wait() == tables);
    return tables;
  }
  if (waiting == Waiting::kData) return c.start_sum(tensor)->wait();
  if (waiting == Waiting::kGather) return c.all_gather("abc").status();
  if (waiting == Waiting::kBoth) {
    const absl::Status data = c.start_sum(tensor)->wait();
    REQUIRE_RANK(control->wait() == data);
    return data;
  }
  return control == nullptr ? absl::OkStatus() : control->wait();
}

// Rank `failing` fails in the backward pass of step 7 while the others wait.
void test_failing_rank(const RunRanks& run_ranks, int failing, Waiting waiting) {
  std::vector<absl::Status> results = run_ranks([&](std::unique_ptr<Collectives> c) {
    RETURN_IF_ERROR(know_themselves(*c, c->world_size()));
    absl::Status error;
    if (c->rank() == failing) {
      c->set_phase(RankPhase::kBackward, 7);
      c->fail(absl::InternalError("disk \"x\" is full"));
      c->fail(absl::InternalError("and this comes too late"));
    } else {
      c->set_phase(RankPhase::kForward, 7);
      error = wait_in_vain(*c, waiting);
    }
    std::vector<int64_t> values = {1};
    if (error.ok()) error = c->start_sum(absl::MakeSpan(values))->wait();
    REQUIRE_RANK(!error.ok());
    RETURN_IF_ERROR(all_return(*c, error));
    return error;
  });
  for (int rank = 0; rank < results.size(); ++rank) {
    EXPECT_EQ(results[rank], peer_error(failing, RankPhase::kBackward, 7, "disk \"x\" is full"))
        << "rank " << rank << ", waiting in " << static_cast<int>(waiting);
  }
}

// Rank `leaving` destroys its Collectives while the others wait.
void test_leaving_rank(const RunRanks& run_ranks, int leaving, Waiting waiting) {
  std::vector<absl::Status> results = run_ranks([&](std::unique_ptr<Collectives> c) {
    RETURN_IF_ERROR(know_themselves(*c, c->world_size()));
    if (c->rank() == leaving) {
      c.reset();
      return absl::OkStatus();
    }
    const absl::Status error = wait_in_vain(*c, waiting);
    REQUIRE_RANK(!error.ok());
    RETURN_IF_ERROR(all_return(*c, error));
    return error;
  });
  for (int rank = 0; rank < results.size(); ++rank) {
    if (rank == leaving) {
      EXPECT_THAT(results[rank], IsOk());
    } else {
      EXPECT_THAT(results[rank], StatusIs(absl::StatusCode::kAborted,
                                          HasSubstr(absl::StrCat("rank ", leaving, " failed"))))
          << "rank " << rank;
    }
  }
}

// Rank 0 destroys its Collectives with collectives under way; no other rank starts them.
void test_leaving_with_collectives_under_way(const RunRanks& run_ranks) {
  std::vector<absl::Status> results = run_ranks([&](std::unique_ptr<Collectives> c) {
    RETURN_IF_ERROR(know_themselves(*c, c->world_size()));
    std::vector<int64_t> values = {1};
    if (c->rank() == 0) {
      auto control = c->start_sum(absl::MakeSpan(values));
      auto data = c->start_sum(at::full({1 << 20}, 1.0, at::kFloat));
      Exchange exchange(*c);
      exchange.start(0, [](int, int) { return 6 << 20; });
      c.reset();
    }
    return absl::OkStatus();
  });
  expect_all_ok(results, "leaving with collectives under way");
}

// Calls fail() from another thread than the waiting thread.
void test_failing_from_another_thread(const RunRanks& run_ranks) {
  std::vector<absl::Status> results = run_ranks([&](std::unique_ptr<Collectives> c) {
    RETURN_IF_ERROR(know_themselves(*c, c->world_size()));
    c->set_phase(RankPhase::kUpdate, 3);
    if (c->rank() != 0) return wait_in_vain(*c, Waiting::kData);
    std::vector<int64_t> values = {1};
    auto pending = c->start_sum(absl::MakeSpan(values));
    std::thread other([&] { c->fail(absl::InternalError("told by a thread")); });
    const absl::Status error = pending->wait();
    other.join();
    return error;
  });
  for (const absl::Status& result : results) {
    EXPECT_EQ(result, peer_error(0, RankPhase::kUpdate, 3, "told by a thread"));
  }
}

}  // namespace

void test_collectives_conformance(int world_size, const RunRanks& run_ranks) {
  struct Part {
    const char* name;
    absl::Status (*body)(Collectives&);
  };
  const Part kParts[] = {{"sums of integers", sum_integers},
                         {"sums of doubles", sum_doubles},
                         {"sums of tensors", sum_tensors},
                         {"gathering", gather_strings},
                         {"broadcast", broadcast_from_each},
                         {"exchanges", exchange_messages},
                         {"random exchanges", random_exchanges},
                         {"exchanges beside sums", exchanges_beside_sums},
                         {"many exchanges under way", many_exchanges_under_way},
                         {"exchanges not waited for", exchanges_not_waited_for},
                         {"independence of channels", channels_are_independent},
                         {"many under way", many_under_way},
                         {"same bits", bits_are_the_same},
                         {"not waited for", not_waited_for}};
  for (const Part& part : kParts) {
    expect_all_ok(run_ranks([&](std::unique_ptr<Collectives> c) {
                    RETURN_IF_ERROR(know_themselves(*c, world_size));
                    RETURN_IF_ERROR(part.body(*c));
                    // All ranks complete the part before the first rank leaves.
                    return c->all_gather("").status();
                  }),
                  part.name);
  }
  for (int rank = 0; rank < world_size; ++rank) {
    test_failing_rank(run_ranks, rank, Waiting::kNowhere);
  }
  if (world_size == 1) return;
  for (Waiting waiting : {Waiting::kControl, Waiting::kData, Waiting::kBoth, Waiting::kGather,
                          Waiting::kTables, Waiting::kLargeTables, Waiting::kAll}) {
    for (int rank = 0; rank < world_size; ++rank) test_failing_rank(run_ranks, rank, waiting);
  }
  for (int rank = 0; rank < world_size; ++rank) {
    test_leaving_rank(run_ranks, rank, rank % 2 == 0 ? Waiting::kControl : Waiting::kData);
    test_leaving_rank(run_ranks, rank, rank % 2 == 0 ? Waiting::kTables : Waiting::kLargeTables);
  }
  test_leaving_with_collectives_under_way(run_ranks);
  test_failing_from_another_thread(run_ranks);
}

}  // namespace millrace
