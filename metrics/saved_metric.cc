#include "metrics/saved_metric.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kMostNameShown = 40;

}  // namespace

absl::Status saved_metric_error(absl::string_view name, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the saved metric ", name, " ", what));
}

ByteWriter begin_saved_metric(absl::string_view name) {
  ByteWriter writer;
  writer.write_uint8(kVersion);
  writer.write_string(name);
  return writer;
}

absl::StatusOr<ByteReader> open_saved_metric(absl::string_view name, absl::string_view bytes) {
  ByteReader reader(bytes);
  const int version = reader.read_uint8();
  const absl::string_view saved = reader.read_string();
  if (reader.ok() && version != kVersion) {
    return saved_metric_error(
        name, absl::StrCat("is of version ", version, "; this program reads ", kVersion));
  }
  if (!reader.ok()) return saved_metric_error(name, "is cut short");
  if (saved != name) {
    return saved_metric_error(
        name, absl::StrCat("is one of \"", absl::CEscape(saved.substr(0, kMostNameShown)), "\""));
  }
  return reader;
}

absl::Status check_saved_option(absl::string_view name, absl::string_view option, double saved,
                                double own) {
  if (saved == own) return absl::OkStatus();
  return saved_metric_error(
      name, absl::StrCat("has ", option, " ", saved, "; the metric that reads it has ", own));
}

std::string save_sums(absl::string_view name, std::initializer_list<double> sums) {
  ByteWriter writer = begin_saved_metric(name);
  for (const double sum : sums) writer.write_double(sum);
  return writer.take();
}

absl::Status merge_saved_sums(absl::string_view name, absl::string_view bytes,
                              std::initializer_list<double*> sums) {
  ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name, bytes));
  std::vector<double> saved;
  for (size_t i = 0; i < sums.size(); ++i) saved.push_back(reader.read_double());
  if (!reader.done()) {
    return saved_metric_error(
        name, absl::StrCat("has ", bytes.size(), " bytes, which is not what it needs"));
  }
  size_t i = 0;
  for (double* sum : sums) *sum += saved[i++];
  return absl::OkStatus();
}

}  // namespace millrace
