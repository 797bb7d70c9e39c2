// As cublas_v2.h, for cuSPARSE.
#ifndef MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUSPARSE_H_
#define MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUSPARSE_H_

typedef struct cusparseContext* cusparseHandle_t;
typedef enum { CUSPARSE_STATUS_SUCCESS = 0 } cusparseStatus_t;

#endif  // MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUSPARSE_H_
