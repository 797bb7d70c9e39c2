#include "tools/output/run_outputs.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/files/glob.h"
#include "proto/inspection_hook_configs.pb.h"
#include "tools/output/output_file.h"

namespace millrace {
namespace {

// A pattern of files that a sink or a hook writes.
struct WrittenFiles {
  std::string field;
  std::string pattern;  // below the output directory
};

// Returns the files with known names that sinks and hooks write where the configuration says.
std::vector<WrittenFiles> written_files(const JobConfig& job) {
  std::vector<WrittenFiles> written;
  for (int i = 0; i < job.run().sink_size(); ++i) {
    const SinkConfig& sink = job.run().sink(i);
    if (!sink.has_csv()) continue;
    const std::string directory = literal_pattern(sink.csv().directory());
    const std::string below = sink.ranks() == SinkConfig::ALL ? "rank-*/" : "";
    written.push_back({absl::StrCat("run.sink[", i, "]"),
                       absl::StrCat(directory, "/", below, "{train,eval}.csv")});
  }
  const auto add_hooks = [&](const char* part, const auto& hooks) {
    for (int i = 0; i < hooks.size(); ++i) {
      const std::string field = absl::StrCat(part, ".hooks[", i, "]");
      if (hooks[i].name() == "mllog") {
        written.push_back({field, literal_pattern(hooks[i].GetExtension(mllog).file())});
      } else if (hooks[i].name() == "embedding_projector") {
        const std::string& directory = hooks[i].GetExtension(embedding_projector).directory();
        written.push_back(
            {field, absl::StrCat(literal_pattern(directory), "/{,rank-*/}projector_*")});
      }
    }
  };
  add_hooks("train", job.train().hooks());
  add_hooks("run", job.run().hooks());
  return written;
}

}  // namespace

std::vector<RunInput> run_outputs(const RunConfig& config) {
  std::vector<RunInput> outputs;
  for (const char* name :
       {"config.textproto", "events.jsonl", "windows.jsonl", "lock", "checkpoints/lock",
        "metrics/train.jsonl", "metrics/eval.jsonl", "logs/rank-0.log"}) {
    outputs.push_back({"a file that the run itself writes", join_path(config.output_dir(), name)});
  }
  return outputs;
}

absl::Status check_written_files(FileSystem& files, const std::string& config_path,
                                 const JobConfig& job) {
  const std::string directory = literal_pattern(job.run().output_dir());
  std::vector<RunInput> inputs;  // listed once a file exists
  for (const WrittenFiles& written : written_files(job)) {
    const auto paths = files.glob(join_path(directory, written.pattern));
    if (!paths.ok()) continue;  // reported by the hook or sink
    for (const std::string& path : *paths) {
      if (inputs.empty()) inputs = run_inputs(files, config_path, job.train());
      RETURN_IF_ERROR(check_not_input(files, path, inputs), written.field);
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
