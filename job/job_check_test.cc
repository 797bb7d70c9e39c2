#include "job/job_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "config/config_check.h"
#include "framework/model/model_registry.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "proto/config_reader.h"
#include "proto/field_errors.h"
#include "proto/field_rules.pb.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using ::testing::AllOf;
using ::testing::HasSubstr;

// No model is created.
const bool kModel = register_model(
    "known_model",
    [](const ModelConfig&, const ModelResources&) -> absl::StatusOr<std::shared_ptr<Model>> {
      return absl::UnimplementedError("");
    });
const bool kHook = register_hook(
    "known_hook", "does nothing",
    [](const HookConfig&, const HookResources&) -> absl::StatusOr<std::unique_ptr<Hook>> {
      return absl::UnimplementedError("");
    });

// Checks a job with these fields of `train` and `run`.
absl::Status check(const std::string& train, const std::string& run) {
  JobConfig config;
  EXPECT_OK(parse_text(absl::StrCat("train { eval_data {} feature { name: \"label\" kind: LABEL } ",
                                    train, " } run { ", run, " }"),
                       "test", &config));
  expand_names(config.mutable_train());
  return check_job(config);
}

constexpr char kKnown[] = "model { name: \"known_model\" } ";

TEST(JobCheckTest, LinkedNamesAreAccepted) {
  EXPECT_TRUE(kModel && kHook);
  EXPECT_OK(check(kKnown, "hooks { name: \"known_hook\" }"));
}

TEST(JobCheckTest, AMessageOfAnotherHookIsRefused) {
  EXPECT_OK(check(kKnown, "hooks { name: \"profiler\" [millrace.profiler] { wait: 1 } }"));
  EXPECT_THAT(check(kKnown, "hooks { name: \"known_hook\" [millrace.profiler] { wait: 1 } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("run.hooks[0]: [millrace.profiler] is the message of hook "
                                 "\"profiler\", not of \"known_hook\"")));
}

TEST(JobCheckTest, AHookOfAPluginMustNotPassForOneOfTheProgram) {
  const auto plugin = [](const std::string& name) {
    return absl::StrCat("hooks { ", name, " plugin { path: \"/p/a.so\" hook: \"known_hook\" } }");
  };
  EXPECT_OK(check(kKnown, plugin("name: \"own\"")));
  for (const char* name : {"", "name: \"known_hook\"", "name: \"logger\""}) {
    EXPECT_THAT(std::string(check(kKnown, plugin(name)).message()),
                HasSubstr("is a hook of this program; give the hook of the plugin another name"));
  }
}

TEST(JobCheckTest, OtherNamesAreRefusedWithTheField) {
  EXPECT_THAT(check("model { name: \"knwon_model\" }", ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("train.model: no model \"knwon_model\""),
                             HasSubstr("did you mean \"known_model\""))));
  EXPECT_THAT(std::string(check(absl::StrCat(kKnown, "hooks { name: \"a\" }"), "").message()),
              HasSubstr("train.hooks[0]: no hook \"a\""));
  EXPECT_THAT(std::string(check(kKnown, "hooks { name: \"a\" }").message()),
              HasSubstr("run.hooks[0]: no hook \"a\""));
}

TEST(JobCheckTest, MistakesOfAllPartsAreFoundTogether) {
  const std::string text(check("model { name: \"knwon_model\" } hooks { name: \"a\" } "
                               "global_batch_size: 1021 max_micro_batch_size: 512 ",
                               "hooks { name: \"b\" } "
                               "evaluation { best { term { monitor: \"eval/acu\" } } } "
                               "checkpoint { keep_best { metric: \"evla/auc\" } }")
                             .message());
  for (const char* part :
       {"train.model: no model", "train.hooks[0]: no hook \"a\"", "run.hooks[0]: no hook \"b\"",
        "train: max_micro_batch_size is 512", "run.evaluation.best.term[0] \"eval/acu\"",
        "run.checkpoint.keep_best \"evla/auc\""}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(JobCheckTest, RanksThatCannotShareAStep) {
  JobConfig config;
  ASSERT_OK(parse_text(absl::StrCat("train { global_batch_size: 64 feature { name: \"label\" kind: "
                                    "LABEL } ",
                                    kKnown, "}"),
                       "test", &config));
  EXPECT_OK(check_job(config));
  EXPECT_OK(check_job(config, 4));
  EXPECT_THAT(check_job(config, 3),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "train: global_batch_size is 64, which 3 ranks do not divide; the nearest "
                       "are 63 and 66"));
}

TEST(JobCheckTest, WhatValidateRefusesIsNotReportedAgain) {
  JobConfig config;
  ASSERT_OK(parse_text(absl::StrCat("train { max_micro_batch_size: -1 global_batch_size: -1 task { "
                                    "weight: -1 } hooks {} ",
                                    kKnown,
                                    "} run { evaluation { best { term { monitor: "
                                    "\"eval/auc\" } } } }"),
                       "test", &config));
  EXPECT_OK(check_job(config)) << "it has no label, so that it has no metrics either";
}

TEST(JobCheckTest, DefaultsMayBeWrittenOut) {
  JobConfig config, full;
  ASSERT_OK(
      parse_text(absl::StrCat("train { feature { name: \"label\" kind: LABEL } ", kKnown, "}"),
                 "test", &config));
  ASSERT_OK(parse_text(to_text_with_defaults(config), "full", &full));
  EXPECT_OK(check_job(full));
}

TEST(JobCheckTest, MetricsOnTheLogLineExist) {
  const std::string sliced = absl::StrCat(
      kKnown, "feature { name: \"c\" } table { name: \"c\" dim: 2 } slice { feature: \"c\" ");
  for (const char* rest : {"}", "metric: \"auc\" }", "id: 7 metric: \"auc\" }"}) {
    EXPECT_OK(check(sliced + rest, "log { metric: \"auc\" metric: \"c=7/auc\" }")) << rest;
  }
  EXPECT_OK(check(sliced + "text: \"DE\" }", "log { metric: \"c=DE/auc\" }"));
  EXPECT_THAT(
      std::string(check(sliced + "text: \"DE\" }", "log { metric: \"c=8/auc\" }").message()),
      HasSubstr("run.log.metric[0] \"c=8/auc\""));
  EXPECT_THAT(std::string(check(sliced + "id: 7 }", "log { metric: \"c=8/auc\" }").message()),
              HasSubstr("run.log.metric[0] \"c=8/auc\""));
  EXPECT_THAT(std::string(check(kKnown, "log { metric: \"eval/auc\" }").message()),
              HasSubstr("write \"auc\""));
}

TEST(JobCheckTest, ADirectionThatContradictsTheMetric) {
  const std::string when = "when { every_steps: 5 } ";
  for (const std::string& wrong :
       {std::string("checkpoint { keep_best { metric: \"eval/logloss\" } }"),
        absl::StrCat("evaluation { ", when,
                     "best { term { monitor: \"eval/auc\" } higher_is_better: false } }")}) {
    EXPECT_THAT(check(kKnown, wrong),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("are better")))
        << wrong;
  }
}

TEST(JobCheckTest, KeepBestNeedsAnEvaluation) {
  const std::string keep = "keep_best { metric: \"eval/loss\" higher_is_better: false }";
  EXPECT_OK(check(kKnown, absl::StrCat("checkpoint { ", keep, " }")));
  const std::string disabled = "evaluation { enabled: false } ";
  EXPECT_THAT(check(kKnown, absl::StrCat(disabled, "checkpoint { ", keep, " }")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("keep_best")));
  EXPECT_OK(check(kKnown, absl::StrCat(disabled, "checkpoint { enabled: false ", keep, " }")))
      << "nothing is kept";
}

// The fields from the configuration of a job to a field with a rule.
using Path = std::vector<const FieldDescriptor*>;

// Appends the paths to all fields with rules within `message`, to which `path` leads. Each message
// type is entered once.
void add_rules(const Descriptor& message, Path path, std::set<const Descriptor*>* seen,
               std::vector<Path>* rules) {
  if (!seen->insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    path.push_back(message.field(i));
    if (!range_text(*message.field(i)).empty()) rules->push_back(path);
    if (message.field(i)->message_type() != nullptr) {
      add_rules(*message.field(i)->message_type(), path, seen, rules);
    }
    path.pop_back();
  }
}

std::vector<Path> all_rules() {
  std::vector<Path> rules;
  std::set<const Descriptor*> seen;
  add_rules(*JobConfig::descriptor(), {}, &seen, &rules);
  for (const char* part : {"hooks", "model", "custom_metric"}) {
    const FieldDescriptor* const field = TrainConfig::descriptor()->FindFieldByName(part);
    std::vector<const FieldDescriptor*> extensions;
    DescriptorPool::generated_pool()->FindAllExtensions(field->message_type(), &extensions);
    for (const FieldDescriptor* extension : extensions) {
      if (extension->message_type() == nullptr) continue;
      const Path path = {JobConfig::descriptor()->FindFieldByName("train"), field, extension};
      add_rules(*extension->message_type(), path, &seen, &rules);
    }
  }
  return rules;
}

std::string value_out_of_range(const FieldDescriptor& field) {
  const FieldRule& rule = field.options().GetExtension(must_be);
  double value = std::numeric_limits<double>::infinity();
  if (rule.has_at_least()) value = rule.at_least() - 1;
  if (rule.has_above()) value = rule.above();
  if (rule.normal_float32()) value = 0;
  return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE
             ? absl::StrCat(value)
             : absl::StrCat(static_cast<int64_t>(value));
}

// Returns text format that sets the last field of `path`.
std::string text_of(const Path& path, const std::string& value) {
  std::string text = absl::StrCat(path.back()->name(), ": ", value);
  for (size_t i = path.size() - 1; i-- > 0;) {
    const std::string name =
        path[i]->is_extension() ? absl::StrCat("[", path[i]->full_name(), "]") : path[i]->name();
    text = absl::StrCat(name, " { ", text, " }");
  }
  return text;
}

TEST(JobCheckTest, EveryRangeIsCheckedOnce) {
  const std::vector<Path> rules = all_rules();
  EXPECT_GT(rules.size(), 120u);
  for (const Path& path : rules) {
    const std::string value = value_out_of_range(*path.back());
    const std::string text = text_of(path, value);
    JobConfig config;
    ASSERT_OK(
        parse_text(absl::StrCat("train { feature { name: \"label\" kind: LABEL } ", kKnown, "}"),
                   "test", &config));
    ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &config)) << text;
    const std::string errors(all_errors({validate(config), check_job(config)}).message());
    const std::string name = path.back()->name() + (path.back()->is_repeated() ? "[0]" : "");
    const std::vector<std::string> pieces = absl::StrSplit(
        errors, absl::StrCat(": ", name, " is ", value, "; must be ", range_text(*path.back())));
    EXPECT_EQ(pieces.size(), 2u) << text << "\n" << errors;
  }
}

}  // namespace
}  // namespace millrace
