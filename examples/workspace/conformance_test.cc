// Tests the parts of this workspace with the public suites of their families.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "io/file_format_conformance.h"
#include "io/transform/transform_registry.h"
#include "metrics/metric_conformance.h"
#include "metrics/metric_registry.h"
#include "optim/rows/row_optimizer_conformance.h"
#include "optim/rows/row_optimizer_registry.h"
#include "tests/conformance/transform_conformance.h"
#include "visits.pb.h"

namespace visits {
namespace {

// Returns `custom { name: "…" }` of a configuration.
millrace::CustomConfig named(const std::string& name) {
  millrace::CustomConfig config;
  config.set_name(name);
  return config;
}

[[maybe_unused]] const bool kSignSgd = millrace::register_row_optimizer_conformance("SignSgd", [] {
  millrace::CustomConfig config = named("sign_sgd");
  config.MutableExtension(sign_sgd)->set_weight_decay(0.01);
  return millrace::row_optimizer_registry().create(config).value();
});

[[maybe_unused]] const bool kSoftSign = millrace::register_transform_conformance(
    "SoftSign",
    {.make = [] { return millrace::transform_registry().create(named("soft_sign")).value(); }});

[[maybe_unused]] const bool kHitShare = millrace::register_metric_conformance(
    "HitShare", [] { return millrace::create_metric("hit_share").value(); });

// Returns lines of an integer and two numbers; every third row follows a blank line.
millrace::ExpectedFile logfmt_file(bool with_bad_rows) {
  millrace::ExpectedFile file;
  file.columns = {{"id", millrace::ValueType::kInt64, {}}, {"x", millrace::ValueType::kDouble, {}}};
  for (int row = 0; row < 60; ++row) {
    const bool bad = with_bad_rows && row % 7 == 3;
    if (bad) file.bad_rows.push_back(row);
    absl::StrAppend(&file.bytes, row % 3 == 0 ? "\n" : "", "id=", bad ? "no" : absl::StrCat(row),
                    " x=0.5,2\n");
    file.columns[0].rows.push_back(absl::StrCat(row, ";"));
    file.columns[1].rows.push_back("0.5;2;");
  }
  return file;
}

millrace::DataConfig logfmt_config() {
  millrace::DataConfig config;
  config.mutable_custom_format()->set_name("logfmt");
  LogfmtConfig& own = *config.mutable_custom_format()->MutableExtension(logfmt);
  own.add_integers("id");
  own.add_numbers("x");
  return config;
}

[[maybe_unused]] const bool kLogfmt = millrace::register_file_format_conformance(
    "Logfmt", {.file = [] { return logfmt_file(/*with_bad_rows=*/false); },
               .file_with_bad_rows = [] { return logfmt_file(/*with_bad_rows=*/true); },
               .config = logfmt_config(),
               .may_end_anywhere = true});

}  // namespace
}  // namespace visits
