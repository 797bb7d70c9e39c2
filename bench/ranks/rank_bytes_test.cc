// Bytes of the exchanges of a step, as the kernel counts them on the sockets, and as the format of
// the messages (embedding/shard/frame_part.h) has them for the ids of the batches.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "bench/embedding/embedding_workload.h"
#include "bench/ranks/rank_steps.h"
#include "distributed/c10d_collectives.h"
#include "distributed/forwarded_collectives.h"
#include "distributed/process_ranks_testing.h"

namespace millrace {
namespace {

constexpr int kRanks = 3;
constexpr int64_t kTables = 3, kBatch = 90, kIdsPerFeature = 2, kDim = 7;
constexpr int64_t kSteps = 10;   // more than there are batches
constexpr int64_t kBatches = 8;  // that take turns

EmbeddingWorkload workload() {
  absl::StatusOr<EmbeddingWorkload> workload =
      EmbeddingWorkload::create({.tables = kTables,
                                 .rows = 500,
                                 .dim = kDim,
                                 .batch = kBatch,
                                 .ids_per_feature = kIdsPerFeature});
  EXPECT_OK(workload);
  return *std::move(workload);
}

// Bytes that this process has written to each of its TCP connections, by descriptor.
std::map<int, int64_t> bytes_written() {
  std::map<int, int64_t> result;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int descriptor = -1;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &descriptor)) continue;
    tcp_info info = {};
    socklen_t size = sizeof(info);
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    result[descriptor] = static_cast<int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans) +
                         info.tcpi_notsent_bytes;
  }
  return result;
}

// Notes what each exchange of the table channel writes to the connections with other ranks.
class CountingCollectives : public ForwardedCollectives {
 public:
  using ForwardedCollectives::ForwardedCollectives;

  // Finds the connections of the table channel, which grow by characteristic lengths.
  absl::Status find_connections() {
    std::vector<ByteBuffer> sent(world_size()), received(world_size());
    for (int rank = 0; rank < world_size(); ++rank)
      sent[rank].append(std::string(5000 + rank, 'x'));
    std::map<int, int64_t> before = bytes_written();
    RETURN_IF_ERROR(others().start_exchange(sent, absl::MakeSpan(received))->wait());
    for (const auto& [descriptor, bytes] : bytes_written()) {
      const int64_t rank = bytes - before[descriptor] - 24 - 5000;
      if (rank >= 0 && rank < world_size()) connections_[static_cast<int>(rank)] = descriptor;
    }
    return connections_.size() == world_size() - 1
               ? absl::OkStatus()
               : absl::InternalError(absl::StrCat("found ", connections_.size(), " connections"));
  }

  // Bytes written to each rank, for each exchange so far; 0 for this rank.
  const std::vector<std::vector<int64_t>>& exchanges() const { return exchanges_; }

  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    std::map<int, int64_t> before = bytes_written();
    return std::make_unique<Counted>(others().start_exchange(sent, received), [this, before] {
      std::map<int, int64_t> start = before, end = bytes_written();
      std::vector<int64_t>& bytes = exchanges_.emplace_back(world_size());
      for (const auto& [rank, descriptor] : connections_) {
        bytes[rank] = end[descriptor] - start[descriptor];
      }
    });
  }

 private:
  class Counted : public PendingCollective {
   public:
    Counted(std::unique_ptr<PendingCollective> pending, std::function<void()> over)
        : pending_(std::move(pending)), over_(std::move(over)) {}
    absl::Status wait() override {
      RETURN_IF_ERROR(pending_->wait());
      over_();
      return absl::OkStatus();
    }

   private:
    const std::unique_ptr<PendingCollective> pending_;
    const std::function<void()> over_;
  };

  std::map<int, int> connections_;  // descriptor by rank
  std::vector<std::vector<int64_t>> exchanges_;
};

// The owner of an id as the design has it: the upper ten bits of the hash, in equal ranges.
int owner_of(int64_t id) { return static_cast<int>((placement_hash(id) >> 54) * kRanks >> 10); }

// Distinct ids that rank `from` looks up in a table and rank `owner` holds, in a batch.
int64_t distinct(const EmbeddingWorkload& workload, const std::vector<int64_t>& rows, int from,
                 int owner, int64_t table) {
  const int64_t of_rank = kBatch / kRanks * kIdsPerFeature;
  std::set<int64_t> ids;
  for (int64_t i = 0; i < of_rank; ++i) {
    const int64_t row = rows[table * kBatch * kIdsPerFeature + from * of_rank + i];
    const int64_t id = workload.id(table, row);
    if (owner_of(id) == owner) ids.insert(id);
  }
  return static_cast<int64_t>(ids.size());
}

int64_t padded(int64_t bytes) { return (bytes + 7) / 8 * 8; }

struct Expected {
  int64_t ids = 0, rows = 0, sums = 0;
};

// The bytes that rank `from` sends to rank `to` in a step.
Expected expected_bytes(const EmbeddingWorkload& workload, int64_t step, int from, int to) {
  const std::vector<int64_t> rows = workload.batch_rows(step % kBatches);
  // The headers of the channel, of the frame and of the collection's part.
  constexpr int64_t kHeaders = 24 + 8 + 16;
  Expected bytes = {kHeaders, kHeaders, kHeaders};
  for (int64_t table = 0; table < kTables; ++table) {
    const int64_t wanted = distinct(workload, rows, from, to, table);
    const int64_t served = distinct(workload, rows, to, from, table);
    const auto bits = [](int64_t n) { return (n + 63) / 64 * 8; };
    const auto weights = [](int64_t n) { return padded(n * kDim * 4); };
    bytes.ids += 8 + 8 * wanted;
    bytes.rows += 8 + bits(served) + weights(served);
    bytes.sums += 8 + padded(4 * wanted) + bits(wanted) + weights(wanted);
  }
  return bytes;
}

absl::Status count_on_rank(const RankEnvironment& environment) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "bytes"};
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> connected, connect_c10d(options));
  auto counting = std::make_unique<CountingCollectives>(std::move(connected));
  CountingCollectives& counted = *counting;
  RETURN_IF_ERROR(counted.find_connections());
  RankSteps steps(workload(), std::move(counting));
  RETURN_IF_ERROR(steps.prepare("sgd", 1, best_instruction_set()));
  const size_t first = counted.exchanges().size();
  RankSteps::Figures figures;
  RETURN_IF_ERROR(steps.run(kSteps, figures));

  Expected all;  // to all ranks, in all steps
  std::vector<std::string> wrong;
  const auto compare = [&](const char* what, size_t exchange, int to, int64_t expected) {
    const int64_t bytes = counted.exchanges()[first + exchange][to];
    if (bytes == expected) return;
    wrong.push_back(absl::StrCat(what, " of exchange ", exchange, " from rank ", environment.rank,
                                 " to ", to, ": ", bytes, " at the socket, ", expected,
                                 " expected\n"));
  };
  if (counted.exchanges().size() != first + 3 * kSteps) {
    return absl::InternalError(absl::StrCat(counted.exchanges().size() - first, " exchanges"));
  }
  for (int64_t step = 0; step < kSteps; ++step) {
    for (int to = 0; to < kRanks; ++to) {
      if (to == environment.rank) continue;
      const Expected bytes = expected_bytes(workload(), step, environment.rank, to);
      compare("ids", 3 * step, to, bytes.ids);
      compare("rows", 3 * step + 1, to, bytes.rows);
      compare("sums", 3 * step + 2, to, bytes.sums);
      all.ids += bytes.ids;
      all.rows += bytes.rows;
      all.sums += bytes.sums;
    }
  }
  const auto compare_figures = [&](const char* what, int exchange, int64_t expected) {
    const int64_t bytes = figures.exchanges[exchange].bytes;
    if (bytes != expected) {
      wrong.push_back(absl::StrCat(what, " in figures: ", bytes, ", expected ", expected, "\n"));
    }
  };
  compare_figures("ids", MeasuredCollectives::kIds, all.ids);
  compare_figures("rows", MeasuredCollectives::kRows, all.rows);
  compare_figures("sums", MeasuredCollectives::kSums, all.sums);
  std::string text;
  for (const std::string& line : wrong) text += line;
  return wrong.empty() ? absl::OkStatus() : absl::InternalError(text.substr(0, 2000));
}

// Returns the bytes of `count` sums of `size` floats on the connection that carries the most.
absl::StatusOr<int64_t> bytes_of_sums(Collectives& collectives, int64_t count, int64_t size) {
  const at::Tensor values = at::ones({size});
  const std::map<int, int64_t> before = bytes_written();
  for (int64_t i = 0; i < count; ++i) RETURN_IF_ERROR(collectives.start_sum(values)->wait());
  // A rank may have its sums before all of its bytes are written to the socket.
  std::vector<int64_t> all_are_done = {1};
  RETURN_IF_ERROR(collectives.start_sum(absl::MakeSpan(all_are_done))->wait());
  int64_t most = 0;
  for (const auto& [descriptor, bytes] : bytes_written()) {
    const auto found = before.find(descriptor);
    most = std::max(most, bytes - (found == before.end() ? 0 : found->second));
  }
  return most;
}

// Dense gradients are summed in a ring: each rank sends each of `kRanks` equal pieces on, kRanks -
// 1 times while they are added up and as often while the sums are passed around. What messages have
// beside their floats is the same for both sizes.
absl::Status count_vector_on_rank(const RankEnvironment& environment) {
  C10dOptions options;
  options.environment = environment;
  options.identity = {.name = "vector"};
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives, connect_c10d(options));
  constexpr int64_t kSmall = 3000, kLarge = 45000;
  RETURN_IF_ERROR(bytes_of_sums(*collectives, 1, kSmall).status());  // connects
  ASSIGN_OR_RETURN(const int64_t small, bytes_of_sums(*collectives, kSteps, kSmall));
  ASSIGN_OR_RETURN(const int64_t large, bytes_of_sums(*collectives, kSteps, kLarge));
  const int64_t expected = kSteps * 2 * (kRanks - 1) * (kLarge - kSmall) / kRanks * 4;
  if (large - small == expected) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(large, " and ", small, " bytes at the socket, which are ",
                                          large - small, " apart; expected ", expected));
}

TEST(RankBytesTest, SocketsCarryTheVectorTwiceLessTheOwnPiece) {
  ProcessRanks ranks(kRanks, [](const RankEnvironment& environment, const ChildLink&) {
    return count_vector_on_rank(environment);
  });
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_OK(ranks.wait(rank));
}

TEST(RankBytesTest, SocketsCarryWhatTheFormatSays) {
  ProcessRanks ranks(kRanks, [](const RankEnvironment& environment, const ChildLink&) {
    return count_on_rank(environment);
  });
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_OK(ranks.wait(rank));
}

}  // namespace
}  // namespace millrace
