#include "tests/e2e/small_job.h"

#include "absl/strings/str_cat.h"

namespace millrace {

std::string small_job(const SmallJob& job) {
  std::string text = absl::StrCat(
      "train {\n  train_data { path: \"", job.train_path, "\" batch_size: ", job.batch_size, " ",
      job.train_data, " }\n  eval_data { data { path: \"", job.eval_path,
      "\" batch_size: 100 } }\n", "  feature { name: \"label\" kind: LABEL }\n");
  for (const std::string& name : job.dense) {
    absl::StrAppend(&text, "  feature { name: \"", name, "\" kind: DENSE default_value: 0 }\n");
  }
  for (const std::string& name : job.ids) {
    absl::StrAppend(&text, "  feature { name: \"", name, "\" }\n", "  table { name: \"", name,
                    "\" dim: 4 }\n");
  }
  absl::StrAppend(&text, "  model { name: \"deepfm\" [millrace.deepfm] { hidden: [4] } }\n  ",
                  job.train, "\n}\nrun { output_dir: \"out\" threads: 1 ", job.run, " }\n");
  return text;
}

}  // namespace millrace
