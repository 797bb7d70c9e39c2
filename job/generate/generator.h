// The data behind `millrace generate`.
#ifndef MILLRACE_JOB_GENERATE_GENERATOR_H_
#define MILLRACE_JOB_GENERATE_GENERATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "job/generate/columnar_writer.h"
#include "job/generate/planted_model.h"

namespace millrace {

struct GenerateOptions {
  // Decide the examples. Those of one (model, evaluation or not, row) are always the same: more
  // rows or other files do not change them.
  PlantedModelOptions model;
  int64_t rows = 200000;      // to train on, at least 1
  int64_t eval_rows = 40000;  // to evaluate on, at least 0

  // Decide the files: OUTPUT_DIR/part-0.parquet ... and OUTPUT_DIR/eval.parquet (or .orc).
  std::string output_dir;  // created if missing
  ColumnarFormat format = ColumnarFormat::kParquet;
  int64_t files = 4;  // for training, as equal as can be; 1 to rows
  int64_t rows_in_group =
      16384;  // rows drawn and written at once, which bounds the memory; at least 1
  // If true, files that no mark names are replaced, too.
  bool overwrite = false;
};

struct GenerateResult {
  std::vector<std::string> train_paths;
  std::string eval_path;  // "": no evaluation rows
  int64_t positives = 0;  // of the training rows
  // The best anyone can expect to reach on the evaluation rows: the metrics of the true
  // probabilities. Not-a-number without evaluation rows.
  double best_auc = 0;
  double best_logloss = 0;
};

// Mark generated files: generate() writes the first, which patterns pass over and which names the
// files beside it, and train.generated_data the second. A mark that names no files is one of an
// older version and stands for all files.
inline constexpr char kGeneratedSign[] = ".generated";
inline constexpr char kGeneratedMarker[] = "generated.textproto";

// Draws the examples and writes them; equal options give equal files. Existing files of the same
// names are replaced if the mark of the directory names them. After an error the files finished
// before it stay, and no half of one. Writes kGeneratedSign first.
// Errors: InvalidArgument naming the option; PermissionDenied naming a file that would be replaced;
// those of the file system, which name the path.
absl::StatusOr<GenerateResult> generate(FileSystem& files, const GenerateOptions& options);

// "parquet" or "orc". Errors: InvalidArgument naming both.
absl::StatusOr<ColumnarFormat> parse_columnar_format(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_JOB_GENERATE_GENERATOR_H_
