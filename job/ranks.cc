#include "job/ranks.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/catch_exceptions.h"
#include "base/mutex.h"
#include "base/signals/signals.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "distributed/c10d_collectives.h"
#include "distributed/one_rank_collectives.h"
#include "job/health/rank_activity.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

// Appends a line "PATH.FIELD: VALUE" for each field of `message`, with the default of a number that
// is not set, except the fields in `may_differ`.
void append_fields(absl::string_view path, const google::protobuf::Message& message,
                   const std::set<absl::string_view>& may_differ, std::string& lines) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (may_differ.count(std::string(field.name())) > 0) continue;
    const int count = field.is_repeated() ? message.GetReflection()->FieldSize(message, &field) : 1;
    absl::StrAppend(&lines, path, ".", std::string(field.name()), ":");
    for (int k = 0; k < count; ++k) {
      std::string value;
      printer.PrintFieldValueToString(message, &field, field.is_repeated() ? k : -1, &value);
      absl::StrAppend(&lines, " ", value);
    }
    absl::StrAppend(&lines, "\n");
  }
}

}  // namespace

std::string common_settings(const RunConfig& run) {
  std::string lines;
  append_fields("run.report", run.report(), {"jsonl", "on_error", "tensorboard"}, lines);
  append_fields("run.evaluation", run.evaluation(), {}, lines);
  append_fields("run.checkpoint", run.checkpoint(), {"write_threads"}, lines);
  absl::StrAppend(&lines, "run.distributed.table_channel: ",
                  DistributedConfig::TableChannel_Name(run.distributed().table_channel()), "\n");
  // Ranks may reach the same checkpoint by different paths.
  const bool keyword = run.resume() == "auto" || run.resume() == "never";
  absl::StrAppend(&lines, "run.resume: ", keyword ? run.resume() : "a path", "\n");
  return lines;
}

absl::StatusOr<std::unique_ptr<Collectives>> join_ranks(
    const RankEnvironment& environment, const JobConfig& config,
    const std::function<void(RankPhase, int64_t step)>& published, std::optional<int> cuda_device,
    RankActivity* activity) {
  if (environment.world_size == 1) {
    auto alone = std::make_unique<OneRankCollectives>();
    if (activity == nullptr) return alone;
    return record_activity(std::move(alone), *activity);
  }
  const DistributedConfig& distributed = config.run().distributed();
  C10dOptions options;
  options.environment = environment;
  options.identity.name = config.run().job_name();
  options.identity.version = kVersion;
  options.identity.config = absl::StrCat(to_text(config.train()), common_settings(config.run()));
  options.rendezvous_timeout = absl::Seconds(distributed.rendezvous_timeout_seconds());
  options.collective_timeout = absl::Seconds(distributed.collective_timeout_seconds());
  options.checkpoint_timeout = absl::Seconds(distributed.checkpoint_timeout_seconds());
  // A rank that waits for data receives the stop signals of other ranks, too.
  options.stop_signal = noted_stop_signal;
  options.peer_stop_signal = note_stop_signal;
  options.published = published;
  if (activity != nullptr) {
    options.observed = [activity](int rank, RankPhase phase, int64_t step) {
      activity->observe({rank, phase, step});
    };
  }
  options.interface = distributed.interface();
  options.tables_over_c10d = distributed.table_channel() == DistributedConfig::C10D;
  options.cuda_device = cuda_device;
  absl::StatusOr<std::unique_ptr<Collectives>> collectives = connect_c10d(options);
  if (absl::IsUnavailable(collectives.status())) {  // others are, not our files
    return absl::AbortedError(collectives.status().message());
  }
  if (!collectives.ok() || activity == nullptr) return collectives;
  return record_activity(*std::move(collectives), *activity);
}

absl::Status check_one_rank(absl::string_view command) {
  ASSIGN_OR_RETURN(const RankEnvironment environment, read_rank_environment());
  if (environment.world_size == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(command, " runs on one rank, but this is rank ",
                                                 environment.rank, " of ", environment.world_size));
}

absl::Status on_rank_0(Collectives& collectives, const std::function<absl::Status()>& work) {
  absl::Status status;
  if (collectives.rank() == 0) {
    collectives.set_phase(RankPhase::kData, 0);  // may take longer than a collective
    status = work();
    if (!status.ok()) collectives.fail(status);
    collectives.set_phase(RankPhase::kStart, 0);
  }
  RETURN_IF_ERROR(status);
  return collectives.broadcast("", 0).status();
}

int machine_cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

int threads_of_rank(const RunConfig& run, int local_world_size) {
  if (run.threads() > 0) return run.threads();
  return std::max(1, machine_cores() / local_world_size);
}

std::string many_threads_warning(int threads, int cores) {
  if (threads <= 4 * cores) return "";
  return absl::StrCat("run.threads is ", threads, ", but the machine has ", cores,
                      cores == 1 ? " core" : " cores",
                      ": threads that wait for one another slow the run down; leave it out for one "
                      "thread per core");
}

absl::Status check_threads(int count) {
  Mutex mutex;
  bool all_started = false;
  std::vector<std::thread> threads;
  const absl::Status status = catch_exceptions([&] {
    for (int i = 1; i < count; ++i) {
      threads.emplace_back([&] {
        MutexLock lock(mutex);
        mutex.await([&] { return all_started; });
      });
    }
    return absl::OkStatus();
  });
  {
    MutexLock lock(mutex);
    all_started = true;
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace millrace
