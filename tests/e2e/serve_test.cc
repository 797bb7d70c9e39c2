// Tests `millrace serve`: against `millrace predict`, while training goes on, with wrong requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/http/http_client.h"
#include "base/status_matchers.h"
#include "distributed/process_ranks_testing.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr int64_t kRows = 64;

// Text ids are hashed, lists have weights, and a number is transformed.
constexpr char kJob[] = R"(
train {
  train_data { path: "train.csv" batch_size: 64 shuffle_rows: 500 csv { list_delimiter: "|" } }
  eval_data { data { path: "eval.csv" batch_size: 64 csv { list_delimiter: "|" } } }
  feature { name: "label" kind: LABEL }
  feature { name: "x" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "user" transform { hash {} } table: "user" }
  feature { name: "items" table: "items" pooling: MEAN max_ids: 3 }
  table { name: "user" dim: 4 }
  table { name: "items" dim: 4 eviction { idle_steps: 5 } }
  model { name: "deepfm" [millrace.deepfm] { hidden: [8] } }
  max_epochs: 100
  hooks { name: "evict_rows" [millrace.evict_rows] { when { every_steps: 7 } } }
}
run {
  output_dir: "out" threads: 1
  checkpoint { when { every_steps: 10 } max_deltas: 100 keep_last: 100 }
}
)";

class ServeTest : public ProgramTest {
 protected:
  ServeTest() {
    write("job.textproto", kJob);
    write("train.csv", rows(2000));
    write("eval.csv", rows(kRows));
  }

  static std::string user(int64_t row) { return absl::StrCat("u", row % 37); }
  static std::vector<int64_t> items(int64_t row) {
    std::vector<int64_t> items;
    for (int64_t i = 0; i < row % 5; ++i) items.push_back((row * 7 + i * 3) % 200);
    return items;
  }
  static std::string rows(int64_t count) {
    std::string text = "label,x,user,items\n";
    for (int64_t row = 0; row < count; ++row) {
      absl::StrAppend(&text, row % 3 == 0, ",", row % 11, ",", user(row), ",",
                      absl::StrJoin(items(row), "|"), "\n");
    }
    return text;
  }
  // The rows of eval.csv as a request.
  static Json request() {
    Json x, users, lists, lengths;
    for (int64_t row = 0; row < kRows; ++row) {
      x.push_back(row % 11);
      users.push_back(user(row));
      for (const int64_t item : items(row)) lists.push_back(item);
      lengths.push_back(items(row).size());
    }
    const auto tensor = [](const char* name, const char* type, Json data) {
      return Json{{"name", name}, {"shape", {data.size()}}, {"datatype", type}, {"data", data}};
    };
    return {{"inputs",
             {tensor("x", "FP32", x), tensor("user", "BYTES", users),
              tensor("items", "INT64", lists), tensor("items_lengths", "INT32", lengths)}}};
  }

  void train(int64_t steps) {
    millrace_ok({"train", "job.textproto", "--max_steps", absl::StrCat(steps)});
  }
  void start(std::vector<std::string> flags = {}) {
    port_ = std::make_unique<ReservedPort>(free_port());
    flags.insert(flags.begin(), {millrace_path(), "serve", place_, "--follow_seconds", "0.05",
                                 "--port", absl::StrCat(port_->number)});
    server_ = std::make_unique<RunningProgram>(
        flags, ProgramOptions{.directory = path(directory_), .timeout = std::chrono::seconds(50)});
    ASSERT_TRUE(server_->wait_for("serving "));
    const auto url = parse_http_url(absl::StrCat("http://127.0.0.1:", port_->number));
    ASSERT_OK(url.status());
    client_ = std::make_unique<HttpClient>(*url, HttpClientOptions());
  }
  HttpResponse post(const std::string& body, HttpRequest request = {}) {
    request.method = "POST";
    if (request.target.empty()) request.target = "/v2/models/model/infer";
    request.body = body;
    const auto response = client_->send(request);
    EXPECT_OK(response.status());
    return response.value_or(HttpResponse());
  }
  std::string get(const std::string& target) {
    const auto response = client_->send({.target = target});
    EXPECT_OK(response.status());
    return response.value_or(HttpResponse()).body;
  }
  // Returns a metric of the server.
  double metric(const std::string& name) {
    for (const absl::string_view line : absl::StrSplit(get("/metrics"), '\n')) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      double value = 0;
      if (words.size() == 2 && words[0] == "millrace_serving_" + name &&
          absl::SimpleAtod(words[1], &value)) {
        return value;
      }
    }
    ADD_FAILURE() << name;
    return -1;
  }
  void await_step(int64_t step) {
    while (metric("version_step") != static_cast<double>(step)) {
      ASSERT_TRUE(server_->wait_for_more("serving ")) << "step " << step << " is not served";
    }
  }
  // Returns the predictions of `millrace predict` for eval.csv, as float32.
  std::vector<float> predicted() {
    millrace_ok(
        {"predict", "job.textproto", "--checkpoint", "out", "--output", "p.csv", "--overwrite"});
    std::vector<float> values;
    const std::string text = read("p.csv");
    std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    const std::vector<std::string> names = absl::StrSplit(lines[0], ',');
    const auto column = std::find(names.begin(), names.end(), "label_prediction") - names.begin();
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
      values.push_back(std::stof(cells[column]));
    }
    return values;
  }
  std::vector<float> served() {
    const HttpResponse response = post(request().dump());
    EXPECT_EQ(response.status, 200) << response.body;
    const Json json = Json::parse(response.body, nullptr, false);
    return json["outputs"][0]["data"].get<std::vector<float>>();
  }

  std::string place_ = "out";   // that the server follows
  std::string directory_ = "";  // of the server
  std::unique_ptr<ReservedPort> port_;
  std::unique_ptr<RunningProgram> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(ServeTest, AnswersAsPredictDoesAndFollowsDeltas) {
  train(20);
  start();
  EXPECT_EQ(served(), predicted());
  // Training goes on: deltas, with rows that are evicted.
  train(60);
  await_step(60);
  EXPECT_EQ(served(), predicted());
  EXPECT_EQ(metric("full_loads_total"), 0);
  EXPECT_GE(metric("deltas_total"), 4);
  EXPECT_EQ(metric("overlay_rows"), 0);
  // A damaged checkpoint is passed over by name.
  train(70);
  await_step(70);
  const std::vector<float> before = served();
  const std::string damaged = "out/checkpoints/step-00000080";
  std::filesystem::copy(path("out/checkpoints/step-00000070"), path(damaged));
  ASSERT_TRUE(server_->wait_for("passed over: "));
  EXPECT_EQ(metric("refused_total"), 1);
  EXPECT_EQ(served(), before);
  server_->send(SIGTERM);
  const ProgramResult ended = server_->finish();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("SIGTERM: further requests are refused"));
}

TEST_F(ServeTest, FollowsWhatIsPublishedAndGoesBack) {
  // The vocabulary is where training had it only while training runs.
  write("words.txt", absl::StrCat("u1\nu2\nu3\n"));
  std::string job = kJob;
  absl::StrReplaceAll({{"transform { hash {} }", "transform { vocabulary { path: 'words.txt' } }"},
                       {"output_dir: \"out\"",
                        "output_dir: 'out' evaluation { when { every_steps: 20 } } hooks { name: "
                        "'publish' [millrace.publish] { monitor: 'eval/auc' most_worse: 1 } }"}},
                      &job);
  write("job.textproto", job);
  train(20);
  std::filesystem::rename(path("words.txt"), path("moved.txt"));
  // The server has another directory, where the job's relative path leads nowhere.
  std::filesystem::create_directory(path("elsewhere"));
  directory_ = "elsewhere";
  place_ = "../out/published";
  start();
  EXPECT_EQ(metric("version_step"), 20);
  const std::vector<float> first = served();
  std::filesystem::rename(path("moved.txt"), path("words.txt"));
  EXPECT_EQ(first, predicted());
  train(60);
  await_step(60);
  EXPECT_EQ(served(), predicted());
  EXPECT_EQ(metric("full_loads_total"), 0) << "the bases of the deltas were copied, too";
  const Json list = Json::parse(millrace_ok({"publish", "list", "out", "--json"}).out);
  EXPECT_EQ(list["served_step"], 60);
  EXPECT_EQ(list["versions"].size(), 3) << "those that were evaluated";
  millrace_ok({"publish", "rollback", "out", "--to", "20", "--reason", "try"});
  await_step(20);
  EXPECT_EQ(served(), first);
  EXPECT_THAT(millrace_ok({"publish", "list", "out/published"}).out, HasSubstr("served, pinned"));
  millrace_ok({"publish", "resume", "out/published"});
  await_step(60);
  const ProgramResult wrong = millrace({"publish", "rollback", "out", "--to", "30"});
  EXPECT_EQ(wrong.exit_code, 66);
  EXPECT_THAT(wrong.last_error(), HasSubstr("no version of step 30"));
  EXPECT_THAT(millrace({"publish", "list", "nowhere"}).last_error(),
              HasSubstr("has no published versions"));
}

TEST_F(ServeTest, TheProtocolHasItsForms) {
  train(10);
  start({"--name", "ads"});
  EXPECT_THAT(get("/v2"), HasSubstr("binary_tensor_data"));
  const Json model = Json::parse(get("/v2/models/ads"));
  EXPECT_EQ(model["versions"], Json({"10"}));
  EXPECT_EQ(model["outputs"][0]["shape"], Json({-1, 1}));
  EXPECT_EQ(model["inputs"][1]["datatype"], "BYTES") << "training hashed text";
  EXPECT_EQ(client_->send({.target = "/v2/health/ready"})->status, 200);
  EXPECT_EQ(client_->send({.target = "/v2/models/other/ready"})->status, 404);

  // Binary tensors both ways give the same numbers as JSON.
  const HttpResponse text = post(request().dump(), {.target = "/v2/models/ads/infer"});
  const auto expected = Json::parse(text.body)["outputs"][0]["data"].get<std::vector<float>>();
  Json header = request();
  header["id"] = "7";
  header["parameters"] = {{"binary_data_output", true}};
  std::string binary;
  for (Json& input : header["inputs"]) {
    std::string bytes;
    for (const Json& value : input["data"]) {
      const auto add = [&](auto number) {
        bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
      };
      if (input["datatype"] == "FP32") add(value.get<float>());
      if (input["datatype"] == "INT64") add(value.get<int64_t>());
      if (input["datatype"] == "INT32") add(value.get<int32_t>());
      if (input["datatype"] != "BYTES") continue;
      add(static_cast<uint32_t>(value.get<std::string>().size()));
      bytes += value.get<std::string>();
    }
    input.erase("data");
    input["parameters"] = {{"binary_data_size", bytes.size()}};
    binary += bytes;
  }
  const std::string json = header.dump();
  HttpRequest request{.target = "/v2/models/ads/versions/10/infer"};
  request.headers.emplace_back("Inference-Header-Content-Length", absl::StrCat(json.size()));
  const HttpResponse reply = post(json + binary, request);
  ASSERT_EQ(reply.status, 200) << reply.body;
  std::vector<float> values(kRows);
  ASSERT_GT(reply.body.size(), kRows * sizeof(float));
  std::memcpy(values.data(), reply.body.data() + reply.body.size() - kRows * sizeof(float),
              kRows * sizeof(float));
  EXPECT_EQ(values, expected);
  EXPECT_THAT(reply.body, HasSubstr("\"id\":\"7\""));
}

TEST_F(ServeTest, WrongRequestsAreNamed) {
  train(10);
  start({"--max_rows", "100", "--max_body_bytes", "100000"});
  const auto refused = [&](const std::string& body, const std::string& why, int status = 400) {
    const HttpResponse response = post(body);
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_THAT(response.body, HasSubstr(why)) << body.substr(0, 200);
  };
  const auto changed = [&](int input, const char* key, Json value) {
    Json json = request();
    json["inputs"][input][key] = std::move(value);
    return json.dump();
  };
  refused("", "no JSON object");
  refused("[1]", "no JSON object");
  refused(std::string(1000, '['), "nested too deeply");
  refused("{}", "inputs: it must be a list of tensors");
  refused("{\"inputs\":[7]}", "a tensor has no name");
  refused(changed(0, "name", "y"), "no feature has a column \\\"y\\\"");
  refused(changed(0, "shape", {kRows, 2}), "64 values, but its shape 128");
  refused(changed(0, "shape", {-1}), "shape must be");
  refused(changed(0, "shape", {kRows, 0}), "with a value at least");
  refused(changed(0, "data", Json::array({Json::array({1, 2}), Json::array({3})})),
          "more dimensions");
  Json ragged = request();
  ragged["inputs"][0]["shape"] = {2, 2};
  ragged["inputs"][0]["data"] = Json::parse("[[1,2,3],[4]]");
  refused(ragged.dump(), "has 3 entries, but the shape 2");
  ragged["inputs"][0]["data"] = Json::parse("[[1,2],3]");
  refused(ragged.dump(), "mixes arrays and values");
  refused(changed(0, "datatype", "FP8"), "datatype must be");
  refused(changed(0, "datatype", "BYTES"), "is no BYTES");
  refused(changed(1, "datatype", "INT64"), "is no INT64");
  Json numbers = request();
  numbers["inputs"][1]["datatype"] = "INT64";
  numbers["inputs"][1]["data"] = std::vector<int>(kRows, 7);
  refused(numbers.dump(), "training made ids of text");
  refused(changed(0, "data", Json::array({1e60})), "1 values, but its shape 64");
  refused(changed(3, "datatype", "FP32"), "lengths must be integers");
  refused(changed(3, "name", "other_lengths"), "no feature has a column \\\"other_lengths\\\"");
  Json missing = request();
  missing["inputs"].erase(0);
  refused(missing.dump(), "feature \\\"x\\\" needs the column \\\"x\\\"");
  Json twice = request();
  twice["inputs"].push_back(twice["inputs"][0]);
  refused(twice.dump(), "it is given twice");
  Json longer = request();
  longer["inputs"][3]["data"][0] = 1000;
  refused(longer.dump(), "the lengths exceed its");
  Json output = request();
  output["outputs"] = {{{"name", "logits"}}};
  refused(output.dump(), "the model has one output");
  refused(std::string(200000, ' '), "413", 413);
  // A second server cannot have the port, and the first one goes on.
  const ProgramResult second = millrace({"serve", "out", "--port", absl::StrCat(port_->number)});
  EXPECT_THAT(second.last_error(), HasSubstr("choose another port"));
  EXPECT_THAT(millrace({"serve", "nowhere"}).last_error(), HasSubstr("nowhere"));
  EXPECT_EQ(served(), predicted());
}

}  // namespace
}  // namespace millrace
