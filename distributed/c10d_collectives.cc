// Only this file, c10d_exchange.cc, c10d_store.cc and nccl_channel.cc depend on c10d, whose headers
// take long to compile. Gloo's headers are of another version than the library: this file uses only
// exported functions of Gloo, which are the same in both versions, and no members.
#include "distributed/c10d_collectives.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gloo/transport/unbound_buffer.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/net/socket.h"
#include "base/status_macros.h"
#include "distributed/c10d_exchange.h"
#include "distributed/c10d_store.h"
#include "distributed/collectives.h"
#include "distributed/device_channel.h"
#include "distributed/device_collective.h"
#include "distributed/heartbeat.h"
#include "distributed/master_lookup.h"
#include "distributed/mesh/connect_mesh.h"
#include "distributed/mesh/control_mesh.h"
#include "distributed/mesh/frame_mesh.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/reconnecting_store.h"
#include "distributed/start_store.h"
#include "distributed/store_probe.h"
#include "distributed/store_seal.h"
#include "distributed/supervised_collective.h"
#include "distributed/supervisor.h"

namespace millrace {
namespace {

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

static_assert(FrameMesh::kHeaderBytes == kTableHeaderBytes);

// Precedes all keys.
constexpr char kStorePrefix[] = "millrace/";

// The key of the IP by which ranks of other machines reached the store.
constexpr char kMasterIp[] = "master_ip";

std::string first_line(absl::string_view text) {
  return text.empty() ? "no reason given" : std::string(text.substr(0, text.find('\n')));
}

// One channel: separate connections to all ranks, and their threads.
class Group : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;

  WorkPointer sum(at::Tensor tensor) {
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    c10d::AllreduceOptions options;
    options.timeout = kNever;
    return allreduce(tensors, options);
  }

  // Makes collectives under way fail on this rank and, since their connections are closed, on the
  // other ranks. Any thread.
  void abort_connections() {
    // gloo has no such call. But a receive that times out closes all connections of its context and
    // wakes all receivers. The receive below gets no data and times out.
    for (const std::shared_ptr<gloo::Context>& context : contexts_) {
      catch_exceptions([&] {
        char nothing = 0;
        context->createUnboundBuffer(&nothing, 1)->waitRecv(nullptr, std::chrono::milliseconds(1));
        return absl::OkStatus();
      }).IgnoreError();
    }
  }
};

// A collective that makes progress only while its thread waits. `Mesh`: ControlMesh or FrameMesh.
template <typename Mesh>
class MeshCollective : public PendingCollective {
 public:
  // The wait for the collective. Called at most once.
  using Wait = std::function<absl::Status(Mesh&)>;

  // A collective that was started with wait.ordinal.
  MeshCollective(const std::shared_ptr<Mesh>& mesh, Supervisor& supervisor, SupervisedWait wait,
                 Wait mesh_wait)
      : mesh_(mesh), supervisor_(supervisor), wait_(wait), mesh_wait_(std::move(mesh_wait)) {}
  ~MeshCollective() override {
    const std::shared_ptr<Mesh> mesh = mesh_.lock();
    if (!done_ && mesh != nullptr) mesh->drop(wait_.ordinal);
  }
  absl::Status wait() override {
    if (done_) return result_;
    result_ = finish();
    done_ = true;
    return result_;
  }

 private:
  absl::Status finish() {
    RETURN_IF_ERROR(supervisor_.failure());
    // This thread receives only messages. If the wait must end, the supervisor closes the
    // connections.
    supervisor_.watch(wait_);
    const absl::Status ended = mesh_wait_(*mesh_.lock());
    supervisor_.unwatch();
    const absl::string_view message = ended.message();
    if (absl::IsUnavailable(ended)) return supervisor_.explain_broken_connection(message);
    return ended.ok() ? ended : supervisor_.fail(message);
  }

  const std::weak_ptr<Mesh> mesh_;  // the owner may be destroyed before
  Supervisor& supervisor_;
  const SupervisedWait wait_;
  const Wait mesh_wait_;
  bool done_ = false;
  absl::Status result_;
};

// An exchange of the table channel by C10dExchange, with a supervised wait.
class C10dTableExchange : public CollectiveAwaitedOnce {
 public:
  C10dTableExchange(SupervisedCollective collective,
                    std::shared_ptr<C10dExchange::Transfer> transfer, int rank,
                    absl::Span<ByteBuffer> received, std::shared_ptr<TableTraffic> traffic)
      : collective_(std::move(collective)),
        transfer_(std::move(transfer)),
        rank_(rank),
        received_(received),
        traffic_(std::move(traffic)) {}

 private:
  absl::Status supervise() override {
    const absl::Time begin = absl::Now();
    RETURN_IF_ERROR(collective_.wait());
    const char* from = static_cast<const char*>(transfer_->received.const_data_ptr());
    for (int rank = 0; rank < static_cast<int>(received_.size()); ++rank) {
      const int64_t bytes = transfer_->received_bytes[rank];
      received_[rank].clear();
      if (rank != rank_) {
        received_[rank].append(absl::string_view(from, bytes));
        traffic_->bytes_sent += transfer_->sent_bytes[rank] + kTableHeaderBytes;
      }
      from += bytes;
    }
    const absl::Time announced = std::max(begin, transfer_->announced);
    traffic_->awaiting_ranks += announced - begin;
    traffic_->transferring += absl::Now() - announced;
    return absl::OkStatus();
  }

  SupervisedCollective collective_;
  const std::shared_ptr<C10dExchange::Transfer> transfer_;
  const int rank_;
  const absl::Span<ByteBuffer> received_;
  const std::shared_ptr<TableTraffic> traffic_;
};

class C10dCollectives : public Collectives {
 public:
  struct Parts {
    StorePointer server;  // on rank 0, unless the launcher serves the store
    std::unique_ptr<JobStore> store;
    std::unique_ptr<StartStore> start;  // the part of `store` for this start
    // Null before connect(). Each has one owner. Collectives, which may outlive the mesh, hold weak
    // pointers.
    std::shared_ptr<ControlMesh> control;
    // The table channel: the mesh, or the group and its exchange.
    std::shared_ptr<FrameMesh> tables;
    c10::intrusive_ptr<Group> table_group;
    std::unique_ptr<C10dExchange> exchange;
    c10::intrusive_ptr<Group> data;
    std::unique_ptr<DeviceChannel> device;  // null: all tensors are on the CPU
  };

  // `parts`: server and store. The ranks, which have met, supervise each other from now on.
  C10dCollectives(const C10dOptions& options, Parts parts);
  ~C10dCollectives() override;

  // Connects all channels within `timeout`. `ip`: of this machine, for the other ranks. `store`:
  // the store's address. Any error ends the job: the other ranks get it too. Errors: see
  // connect_c10d().
  absl::Status connect(const C10dOptions& options, const absl::StatusOr<std::string>& ip,
                       const SocketAddress& store, absl::Duration timeout);

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override {
    return start_control(values);
  }
  std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) override {
    return start_control(values);
  }
  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override;
  TableTraffic table_traffic() const override {
    if (parts_.tables == nullptr) return *traffic_;
    return {parts_.tables->bytes_sent(), parts_.tables->awaiting_ranks(),
            parts_.tables->transferring()};
  }
  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override;
  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override;
  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override;
  void set_phase(RankPhase phase, int64_t step) override { supervisor_->set_phase(phase, step); }
  absl::Status failure() override { return supervisor_->failure(); }
  void fail(const absl::Status& reason) override {
    supervisor_->fail(absl::string_view(reason.message())).IgnoreError();
  }

 private:
  // `Number`: int64_t or double.
  template <typename Number>
  std::unique_ptr<PendingCollective> start_control(absl::Span<Number> values);
  // Starts a collective of the data channel. `launch` requests it from the group.
  template <typename Launch>
  std::unique_ptr<PendingCollective> start(const char* what, const Launch& launch);
  std::unique_ptr<PendingCollective> start_on_device(at::Tensor tensor);
  // The exchange over c10d. Copies the messages.
  std::unique_ptr<PendingCollective> start_all_to_all(const SupervisedWait& wait,
                                                      absl::Span<const ByteBuffer> sent,
                                                      absl::Span<ByteBuffer> received);
  absl::Status run_broadcast(at::Tensor tensor, int root);
  absl::Status connect_channels(const C10dOptions& options, const absl::StatusOr<std::string>& ip,
                                const SocketAddress& address, absl::Duration timeout);
  // Makes a connected part visible to the supervisor's thread.
  template <typename Part>
  void publish(Part& slot, Part part) {
    MutexLock lock(parts_mutex_);
    slot = std::move(part);
  }
  bool lost_connection(int rank) {
    MutexLock lock(parts_mutex_);
    return refusing_ == rank || (parts_.control != nullptr && parts_.control->lost(rank)) ||
           (parts_.tables != nullptr && parts_.tables->lost(rank));
  }
  void abort_connections() {
    MutexLock lock(parts_mutex_);
    if (parts_.control != nullptr) parts_.control->shut_down();
    if (parts_.tables != nullptr) parts_.tables->shut_down();
    if (parts_.table_group) parts_.table_group->abort_connections();
    if (parts_.data) parts_.data->abort_connections();
    if (parts_.device != nullptr) parts_.device->abort();
  }

  const int rank_;
  const int world_size_;
  // Only connect() and the destructor change it; the supervisor's thread reads it under the mutex.
  Parts parts_;
  Mutex parts_mutex_;
  int refusing_ ABSL_GUARDED_BY(parts_mutex_) = -1;  // rank that refused this rank's connection
  // Shared with the callbacks of collectives, which may run after the object's destruction.
  const std::shared_ptr<CollectivesUnderWay> under_way_ = std::make_shared<CollectivesUnderWay>();
  const std::shared_ptr<TableTraffic> traffic_ = std::make_shared<TableTraffic>();  // over c10d
  std::unique_ptr<Supervisor> supervisor_;
};

C10dCollectives::C10dCollectives(const C10dOptions& options, Parts parts)
    : rank_(options.environment.rank),
      world_size_(options.environment.world_size),
      parts_(std::move(parts)) {
  SupervisorOptions supervision;
  supervision.rank = rank_;
  supervision.world_size = world_size_;
  supervision.host = host_name();
  supervision.timeout = options.collective_timeout;
  supervision.checkpoint_timeout = options.checkpoint_timeout;
  supervision.rank_0_serves_store = !options.environment.agent_store;
  supervision.connection_lost = [this](int rank) { return lost_connection(rank); };
  supervision.connection_silence = [this](int rank) {
    MutexLock lock(parts_mutex_);
    return parts_.control == nullptr ? absl::ZeroDuration() : parts_.control->silence(rank);
  };
  supervision.failed = [this] {
    under_way_->fail();
    abort_connections();
  };
  supervision.stop_signal = options.stop_signal;
  supervision.peer_stop_signal = options.peer_stop_signal;
  supervision.published = options.published;
  supervision.observed = options.observed;
  supervisor_ = std::make_unique<Supervisor>(*parts_.start, std::move(supervision));
}

C10dCollectives::~C10dCollectives() {
  supervisor_->leave();
  if (!under_way_->await_all(absl::ZeroDuration())) abort_connections();
  if ((parts_.data || parts_.table_group) && !under_way_->await_all(absl::Seconds(1))) {
    // gloo does not wake a receive after a part has arrived; a group would wait forever. The
    // group's threads stay: the job has failed, and the process ends soon.
    MILLRACE_LOG(WARNING) << "leaving connections open on which a collective hangs";
    parts_.data.release();
    parts_.table_group.release();
  }
  parts_.control.reset();
  parts_.tables.reset();
  parts_.exchange.reset();
  parts_.table_group.reset();
  parts_.device.reset();
  parts_.data.reset();
  // The store ends with its rank, and other ranks may still have to read the job's failure.
  if (parts_.server) supervisor_->wait_for_leavers(absl::Seconds(5));
}

template <typename Launch>
std::unique_ptr<PendingCollective> C10dCollectives::start(const char* what, const Launch& launch) {
  const SupervisedWait wait = {Channel::kData, supervisor_->count_started(Channel::kData), what};
  absl::Status failure = supervisor_->failure();
  if (!failure.ok()) return std::make_unique<EndedCollective>(failure);
  std::shared_ptr<CollectivesUnderWay::Entry> entry = under_way_->add();
  absl::Status launched = catch_exceptions([&] {
    launch(*parts_.data)
        ->getFuture()
        ->addCallback([under_way = under_way_, entry](c10::ivalue::Future& future) {
          under_way->end(*entry,
                         future.hasError() ? first_line(future.tryRetrieveErrorMessage()) : "");
        });
    return absl::OkStatus();
  });
  if (!launched.ok()) {
    under_way_->end(*entry, std::string(launched.message()));
    return std::make_unique<EndedCollective>(
        supervisor_->fail(first_line(absl::string_view(launched.message()))));
  }
  return std::make_unique<SupervisedCollective>(*supervisor_, under_way_, std::move(entry), wait);
}

template <typename Number>
std::unique_ptr<PendingCollective> C10dCollectives::start_control(absl::Span<Number> values) {
  const SupervisedWait wait = {Channel::kControl, supervisor_->count_started(Channel::kControl),
                               "an exchange"};
  absl::Status failure = supervisor_->failure();
  if (!failure.ok()) return std::make_unique<EndedCollective>(failure);
  const int64_t ordinal = wait.ordinal;
  std::vector<int64_t> bits(values.size());
  if (!values.empty()) std::memcpy(bits.data(), values.data(), sizeof(Number) * values.size());
  parts_.control->start(ordinal, bits);
  return std::make_unique<MeshCollective<ControlMesh>>(
      parts_.control, *supervisor_, wait,
      [=](ControlMesh& mesh) { return mesh.wait(ordinal, values); });
}

std::unique_ptr<PendingCollective> C10dCollectives::start_exchange(
    absl::Span<const ByteBuffer> sent, absl::Span<ByteBuffer> received) {
  const SupervisedWait wait = {Channel::kTables, supervisor_->count_started(Channel::kTables),
                               "a table exchange"};
  absl::Status failure = supervisor_->failure();
  if (!failure.ok()) return std::make_unique<EndedCollective>(failure);
  if (parts_.exchange != nullptr) return start_all_to_all(wait, sent, received);
  const int64_t ordinal = wait.ordinal;
  parts_.tables->start(ordinal, sent, received);
  return std::make_unique<MeshCollective<FrameMesh>>(
      parts_.tables, *supervisor_, wait, [=](FrameMesh& mesh) { return mesh.wait(ordinal); });
}

std::unique_ptr<PendingCollective> C10dCollectives::start_all_to_all(
    const SupervisedWait& wait, absl::Span<const ByteBuffer> sent,
    absl::Span<ByteBuffer> received) {
  std::vector<int64_t> bytes;
  for (const ByteBuffer& message : sent) bytes.push_back(static_cast<int64_t>(message.size()));
  bytes[rank_] = 1;  // see C10dExchange::start()
  at::Tensor packed =
      at::empty({std::accumulate(bytes.begin(), bytes.end(), int64_t{0})}, at::kByte);
  char* to = static_cast<char*>(packed.mutable_data_ptr());
  for (int rank = 0; rank < world_size_; ++rank) {
    if (rank == rank_) {
      *to = 0;
    } else if (bytes[rank] > 0) {
      std::memcpy(to, sent[rank].data(), bytes[rank]);
    }
    to += bytes[rank];
  }
  std::shared_ptr<CollectivesUnderWay::Entry> entry = under_way_->add();
  std::shared_ptr<C10dExchange::Transfer> transfer = parts_.exchange->start(
      std::move(packed), std::move(bytes), [under_way = under_way_, entry](std::string error) {
        under_way->end(*entry, std::move(error));
      });
  return std::make_unique<C10dTableExchange>(
      SupervisedCollective(*supervisor_, under_way_, std::move(entry), wait), std::move(transfer),
      rank_, received, traffic_);
}

std::unique_ptr<PendingCollective> C10dCollectives::start_on_device(at::Tensor tensor) {
  const SupervisedWait wait = {Channel::kData, supervisor_->count_started(Channel::kData), "a sum"};
  absl::Status failure = supervisor_->failure();
  if (!failure.ok()) return std::make_unique<EndedCollective>(failure);
  absl::StatusOr<std::unique_ptr<DeviceSum>> sum = parts_.device->start_sum(std::move(tensor));
  if (!sum.ok()) {
    return std::make_unique<EndedCollective>(
        supervisor_->fail(first_line(absl::string_view(sum.status().message()))));
  }
  return std::make_unique<DeviceCollective>(*supervisor_, *std::move(sum), wait);
}

std::unique_ptr<PendingCollective> C10dCollectives::start_sum(at::Tensor tensor) {
  if (parts_.device != nullptr && !tensor.is_cpu()) return start_on_device(std::move(tensor));
  return start("a sum", [&](Group& group) { return group.sum(tensor); });
}

absl::Status C10dCollectives::run_broadcast(at::Tensor tensor, int root) {
  return start("a broadcast",
               [&](Group& group) {
                 std::vector<at::Tensor> tensors = {tensor};
                 c10d::BroadcastOptions options;
                 options.rootRank = root;
                 options.timeout = kNever;
                 return group.broadcast(tensors, options);
               })
      ->wait();
}

absl::StatusOr<std::string> C10dCollectives::broadcast(absl::string_view bytes, int root) {
  at::Tensor length = at::empty({1}, at::kLong);
  *length.data_ptr<int64_t>() = static_cast<int64_t>(bytes.size());
  RETURN_IF_ERROR(run_broadcast(length, root));
  const int64_t count = *length.data_ptr<int64_t>();
  if (count == 0) return std::string();
  at::Tensor content = at::empty({count}, at::kByte);
  if (rank_ == root) std::memcpy(content.data_ptr(), bytes.data(), count);
  RETURN_IF_ERROR(run_broadcast(content, root));
  return std::string(static_cast<const char*>(content.data_ptr()), count);
}

absl::StatusOr<std::vector<std::string>> C10dCollectives::all_gather(absl::string_view bytes) {
  at::Tensor lengths = at::zeros({world_size_}, at::kLong);
  int64_t* length = lengths.data_ptr<int64_t>();
  length[rank_] = static_cast<int64_t>(bytes.size());
  RETURN_IF_ERROR(start_sum(lengths)->wait());
  const int64_t longest = *std::max_element(length, length + world_size_);
  std::vector<std::string> all(world_size_);
  if (longest == 0) return all;
  at::Tensor mine = at::zeros({longest}, at::kByte);
  std::memcpy(mine.data_ptr(), bytes.data(), bytes.size());
  at::Tensor theirs = at::empty({world_size_ * longest}, at::kByte);
  RETURN_IF_ERROR(start("a gather", [&](Group& group) {
                    c10d::AllgatherOptions options;
                    options.timeout = kNever;
                    return group._allgather_base(theirs, mine, options);
                  })->wait());
  const char* content = static_cast<const char*>(theirs.data_ptr());
  for (int rank = 0; rank < world_size_; ++rank) {
    all[rank].assign(content + rank * longest, length[rank]);
  }
  return all;
}

// ---- connecting ----

absl::StatusOr<c10::intrusive_ptr<Group>> connect_group(
    const std::string& ip, const StorePointer& store, const C10dOptions& options,
    const std::string& prefix, absl::string_view channel, absl::Duration timeout) {
  absl::StatusOr<c10::intrusive_ptr<Group>> group =
      catch_exceptions([&]() -> absl::StatusOr<c10::intrusive_ptr<Group>> {
        auto group_options = c10d::ProcessGroupGloo::Options::create(to_milliseconds(timeout));
        group_options->threads = 2;
        group_options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(ip)};
        auto group = c10::make_intrusive<Group>(
            c10::make_intrusive<c10d::PrefixStore>(absl::StrCat(prefix, channel), store),
            options.environment.rank, options.environment.world_size, group_options);
        group->setTimeout(kNever);
        return group;
      });
  if (group.ok()) return group;
  return absl::AbortedError(absl::StrCat("could not connect to all other ranks, though all came: ",
                                         first_line(absl::string_view(group.status().message()))));
}

// Calls `connect`, which must not throw, on a thread, since nothing but its time-out ends it.
// Returns early with an error of `interrupted`, which is called every 100 ms. The thread then
// stays: the job has failed, and the process ends soon.
template <typename Connection>
absl::StatusOr<Connection> connect_unless(absl::FunctionRef<absl::Status()> interrupted,
                                          std::function<absl::StatusOr<Connection>()> connect) {
  struct Shared {
    Mutex mutex;
    std::optional<absl::StatusOr<Connection>> connection ABSL_GUARDED_BY(mutex);
  };
  const auto shared = std::make_shared<Shared>();  // with the thread
  std::thread([shared, connect = std::move(connect)] {
    absl::StatusOr<Connection> connection = connect();
    MutexLock lock(shared->mutex);
    shared->connection = std::move(connection);
  }).detach();
  for (;;) {
    {
      MutexLock lock(shared->mutex);
      const bool ended = shared->mutex.await_for(
          absl::Milliseconds(100),
          [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return shared->connection.has_value(); });
      if (ended) return *std::move(shared->connection);
    }
    RETURN_IF_ERROR(interrupted());
  }
}

// Checks the limit of open files, without which LibTorch reports time-outs instead.
absl::Status check_file_limit(const RankEnvironment& environment) {
  constexpr int64_t kOthers = 32;  // files of the program and its first connections
  const int64_t others = environment.world_size - 1;
  const bool serves = environment.rank == 0 && !environment.agent_store;
  const int64_t needed = kOthers + (serves ? 6 : 3) * others;  // of the store: three for each rank
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(needed)) {
    return absl::OkStatus();
  }
  return too_few_files(absl::StrCat("rank ", environment.rank, " of ", environment.world_size,
                                    " needs about ", needed, " open files, but may open ",
                                    limit.rlim_cur));
}

FoundAddresses find_master(const C10dOptions& options) {
  const RankEnvironment& environment = options.environment;
  ASSIGN_OR_RETURN(std::vector<SocketAddress> found,
                   find_addresses(environment.master_address, environment.master_port));
  return reachable_addresses(environment, options.interface, std::move(found));
}

// Returns the IP at which other ranks reach this rank. `address`: the store's address on this rank.
absl::StatusOr<std::string> ip_for_ranks(const C10dOptions& options, const SocketAddress& address,
                                         JobStore& store) {
  if (!options.interface.empty()) {
    ASSIGN_OR_RETURN(const SocketAddress own, interface_address(options.interface, 0),
                     "run.distributed.interface");
    return own.ip();
  }
  if (address.is_loopback()) {
    ASSIGN_OR_RETURN(const std::optional<std::string> reached, store.get(kMasterIp));
    if (reached) return *reached;
  }
  return ip_towards(address);
}

absl::Status C10dCollectives::connect_channels(const C10dOptions& options,
                                               const absl::StatusOr<std::string>& ip,
                                               const SocketAddress& address,
                                               absl::Duration timeout) {
  RETURN_IF_ERROR(ip.status());
  const Deadline deadline(timeout);
  MeshOptions mesh = {"control", rank_, world_size_, *ip, timeout};
  mesh.loss_limit = 2 * options.collective_timeout;  // the supervisor names the rank before
  SupervisedWait wait;                               // only a rank that is silent or dead ends it
  mesh.interrupted = [&] { return supervisor_->look_after(wait); };
  mesh.refused = [this](int rank) {
    MutexLock lock(parts_mutex_);
    refusing_ = rank;
  };
  if (!options.environment.secret.empty()) {
    mesh.prove = [seal = StoreSeal(options.environment.secret)](absl::string_view challenge) {
      return seal.prove(challenge);
    };
  }
  ASSIGN_OR_RETURN(std::vector<Socket> peers, connect_mesh(mesh, *parts_.start));
  publish(parts_.control, std::make_shared<ControlMesh>(rank_, std::move(peers)));
  ASSIGN_OR_RETURN(
      const StorePointer store,
      connect_unless<StorePointer>(
          mesh.interrupted, [=, left = deadline.left(), secret = options.environment.secret] {
            return connect_sealed_store(address, left, secret);
          }));
  const std::string prefix = absl::StrCat(kStorePrefix, parts_.start->name(), "/");
  const auto connect_gloo = [&](const char* channel) {
    return connect_unless<c10::intrusive_ptr<Group>>(
        mesh.interrupted, [=, ip = *ip, left = deadline.left()] {
          return connect_group(ip, store, options, prefix, channel, left);
        });
  };
  if (options.tables_over_c10d) {
    ASSIGN_OR_RETURN(c10::intrusive_ptr<Group> tables, connect_gloo("table_data"));
    auto exchange = std::make_unique<C10dExchange>(tables, world_size_);
    publish(parts_.table_group, std::move(tables));
    publish(parts_.exchange, std::move(exchange));
  } else {
    mesh.channel = "tables";
    mesh.timeout = deadline.left();
    ASSIGN_OR_RETURN(peers, connect_mesh(mesh, *parts_.start));
    publish(parts_.tables, std::make_shared<FrameMesh>(rank_, std::move(peers)));
  }
  ASSIGN_OR_RETURN(c10::intrusive_ptr<Group> data, connect_gloo("data"));
  publish(parts_.data, std::move(data));
  // Gloo gives no access to its connections. The limit also suits all others from this address.
  for (int descriptor : sockets_connected_from(*ip)) detect_loss(descriptor, mesh.loss_limit);
  if (options.cuda_device) {
    ASSIGN_OR_RETURN(std::unique_ptr<DeviceChannel> device,
                     connect_device_channel({rank_, world_size_, *options.cuda_device, store,
                                             prefix + "nccl", kNever}));
    publish(parts_.device, std::move(device));
  }
  return supervisor_->failure();
}

absl::Status C10dCollectives::connect(const C10dOptions& options,
                                      const absl::StatusOr<std::string>& ip,
                                      const SocketAddress& store, absl::Duration timeout) {
  const absl::Status status =
      catch_exceptions([&] { return connect_channels(options, ip, store, timeout); });
  if (status.ok()) return status;
  // The error is of a store that is gone or does not answer: the supervisor finds the reason.
  bool explains = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  {
    MutexLock lock(parts_mutex_);
    explains = explains || refusing_ >= 0;
  }
  const absl::string_view message = status.message();
  const absl::Status counting =
      explains ? supervisor_->explain_broken_connection(message) : supervisor_->fail(message);
  if (kind_of(status) != FailureKind::kOther) return status;
  return explains || absl::IsAborted(status) || absl::IsInternal(status) ? counting : status;
}

absl::StatusOr<std::unique_ptr<Collectives>> connect_ranks(const C10dOptions& options) {
  const RankEnvironment& environment = options.environment;
  RETURN_IF_ERROR(check_file_limit(environment));
  const absl::Time deadline = absl::Now() + options.rendezvous_timeout;
  const std::string& host = environment.master_address;
  std::function<FoundAddresses()> find = [&] { return find_master(options); };
  C10dCollectives::Parts parts;
  if (environment.rank == 0 && !environment.agent_store) {
    constexpr char kFails[] = "rank 0 cannot serve the store";
    ASSIGN_OR_RETURN(const std::vector<SocketAddress> addresses,
                     await_addresses(host, options.rendezvous_timeout, find));
    ASSIGN_OR_RETURN(Socket socket, listen_for_ranks(environment, options.interface, addresses[0]),
                     kFails);
    ASSIGN_OR_RETURN(parts.server, serve_store(std::move(socket), addresses[0]), kFails);
    find = [addresses] { return addresses; };
  }
  const std::string where = absl::StrCat(host, ":", environment.master_port);
  ASSIGN_OR_RETURN(SocketAddress address,
                   find_store(absl::StrCat("for the store at ", where, " to answer"), find,
                              store_greeting(), deadline - absl::Now()),
                   absl::StrCat("cannot reach the master, rank 0 at ", where, ", within ",
                                absl::FormatDuration(options.rendezvous_timeout)));
  const absl::Duration call_limit =
      std::clamp(options.collective_timeout / 4, absl::Seconds(1), absl::Seconds(5));
  parts.store =
      std::make_unique<ReconnectingStore>(address, kStorePrefix, call_limit, store_greeting(),
                                          [=, seal = StoreSeal(environment.secret)] {
                                            return make_store_client(address, call_limit, seal);
                                          });
  RendezvousOptions meeting;
  meeting.rank = environment.rank;
  meeting.world_size = environment.world_size;
  meeting.host = host_name();
  meeting.identity = options.identity;
  meeting.timeout = options.rendezvous_timeout;
  meeting.waited = options.rendezvous_timeout - (deadline - absl::Now());
  meeting.silence_limit =
      std::clamp(options.collective_timeout, absl::Seconds(2), absl::Seconds(30));
  meeting.store_limit = options.collective_timeout;
  meeting.store_outlives_ranks = environment.agent_store;
  meeting.restart_count = environment.restart_count;
  if (options.published) {
    meeting.published = [&options] { options.published(RankPhase::kRendezvous, 0); };
  }
  // A store that fails here fails in the meeting, too, which names rank 0.
  if (!address.is_loopback()) parts.store->set_once(kMasterIp, address.ip()).IgnoreError();
  ASSIGN_OR_RETURN(parts.start, meet_ranks(*parts.store, meeting, Clock::real()));

  // From now on a rank that dies is noticed by its closed connections or its silence.
  const absl::Duration left = std::max(
      {deadline - absl::Now(), absl::Seconds(8), absl::Milliseconds(50) * meeting.world_size});
  const absl::StatusOr<std::string> ip = ip_for_ranks(options, address, *parts.store);
  auto collectives = std::make_unique<C10dCollectives>(options, std::move(parts));
  RETURN_IF_ERROR(collectives->connect(options, ip, address, left));
  collectives->set_phase(RankPhase::kStart, 0);
  return collectives;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Collectives>> connect_c10d(const C10dOptions& options) {
  if (options.environment.world_size == 1) return std::make_unique<OneRankCollectives>();
  ignore_broken_pipes();  // the store's client and gloo do not
  return catch_exceptions([&] { return connect_ranks(options); });
}

}  // namespace millrace
