// A program of one's own that trains from a configuration. It has no commands and no flags; its
// models are those that it links.
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "config/config_check.h"
#include "framework/summary.h"
#include "framework/trainer.h"
#include "job/generated_data.h"
#include "job/job.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

absl::StatusOr<Summary> train(const std::string& path) {
  FileSystem& files = FileSystem::local();
  ASSIGN_OR_RETURN(JobConfig config, read_job_config(files, path));
  expand_names(config.mutable_train());
  use_generated_data(config.mutable_train());
  RETURN_IF_ERROR(validate(config), path);
  RETURN_IF_ERROR(make_generated_data(files, config.train()).status());
  JobResources resources;
  resources.log = &std::cerr;
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, build_trainer(config, resources));
  return trainer->train();
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: own_program CONFIGURATION\n";
    return 64;
  }
  const absl::StatusOr<millrace::Summary> summary = millrace::train(argv[1]);
  if (!summary.ok()) {
    std::cerr << summary.status() << "\n";
    return 1;
  }
  std::cout << "steps " << summary->progress.step << "\n";
  return 0;
}
