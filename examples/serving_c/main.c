/* Predicts three rows with the newest version at a path: for the job of job.textproto.
 *
 *   cmake -S . -B build -DCMAKE_PREFIX_PATH=/opt/millrace-0.2.0-linux-x86_64 && cmake --build build
 *   build/predict out/published
 */
#include <millrace_serving.h>
#include <stdio.h>

#define ROWS 3

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, millrace_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: predict PATH\n");
    return 64;
  }
  millrace_predictor* predictor = NULL;
  if (millrace_open(argv[1], 1, 1, &predictor) != 0) return fail(argv[1]);
  if (millrace_tasks(predictor) != 1) {
    fprintf(stderr, "%s has more than one label\n", argv[1]);
    return 1;
  }

  const double x[ROWS] = {1, 4.5, 0};
  const char* const users[ROWS] = {"u1", "u2", "u1"};
  const int64_t items[] = {5, 7, 7}, lengths[ROWS] = {2, 0, 1}; /* the second row has no item */
  millrace_request* request = millrace_request_new();
  float predictions[ROWS];
  int64_t step = 0;
  if (request == NULL || millrace_add_numbers(request, "x", x, ROWS, NULL, 0) != 0 ||
      millrace_add_texts(request, "user", users, ROWS, NULL, 0) != 0 ||
      millrace_add_integers(request, "items", items, 3, lengths, ROWS) != 0 ||
      millrace_predict(predictor, request, predictions, ROWS, &step) != 0) {
    return fail("cannot predict");
  }
  printf("step %lld\n", (long long)step);
  for (int row = 0; row < ROWS; ++row) printf("%.9g\n", predictions[row]);
  millrace_request_free(request);
  millrace_close(predictor);
  return 0;
}
