#include "sinks/mlflow/run_state.h"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/random/random_hex.h"
#include "base/status_macros.h"
#include "sinks/mlflow/mlflow_json.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

constexpr size_t kTagDigits = 32;  // 128 bits

// Sets `value` if the object has a value of its type under the key.
template <typename Value>
void read(const Json& object, const char* key, Value& value) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if (std::is_same_v<Value, bool> ? found->is_boolean() : found->is_number_integer()) {
    value = found->get<Value>();
  }
}

}  // namespace

absl::StatusOr<MlflowRunState> load_run_state(FileSystem& files, const std::string& path,
                                              const std::string& tracking_uri,
                                              const std::string& experiment, int64_t now_ms) {
  const absl::StatusOr<std::string> text = read_file(files, path);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  const Json json = Json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
  // A damaged file, or the file of another server or experiment, begins a new run: an id of another
  // server names nothing here.
  const bool same = json.is_object() && text_of(json, "tracking_uri") == tracking_uri &&
                    text_of(json, "experiment") == experiment && !text_of(json, "tag").empty();
  MlflowRunState state;
  state.tracking_uri = tracking_uri;
  state.experiment = experiment;
  state.start_ms = now_ms;
  if (!same) {
    state.tag = random_hex(kTagDigits);
    return state;
  }
  state.tag = text_of(json, "tag");
  state.run_id = text_of(json, "run_id");
  state.experiment_id = text_of(json, "experiment_id");
  read(json, "start_ms", state.start_ms);
  read(json, "params_logged", state.params_logged);
  read(json, "own_rows", state.own_rows);
  read(json, "finished", state.finished);
  if (const auto sent = json.find("sent"); sent != json.end() && sent->is_object()) {
    for (const auto& [file, place] : sent->items()) {
      if (!place.is_object()) continue;
      RowPlace& row = state.sent[file];
      read(place, "begin", row.begin);
      read(place, "end", row.end);
      read(place, "checksum", row.checksum);
      if (row.begin < 0 || row.end <= row.begin) row = {};
    }
  }
  return state;
}

absl::Status save_run_state(FileSystem& files, const std::string& path,
                            const MlflowRunState& state) {
  Json sent = Json::object();
  for (const auto& [file, row] : state.sent) {
    sent[file] = {{"begin", row.begin}, {"end", row.end}, {"checksum", row.checksum}};
  }
  const Json json = {{"tracking_uri", state.tracking_uri},
                     {"experiment", state.experiment},
                     {"tag", state.tag},
                     {"run_id", state.run_id},
                     {"experiment_id", state.experiment_id},
                     {"start_ms", state.start_ms},
                     {"params_logged", state.params_logged},
                     {"own_rows", state.own_rows},
                     {"finished", state.finished},
                     {"sent", std::move(sent)}};
  RETURN_IF_ERROR(files.create_directories(directory_of(path)));
  return write_file_atomically(files, path, dump_json(json, 2) + "\n");
}

}  // namespace millrace
