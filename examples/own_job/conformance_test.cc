// Tests each part of this job, except the hook, with the public suite of its family.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "examples/own_job/own_job.pb.h"
#include "framework/loop/train_step.h"
#include "io/file_format_conformance.h"
#include "io/transform/transform_registry.h"
#include "losses/loss_conformance.h"
#include "losses/loss_registry.h"
#include "metrics/metric_conformance.h"
#include "metrics/metric_registry.h"
#include "models/model_conformance.h"
#include "optim/rows/row_optimizer_conformance.h"
#include "optim/rows/row_optimizer_registry.h"
#include "optim/schedule/schedule_conformance.h"
#include "optim/schedule/schedule_registry.h"
#include "tests/conformance/train_step_conformance.h"
#include "tests/conformance/transform_conformance.h"

namespace millrace {
namespace {

// Returns `custom { name: "…" }` of a configuration.
CustomConfig named(const std::string& name) {
  CustomConfig config;
  config.set_name(name);
  return config;
}

[[maybe_unused]] const bool kLion = register_row_optimizer_conformance("Lion", [] {
  CustomConfig config = named("lion");
  config.MutableExtension(lion)->set_weight_decay(0.01);
  return row_optimizer_registry().create(config).value();
});

[[maybe_unused]] const bool kSquareWave = register_schedule_conformance(
    "SquareWave", {.make = [](double learning_rate) {
      return schedule_registry()
          .create(named("square_wave"), ScheduleInput{.learning_rate = learning_rate})
          .value();
    }});

[[maybe_unused]] const bool kSquareRoot = register_transform_conformance(
    "SquareRoot",
    {.make = [] { return transform_registry().create(named("square_root")).value(); }});

[[maybe_unused]] const bool kHitRate =
    register_metric_conformance("HitRate", [] { return create_metric("hit_rate").value(); });

[[maybe_unused]] const bool kQuantile = register_loss_conformance(
    "Quantile", {.make =
                     [] {
                       CustomConfig config = named("quantile");
                       config.MutableExtension(quantile)->set_quantile(0.8);
                       return loss_registry().create(config).value();
                     },
                 .plain =
                     [](const at::Tensor& outputs, const LossExamples& examples) {
                       const at::Tensor above = at::relu(examples.labels - outputs);
                       const at::Tensor below = at::relu(outputs - examples.labels);
                       const at::Tensor losses = 0.8 * above + 0.2 * below;
                       return examples.weights.defined() ? (losses * examples.weights).sum()
                                                         : losses.sum();
                     }});

// A step without noise must keep the promises of every train step.
[[maybe_unused]] const bool kGradientNoise = register_train_step_conformance("GradientNoise", [] {
  CustomConfig config = named("gradient_noise");
  config.MutableExtension(gradient_noise)->set_stddev(0);
  return train_step_registry().create(config).value();
});

// Returns lines of one integer and a list of numbers. Every third row follows a blank line.
ExpectedFile json_lines_file(bool with_bad_rows) {
  ExpectedFile file;
  file.columns = {{"id", ValueType::kInt64, {}}, {"x", ValueType::kDouble, {}}};
  for (int row = 0; row < 60; ++row) {
    const bool bad = with_bad_rows && row % 7 == 3;
    if (bad) file.bad_rows.push_back(row);
    absl::StrAppend(&file.bytes,
                    row % 3 > 0    ? ""
                    : row % 2 == 0 ? "\n"
                                   : "\r\r\n",
                    bad ? "{\"id\": \"no\"}" : absl::StrCat("{\"id\": ", row, ", \"x\": [0.5, 2]}"),
                    "\n");
    file.columns[0].rows.push_back(bad ? "" : absl::StrCat(row, ";"));
    file.columns[1].rows.push_back(bad ? "" : "0.5;2;");
  }
  return file;
}

DataConfig json_lines_config() {
  DataConfig config;
  config.mutable_custom_format()->set_name("json_lines");
  JsonLinesConfig& own = *config.mutable_custom_format()->MutableExtension(json_lines);
  own.add_integers("id");
  own.add_numbers("x");
  return config;
}

[[maybe_unused]] const bool kJsonLines = register_file_format_conformance(
    "JsonLines", {.file = [] { return json_lines_file(/*with_bad_rows=*/false); },
                  .file_with_bad_rows = [] { return json_lines_file(/*with_bad_rows=*/true); },
                  .config = json_lines_config(),
                  .may_end_anywhere = true});

[[maybe_unused]] const bool kOneLayer = register_model_conformance("OneLayer", {.config = [] {
                                                                     ModelConfig config;
                                                                     config.set_name("one_layer");
                                                                     return config;
                                                                   }});

}  // namespace
}  // namespace millrace
