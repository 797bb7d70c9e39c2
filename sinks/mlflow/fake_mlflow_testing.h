// An MLflow server for tests.
#ifndef MILLRACE_SINKS_MLFLOW_FAKE_MLFLOW_TESTING_H_
#define MILLRACE_SINKS_MLFLOW_FAKE_MLFLOW_TESTING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/http/http_server.h"
#include "base/http/http_url.h"
#include "base/mutex.h"

namespace millrace {

using TestRequest = HttpServerRequest;
using TestResponse = HttpReply;

TestResponse http_response(int status, const std::string& body);

// Experiments and runs in memory, behind the part of the REST API that MlflowApi calls. Values are
// checked as MLflow 3 checks them. All functions may be called from any thread.
class FakeMlflow {
 public:
  struct Metric {
    std::string key;
    int64_t step = 0, time_ms = 0;
    std::string value;  // as JSON

    friend auto operator<=>(const Metric&, const Metric&) = default;
  };
  struct Run {
    std::string experiment, name, tag, status;
    bool deleted = false;
    std::vector<Metric> metrics;  // each once
    int64_t received = 0;         // number of metrics in all requests
    std::map<std::string, std::string> params;
  };
  // Returns a response in place of the server's; none: the server responds.
  using Interceptor = std::function<std::optional<TestResponse>(const TestRequest&)>;

  // Listens on a free port of localhost, with TLS if the options have a certificate.
  explicit FakeMlflow(HttpServerOptions options = {});

  HttpUrl url() const;
  std::string uri() const;
  // Replaces responses from now on. The function is called with a lock held.
  void intercept(Interceptor interceptor);

  // Run id → run.
  std::map<std::string, Run> runs() const;
  // The only run. Fails the test if there is none or another one.
  Run run() const;
  // The values of a metric of the only run, as JSON, in the order of their arrival.
  std::vector<std::string> values(const std::string& key) const;
  // Number of requests whose target begins so.
  int64_t requests(const std::string& prefix) const;
  void add_experiment(const std::string& name, bool deleted);
  // Marks all runs as deleted, or forgets them.
  void delete_runs(bool forget);
  // Blocks until `condition` is true of the runs. Returns false after 20 seconds.
  bool wait_for(const std::function<bool(const std::map<std::string, Run>&)>& condition) const;

 private:
  TestResponse respond(const TestRequest& request);
  TestResponse get(const std::string& target) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  TestResponse post(const TestRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  Interceptor interceptor_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, bool> experiments_ ABSL_GUARDED_BY(mutex_);  // name, also id → deleted
  std::map<std::string, Run> runs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> requests_ ABSL_GUARDED_BY(mutex_);  // target → number
  bool tls_ = false;
  std::unique_ptr<HttpServer> server_;  // the last member: its thread uses the others
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_FAKE_MLFLOW_TESTING_H_
