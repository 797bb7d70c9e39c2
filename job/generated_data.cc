#include "job/generated_data.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "job/generate/generator.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr int64_t kTrainingFiles = 4;
constexpr char kBestAuc[] = "# best AUC on the evaluation examples: ";

std::string training_file(int64_t number) { return absl::StrCat("part-", number, ".parquet"); }

// Returns true if all files of `wanted` exist completely, and then sets `best_auc`.
bool read_marker(FileSystem& files, const std::string& marker, const std::string& wanted,
                 double* best_auc) {
  const absl::StatusOr<std::string> text = read_file(files, marker);
  if (!text.ok()) return false;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(*text, absl::MaxSplits(kBestAuc, 1));
  if (parts.first != wanted) return false;
  for (int64_t i = 0; i < kTrainingFiles; ++i) {
    const std::string path =
        marker.substr(0, marker.size() - std::strlen(kGeneratedMarker)) + training_file(i);
    if (!files.info(path).ok()) return false;
  }
  return absl::SimpleAtod(absl::StripAsciiWhitespace(parts.second), best_auc);
}

}  // namespace

void use_generated_data(TrainConfig* config) {
  if (!config->has_generated_data()) return;
  const std::string& directory = config->generated_data().directory();
  const DataConfig& train_data = config->train_data();
  if (train_data.path().empty() && !train_data.has_mix() && !train_data.has_custom_dataset()) {
    for (int64_t i = 0; i < kTrainingFiles; ++i) {
      config->mutable_train_data()->add_path(join_path(directory, training_file(i)));
    }
  }
  if (config->eval_data_size() == 0 && config->generated_data().eval_rows() > 0) {
    config->add_eval_data();
  }
  for (EvaluationSetConfig& set : *config->mutable_eval_data()) {
    if (set.data().path().empty() && !set.data().has_custom_dataset()) {
      set.mutable_data()->add_path(join_path(directory, "eval.parquet"));
    }
  }
}

absl::StatusOr<std::optional<GeneratedData>> make_generated_data(FileSystem& files,
                                                                 const TrainConfig& config,
                                                                 bool overwrite) {
  if (!config.has_generated_data()) return std::nullopt;
  const GeneratedDataConfig& generated = config.generated_data();
  const std::string marker = join_path(generated.directory(), kGeneratedMarker);
  const std::string wanted = to_text_with_defaults(generated);
  GeneratedData data;
  if (read_marker(files, marker, wanted, &data.best_auc)) return data;
  GenerateOptions options;
  options.model.seed = generated.seed();
  options.rows = generated.rows();
  options.eval_rows = generated.eval_rows();
  options.output_dir = generated.directory();
  options.files = kTrainingFiles;
  options.overwrite = overwrite;
  ASSIGN_OR_RETURN(const GenerateResult result, generate(files, options), "train.generated_data");
  data.made = true;
  data.best_auc = result.best_auc;
  // Written last, since the marker states that the files are complete.
  RETURN_IF_ERROR(write_file_atomically(
      files, marker, absl::StrCat(wanted, kBestAuc, absl::StrFormat("%.6f", data.best_auc), "\n")));
  return data;
}

}  // namespace millrace
