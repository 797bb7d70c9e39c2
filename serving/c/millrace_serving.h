/* Predictions of a trained model, for programs in C and in languages that call C.
 *
 *   millrace_predictor* predictor = NULL;
 *   if (millrace_open("out/published", 2, 1, &predictor) != 0) fail(millrace_error());
 *   millrace_request* request = millrace_request_new();
 *   millrace_add_numbers(request, "age", ages, 2, NULL, 0);
 *   millrace_add_integers(request, "items", items, 3, lengths, 2);
 *   if (millrace_predict(predictor, request, predictions, 2, NULL) != 0) fail(millrace_error());
 *
 * Functions that return int return 0, or another number after an error, which millrace_error()
 * describes. All functions but millrace_close() and those of one request may be called by several
 * threads at once. No exception leaves the library. Predictors and requests must not be NULL,
 * except where it is said.
 */
#ifndef MILLRACE_SERVING_C_MILLRACE_SERVING_H_
#define MILLRACE_SERVING_C_MILLRACE_SERVING_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millrace_predictor millrace_predictor;
typedef struct millrace_request millrace_request;

/* Returns the error of the last function that failed in this thread: UTF-8, until the next call. */
const char* millrace_error(void);

/* Loads the newest version at a path: a checkpoint, a folder of checkpoints or of published
 * versions, or an output directory; also s3://BUCKET/RUN. `workers`: requests that are computed at
 * the same time; `threads`: of one request, for all predictors of the process. Sets *predictor,
 * which millrace_close() frees. */
int millrace_open(const char* path, int workers, int threads, millrace_predictor** predictor);
/* Frees a predictor that no other thread uses; NULL is allowed. */
void millrace_close(millrace_predictor* predictor);
/* Takes a newer version of the folder. Sets *changed, unless it is NULL, to 1 if there was one,
 * else 0. A damaged version is not an error: it is logged and passed over. */
int millrace_follow(millrace_predictor* predictor, int* changed);
/* Returns the number of predictions for each row. */
int64_t millrace_tasks(const millrace_predictor* predictor);
/* Returns the step of the version that is served. */
int64_t millrace_step(const millrace_predictor* predictor);

/* Returns an empty request, which millrace_request_free() frees; NULL for a lack of memory. */
millrace_request* millrace_request_new(void);
void millrace_request_free(millrace_request* request);

/* Adds a column of the data of training, under its name, before transforms; replaces one of this
 * name. `values`: copied, `count` of them. `lengths`: the number of values of each of `rows` rows,
 * or NULL for one value in each of `count` rows; `rows` is then 0 or `count`. Texts are UTF-8 that
 * end with a 0. */
int millrace_add_numbers(millrace_request* request, const char* column, const double* values,
                         int64_t count, const int64_t* lengths, int64_t rows);
int millrace_add_integers(millrace_request* request, const char* column, const int64_t* values,
                          int64_t count, const int64_t* lengths, int64_t rows);
int millrace_add_texts(millrace_request* request, const char* column, const char* const* values,
                       int64_t count, const int64_t* lengths, int64_t rows);

/* Predicts `rows` rows, which each column of the request has. Writes rows * millrace_tasks()
 * numbers to `predictions`, row after row, and the step of the version that computed them to *step,
 * unless it is NULL. The request can be used again. Errors: a column that is missing, unknown, of
 * another type or number of rows; a value that would be bad data in training. */
int millrace_predict(millrace_predictor* predictor, const millrace_request* request,
                     float* predictions, int64_t rows, int64_t* step);

#ifdef __cplusplus
}
#endif

#endif /* MILLRACE_SERVING_C_MILLRACE_SERVING_H_ */
