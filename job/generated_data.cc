#include "job/generated_data.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/path/file_sizes.h"
#include "base/status_macros.h"
#include "job/generate/generator.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr int64_t kTrainingFiles = 4;
constexpr char kEvalFile[] = "eval.parquet";
constexpr char kBestAuc[] = "# best AUC on the evaluation examples: ";

std::string training_file(int64_t number) { return absl::StrCat("part-", number, ".parquet"); }

// Returns true if the files of `generated` have the sizes that they were written with.
bool are_whole(FileSystem& files, const GeneratedDataConfig& generated) {
  const absl::StatusOr<std::string> text =
      read_file(files, join_path(generated.directory(), kGeneratedSign));
  if (!text.ok()) return false;
  const FileSizes sizes = parse_file_sizes(*text);
  std::vector<std::string> names;
  for (int64_t i = 0; i < kTrainingFiles; ++i) names.push_back(training_file(i));
  if (generated.eval_rows() > 0) names.push_back(kEvalFile);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto size = sizes.find(name);
    const auto info = files.info(join_path(generated.directory(), name));
    return size != sizes.end() && info.ok() && info->size_bytes == size->second;
  });
}

// Returns true if all files of `wanted` exist completely, and then sets `best_auc`.
bool read_marker(FileSystem& files, const GeneratedDataConfig& generated, const std::string& marker,
                 const std::string& wanted, double* best_auc) {
  const absl::StatusOr<std::string> text = read_file(files, marker);
  if (!text.ok()) return false;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(*text, absl::MaxSplits(kBestAuc, 1));
  if (parts.first != wanted) return false;
  if (!are_whole(files, generated)) return false;
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
      set.mutable_data()->add_path(join_path(directory, kEvalFile));
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
  if (read_marker(files, generated, marker, wanted, &data.best_auc)) return data;
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
