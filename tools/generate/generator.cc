#include "tools/generate/generator.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "metrics/auc.h"
#include "metrics/logloss.h"

namespace millrace {
namespace {

using Part = PlantedModel::Part;

absl::Status check(const GenerateOptions& options) {
  const auto refuse = [](absl::string_view name, auto value, absl::string_view range) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; it must be ", range));
  };
  if (options.rows < 1) return refuse("rows", options.rows, "at least 1");
  if (options.eval_rows < 0) return refuse("eval_rows", options.eval_rows, "at least 0");
  if (options.files < 1 || options.files > options.rows) {
    return refuse("files", options.files, "from 1 to the number of rows");
  }
  if (options.rows_in_group < 1)
    return refuse("rows_in_group", options.rows_in_group, "at least 1");
  // Written so that not-a-number is refused too.
  const PlantedModelOptions& model = options.model;
  if (!(model.positive_rate > 0 && model.positive_rate < 1)) {
    return refuse("positive_rate", model.positive_rate, "between 0 and 1");
  }
  if (!(model.zipf_exponent >= 0 && model.zipf_exponent <= 10)) {
    return refuse("zipf_exponent", model.zipf_exponent, "in [0, 10]");
  }
  if (options.output_dir.empty()) return absl::InvalidArgumentError("output_dir is empty");
  return absl::OkStatus();
}

// Draws rows and writes them to one file, in bounded memory.
class FileGenerator {
 public:
  FileGenerator(FileSystem& files, const GenerateOptions& options)
      : files_(files), options_(options), model_(options.model) {}

  // Calls see(examples) for every group of rows that was written.
  template <typename See>
  absl::Status write(const std::string& path, Part part, int64_t begin, int64_t end, See see) {
    ASSIGN_OR_RETURN(std::unique_ptr<ColumnarWriter> writer,
                     ColumnarWriter::create(files_, path, options_.format));
    while (begin < end) {
      const int64_t group_end = std::min(end, begin + options_.rows_in_group);
      examples_.clear();
      for (; begin < group_end; ++begin) examples_.push_back(model_.example(part, begin));
      RETURN_IF_ERROR(writer->append(examples_));
      see(examples_);
    }
    return writer->close();
  }

 private:
  FileSystem& files_;
  const GenerateOptions& options_;
  const PlantedModel model_;
  std::vector<PlantedExample> examples_;
};

// Metrics of the true probabilities.
class BestMetrics {
 public:
  void add(const std::vector<PlantedExample>& examples) {
    std::vector<float> probabilities, labels;
    for (const PlantedExample& example : examples) {
      probabilities.push_back(static_cast<float>(example.probability));
      labels.push_back(static_cast<float>(example.label));
    }
    const MetricInput input{probabilities, labels, {}};
    auc_.update(input);
    logloss_.update(input);
  }
  double auc() const { return auc_.compute(); }
  double logloss() const { return logloss_.compute(); }

 private:
  AucMetric auc_;
  LogLossMetric logloss_;
};

absl::string_view extension(ColumnarFormat format) {
  return format == ColumnarFormat::kParquet ? ".parquet" : ".orc";
}

}  // namespace

absl::StatusOr<GenerateResult> generate(FileSystem& files, const GenerateOptions& options) {
  RETURN_IF_ERROR(check(options));
  RETURN_IF_ERROR(files.create_directories(options.output_dir));
  FileGenerator generator(files, options);
  GenerateResult result;
  const auto path = [&](absl::string_view stem) {
    return join_path(options.output_dir, absl::StrCat(stem, extension(options.format)));
  };
  const auto count_positives = [&](const std::vector<PlantedExample>& examples) {
    for (const PlantedExample& example : examples) result.positives += example.label == 1;
  };
  const int64_t quotient = options.rows / options.files, remainder = options.rows % options.files;
  int64_t begin = 0;
  for (int64_t i = 0; i < options.files; ++i) {
    const int64_t end = begin + quotient + (i < remainder);
    result.train_paths.push_back(path(absl::StrCat("part-", i)));
    RETURN_IF_ERROR(
        generator.write(result.train_paths.back(), Part::kTrain, begin, end, count_positives));
    begin = end;
  }
  BestMetrics best;
  if (options.eval_rows > 0) {
    result.eval_path = path("eval");
    RETURN_IF_ERROR(generator.write(result.eval_path, Part::kEvaluate, 0, options.eval_rows,
                                    [&](const auto& examples) { best.add(examples); }));
  }
  result.best_auc = best.auc();
  result.best_logloss = best.logloss();
  return result;
}

absl::StatusOr<ColumnarFormat> parse_columnar_format(absl::string_view name) {
  if (name == "parquet") return ColumnarFormat::kParquet;
  if (name == "orc") return ColumnarFormat::kOrc;
  return absl::InvalidArgumentError(
      absl::StrCat("no format \"", name, "\"; it must be parquet or orc"));
}

}  // namespace millrace
