#include "distributed/c10d_exchange.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::Status all_to_all(c10d::Backend& backend, at::Tensor received,
                        std::vector<int64_t> received_counts, at::Tensor sent,
                        std::vector<int64_t> sent_counts) {
  c10d::AllToAllOptions options;
  options.timeout = kNever;
  backend.alltoall_base(received, sent, received_counts, sent_counts, options)->wait();
  return absl::OkStatus();
}

absl::Status exchange_messages(c10d::Backend& backend, int world_size,
                               C10dExchange::Transfer& transfer) {
  const at::TensorOptions device = transfer.sent.options();
  at::Tensor sent_lengths = at::empty({world_size}, at::kLong);
  std::copy(transfer.sent_bytes.begin(), transfer.sent_bytes.end(),
            sent_lengths.mutable_data_ptr<int64_t>());
  at::Tensor lengths = at::empty({world_size}, device.dtype(at::kLong));
  RETURN_IF_ERROR(all_to_all(backend, lengths, {}, sent_lengths.to(device.device()), {}));
  const at::Tensor here = lengths.cpu();
  const int64_t* const length = here.const_data_ptr<int64_t>();
  transfer.received_bytes.assign(length, length + world_size);
  transfer.announced = absl::Now();
  for (int rank = 0; rank < world_size; ++rank) {
    constexpr int64_t kMost = int64_t{1} << 40;
    if (length[rank] >= 0 && length[rank] <= kMost) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " announced a message of ", length[rank], " bytes"));
  }
  transfer.received = at::empty({std::accumulate(length, length + world_size, int64_t{0})}, device);
  return all_to_all(backend, transfer.received, transfer.received_bytes, transfer.sent,
                    transfer.sent_bytes);
}

}  // namespace

struct C10dExchange::State {
  const c10::intrusive_ptr<c10d::Backend> backend;
  const int world_size;
  Mutex mutex;
  std::deque<std::shared_ptr<Transfer>> queue ABSL_GUARDED_BY(mutex);  // the first is under way
  bool closing ABSL_GUARDED_BY(mutex) = false;

  State(c10::intrusive_ptr<c10d::Backend> backend, int world_size)
      : backend(std::move(backend)), world_size(world_size) {}

  // Returns the next transfer; null: there is none, and none will come.
  std::shared_ptr<Transfer> next() {
    const MutexLock lock(mutex);
    mutex.await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closing || !queue.empty(); });
    return queue.empty() ? nullptr : queue.front();
  }

  void run() {
    absl::Status status;  // the first error, after which ranks may be at different exchanges
    while (const std::shared_ptr<Transfer> transfer = next()) {
      if (status.ok()) {
        status =
            catch_exceptions([&] { return exchange_messages(*backend, world_size, *transfer); });
      }
      transfer->sent.reset();
      const absl::string_view message = status.message();
      transfer->ended(std::string(message.substr(0, message.find('\n'))));
      const MutexLock lock(mutex);
      queue.pop_front();
    }
  }
};

C10dExchange::C10dExchange(c10::intrusive_ptr<c10d::Backend> backend, int world_size)
    : state_(std::make_shared<State>(std::move(backend), world_size)),
      thread_([state = state_] { state->run(); }) {}

C10dExchange::~C10dExchange() {
  bool done = false;
  {
    const MutexLock lock(state_->mutex);
    state_->closing = true;
    done = state_->mutex.await_for(absl::Seconds(1), [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return state_->queue.empty();
    });
  }
  if (done) {
    thread_.join();
  } else {
    MILLRACE_LOG(WARNING) << "leaving an exchange of tables that hangs";
    thread_.detach();
  }
}

std::shared_ptr<C10dExchange::Transfer> C10dExchange::start(
    at::Tensor sent, std::vector<int64_t> sent_bytes,
    std::function<void(std::string error)> ended) {
  auto transfer = std::make_shared<Transfer>();
  transfer->sent = std::move(sent);
  transfer->sent_bytes = std::move(sent_bytes);
  transfer->ended = std::move(ended);
  const MutexLock lock(state_->mutex);
  state_->queue.push_back(transfer);
  return transfer;
}

}  // namespace millrace
