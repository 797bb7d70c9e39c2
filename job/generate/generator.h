// Generation of the data of `millrace generate`.
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
  // Decide the examples. The example of a (model, part, row) is always the same: more rows or other
  // files do not change it.
  PlantedModelOptions model;
  int64_t rows = 200000;      // training rows, at least 1
  int64_t eval_rows = 40000;  // evaluation rows, at least 0

  // Decide the files: OUTPUT_DIR/part-0.parquet ... and OUTPUT_DIR/eval.parquet (or .orc).
  std::string output_dir;  // created if missing
  ColumnarFormat format = ColumnarFormat::kParquet;
  int64_t files = 4;  // for training, as equal as can be; 1 to rows
  int64_t rows_in_group =
      16384;  // rows drawn and written at once, which bounds the memory; at least 1
  // If true, also replaces files that no mark names.
  bool overwrite = false;
};

struct GenerateResult {
  std::vector<std::string> train_paths;
  std::string eval_path;  // "": no evaluation rows
  int64_t positives = 0;  // of the training rows
  // The best possible expected metrics on the evaluation rows: the metrics of the true
  // probabilities. Not-a-number without evaluation rows.
  double best_auc = 0;
  double best_logloss = 0;
};

// Names of the marks of generated files. generate() writes kGeneratedSign, which patterns skip and
// which names the files in its directory; train.generated_data writes kGeneratedMarker. A mark
// without names is from an older version and covers all files.
inline constexpr char kGeneratedSign[] = ".generated";
inline constexpr char kGeneratedMarker[] = "generated.textproto";

// Draws the examples and writes them. Equal options give equal files. Replaces existing files of
// the same names if the mark of the directory names them. After an error the completed files
// remain, and no partial file. Writes kGeneratedSign first.
// Errors: InvalidArgument with the option; PermissionDenied with a file that would be replaced;
// errors of the file system, with the path.
absl::StatusOr<GenerateResult> generate(FileSystem& files, const GenerateOptions& options);

// Parses "parquet" or "orc". Errors: InvalidArgument with both names.
absl::StatusOr<ColumnarFormat> parse_columnar_format(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_JOB_GENERATE_GENERATOR_H_
