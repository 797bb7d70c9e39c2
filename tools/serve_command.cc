#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals/signals.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "serving/follower.h"
#include "serving/inference_server.h"
#include "serving/predictor.h"
#include "tools/commands.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

constexpr int kMostJoined = 64;  // requests
constexpr absl::Duration kBetweenLooksAtSignals = absl::Milliseconds(50);

struct ServeFlags {
  std::string path;
  InferenceServerOptions server;
  int workers = 2, threads = 1;
  int64_t max_rows = 4096, join_rows = 256;
  double join_milliseconds = 0, follow_seconds = 1, drain_seconds = 10;
};

absl::StatusOr<int> serve(const ServeFlags& flags) {
  for (const double number : {flags.join_milliseconds, flags.follow_seconds, flags.drain_seconds}) {
    if (std::isnan(number)) return absl::InvalidArgumentError("a time is not a number");
  }
  at::set_num_threads(flags.threads);
  ASSIGN_OR_RETURN(const ServedPlace place,
                   resolve_served_place(ObjectFiles::process(), flags.path));
  ASSIGN_OR_RETURN(std::shared_ptr<const ModelVersion> version, load_newest(place));
  MILLRACE_LOG(INFO) << "loaded " << version->path;
  ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                   Predictor::create(std::move(version),
                                     {.workers = flags.workers,
                                      .threads = flags.threads,
                                      .max_rows = flags.max_rows,
                                      .join_rows = flags.join_rows,
                                      .join_wait = absl::Milliseconds(flags.join_milliseconds),
                                      .files = place.files}));
  Follower follower(place, absl::Seconds(flags.follow_seconds), *predictor);
  const bool follows = place.kind != ServedPlace::kCheckpoint && flags.follow_seconds > 0;
  InferenceServerOptions options = flags.server;
  // Some parse while others compute, and requests that wait to be joined have threads of their own.
  options.threads = std::max(2 * flags.workers, flags.join_rows > 0 ? kMostJoined : 0);
  ASSIGN_OR_RETURN(const std::unique_ptr<InferenceServer> server,
                   InferenceServer::start(options, *predictor, [&] { return follower.counts(); }));
  if (follows) follower.start();
  struct sigaction action = {};
  action.sa_handler = note_stop_signal;
  StopSignalHandlers handlers;
  RETURN_IF_ERROR(handlers.install(action));
  MILLRACE_LOG(INFO) << "serving " << predictor->version()->path << " as " << options.model
                     << " on http://" << options.address << ":" << server->port();
  while (noted_stop_signal() == 0) Clock::real().sleep(kBetweenLooksAtSignals);
  MILLRACE_LOG(INFO) << stop_signal_name(noted_stop_signal())
                     << ": further requests are refused, those under way are answered";
  server->drain(absl::Seconds(flags.drain_seconds));
  return kExitFinished;
}

}  // namespace

Command add_serve_command(CLI::App& program) {
  auto flags = std::make_shared<ServeFlags>();  // shared with the parser's callbacks
  CLI::App* command = program.add_subcommand(
      "serve", "answer requests for predictions over HTTP, with the newest checkpoint of a folder");
  command
      ->add_option("CHECKPOINT", flags->path,
                   "checkpoint; or folder of checkpoints or of published versions, or output "
                   "directory, to follow")
      ->required();
  command->add_option("--name", flags->server.model, "name of the model in URLs [model]");
  command->add_option("--address", flags->server.address, "address to listen on [127.0.0.1]");
  command->add_option("--port", flags->server.port, "0: any free one [8000]")
      ->check(CLI::Range(0, 65535));
  command
      ->add_option("--workers", flags->workers, "requests that are computed at the same time [2]")
      ->check(CLI::Range(1, 1024));
  command->add_option("--threads", flags->threads, "threads of one request [1]")
      ->check(CLI::Range(1, 1024));
  command->add_option("--max_rows", flags->max_rows, "rows of a request; 0: any number [4096]")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--join_rows", flags->join_rows,
                   "rows of requests that are computed as one batch; 0: each request alone [256]")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--join_milliseconds", flags->join_milliseconds,
                   "longest wait for further requests though a worker is idle [0]")
      ->check(CLI::Range(0.0, 1000.0));
  command
      ->add_option("--max_body_bytes", flags->server.most_body_bytes,
                   "size of a request [16777216]")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--follow_seconds", flags->follow_seconds,
                   "interval between looks for a newer checkpoint; 0: never [1]")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--drain_seconds", flags->drain_seconds,
                   "limit of the time to answer the requests under way after SIGTERM [10]")
      ->check(CLI::NonNegativeNumber);
  return [flags] { return serve(*flags); };
}

}  // namespace millrace
