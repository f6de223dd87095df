/* Operators of onnxruntime around the compiled kernels of a model.

   onnxruntime's C API is a table of functions, to which versions only add. Of it, those that are used
   here are declared below, each with its place in the table. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*LIBRARY*/

typedef struct OrtStatus OrtStatus;
typedef struct OrtValue OrtValue;
typedef struct OrtContext OrtContext;
typedef struct OrtOptions OrtOptions;
typedef struct OrtDomain OrtDomain;
typedef struct OrtShape OrtShape;
typedef void (*Entry)(void);
typedef const Entry *Api;

typedef struct ApiBase {
  Api (*get)(uint32_t version);
  const char *(*version)(void);
} ApiBase;

typedef OrtStatus *(*CreateStatus)(int code, const char *message);
typedef OrtStatus *(*CreateDomain)(const char *name, OrtDomain **made);
typedef OrtStatus *(*AddOperator)(OrtDomain *domain, const void *operator_);
typedef OrtStatus *(*AddDomain)(OrtOptions *options, OrtDomain *domain);
typedef OrtStatus *(*GetRank)(const OrtShape *shape, size_t *rank);
typedef OrtStatus *(*GetExtents)(const OrtShape *shape, int64_t *extents, size_t count);
typedef OrtStatus *(*GetData)(OrtValue *value, void **data);
typedef OrtStatus *(*GetShape)(const OrtValue *value, OrtShape **shape);
typedef OrtStatus *(*GetInput)(const OrtContext *context, size_t number, const OrtValue **value);
typedef OrtStatus *(*GetOutput)(OrtContext *context, size_t number, const int64_t *extents,
                                size_t rank, OrtValue **value);
typedef void (*ReleaseShape)(OrtShape *shape);
typedef void (*ReleaseDomain)(OrtDomain *domain);
typedef OrtStatus *(*ParallelFor)(const OrtContext *context, void (*part)(void *, size_t),
                                  size_t total, size_t batches, void *data);

enum {
  CREATE_STATUS = 0,
  CREATE_DOMAIN = 26,
  ADD_OPERATOR = 27,
  ADD_DOMAIN = 28,
  GET_DATA = 51,
  GET_RANK = 61,
  GET_EXTENTS = 62,
  GET_SHAPE = 65,
  GET_INPUT = 90,
  GET_OUTPUT = 91,
  RELEASE_SHAPE = 99,
  RELEASE_DOMAIN = 101,
  PARALLEL_FOR = 274,
  OLDEST = 16,
  WITH_THREADS = 17,
  FAILED = 1,
  MOST_AXES = 16,
  MOST_PARTS = 64,
  WORTH_A_PART_NS = 25000
};

#define CALL(api, kind, place) ((kind)(api)[place])

/* An operator as onnxruntime reads it, of version 16 of its API, and what it is for. */
typedef struct Operator Operator;
typedef struct Kernel {
  Api api;
  const Operator *operator_;
  int has_threads;
} Kernel;
struct Operator {
  uint32_t version;
  void *(*create)(const Operator *, Api, const void *);
  const char *(*name)(const Operator *);
  const char *(*provider)(const Operator *);
  int (*input_type)(const Operator *, size_t);
  size_t (*input_count)(const Operator *);
  int (*output_type)(const Operator *, size_t);
  size_t (*output_count)(const Operator *);
  void (*compute)(void *, OrtContext *);
  void (*destroy)(void *);
  int (*input_form)(const Operator *, size_t);
  int (*output_form)(const Operator *, size_t);
  int (*input_memory)(const Operator *, size_t);
  int (*least_inputs)(const Operator *);
  int (*inputs_alike)(const Operator *);
  int (*least_outputs)(const Operator *);
  int (*outputs_alike)(const Operator *);
  OrtStatus *(*create_with_status)(const Operator *, Api, const void *, void **);
  OrtStatus *(*compute_with_status)(void *, OrtContext *);
  const Region *region;
  int asks; /* whether it only says if the kernels fit */
};

static const ApiBase *base;

/* Tensors of a call: room for as many as any region has. */
typedef struct Call {
  Api api;
  OrtContext *context;
  treadle_tensor in[MOST_INPUTS], out[MOST_OUTPUTS];
  int64_t in_shape[MOST_INPUTS][MOST_AXES], out_shape[MOST_OUTPUTS][MOST_AXES];
} Call;

static OrtStatus *read_input(Call *call, size_t k) {
  const OrtValue *value;
  OrtShape *shape;
  OrtStatus *status;
  size_t rank;
  status = CALL(call->api, GetInput, GET_INPUT)(call->context, k, &value);
  if (status) return status;
  status = CALL(call->api, GetShape, GET_SHAPE)(value, &shape);
  if (status) return status;
  status = CALL(call->api, GetRank, GET_RANK)(shape, &rank);
  if (!status && rank > MOST_AXES)
    status = CALL(call->api, CreateStatus, CREATE_STATUS)(FAILED, "an input has too many axes");
  if (!status) status = CALL(call->api, GetExtents, GET_EXTENTS)(shape, call->in_shape[k], rank);
  CALL(call->api, ReleaseShape, RELEASE_SHAPE)(shape);
  if (status) return status;
  call->in[k].shape = call->in_shape[k];
  call->in[k].rank = (int32_t)rank;
  return CALL(call->api, GetData, GET_DATA)((OrtValue *)value, &call->in[k].data);
}

static OrtStatus *read_inputs(Call *call, const Region *region) {
  size_t k;
  for (k = 0; k < region->inputs; k++) {
    OrtStatus *status = read_input(call, k);
    if (status) return status;
    call->in[k].dtype = region->input_types[k];
  }
  for (k = 0; k < region->outputs; k++) call->out[k].shape = call->out_shape[k];
  return NULL;
}

/* An output of the shape that is told by now: its memory. */
static OrtStatus *make_output(Call *call, size_t k, void **data) {
  OrtValue *value;
  OrtStatus *status = CALL(call->api, GetOutput, GET_OUTPUT)(
      call->context, k, call->out_shape[k], (size_t)call->out[k].rank, &value);
  return status ? status : CALL(call->api, GetData, GET_DATA)(value, data);
}

static size_t count_of(const treadle_tensor *tensor) {
  size_t count = 1;
  int32_t axis;
  for (axis = 0; axis < tensor->rank; axis++) count *= (size_t)tensor->shape[axis];
  return count;
}

static int is_known(const treadle_tensor *tensor) {
  int32_t axis;
  for (axis = 0; axis < tensor->rank; axis++)
    if (tensor->shape[axis] < 0) return 0;
  return 1;
}

/* Work that onnxruntime's threads divide. */
typedef struct Work {
  treadle_part part;
  void *data;
  int64_t parts;
} Work;

static void do_part(void *data, size_t number) {
  const Work *work = (const Work *)data;
  work->part(work->data, (int64_t)number, work->parts);
}

static void share(void *user, treadle_part part, void *data, int64_t nanoseconds) {
  const Call *call = (const Call *)user;
  Work work;
  int64_t parts = nanoseconds / WORTH_A_PART_NS + 1;
  work.part = part;
  work.data = data;
  work.parts = parts < MOST_PARTS ? parts : MOST_PARTS;
  CALL(call->api, ParallelFor, PARALLEL_FOR)(call->context, do_part, (size_t)work.parts, 0, &work);
}

/* Memory of the kernel's own becomes onnxruntime's, which is where outputs of unknown size end. */
static OrtStatus *hand_over(Call *call, const Region *region, const int *is_made) {
  OrtStatus *status = NULL;
  size_t k;
  for (k = 0; k < region->outputs; k++) {
    void *memory;
    if (is_made[k]) continue;
    if (!status) {
      size_t bytes = count_of(&call->out[k]) * region->output_sizes[k];
      status = make_output(call, k, &memory);
      if (!status && bytes) memcpy(memory, call->out[k].data, bytes);
    }
    free(call->out[k].data);
  }
  return status;
}

static OrtStatus *failure(Api api, int32_t reason) {
  return CALL(api, CreateStatus, CREATE_STATUS)(FAILED, treadle_reason(reason));
}

static OrtStatus *run_region(Call *call, const Kernel *kernel) {
  const Region *region = kernel->operator_->region;
  int is_made[MOST_OUTPUTS];
  treadle_run run;
  OrtStatus *status;
  size_t k, room;
  int32_t reason = region->shapes(call->in, call->out);
  if (reason) return failure(call->api, reason);
  for (k = 0; k < region->outputs; k++) {
    is_made[k] = is_known(&call->out[k]);
    if (!is_made[k]) continue;
    status = make_output(call, k, &call->out[k].data);
    if (status) return status;
  }
  memset(&run, 0, sizeof run);
  run.size = sizeof run;
  run.user = call;
  if (kernel->has_threads) run.share = share;
  room = region->workspace(call->in);
  if (room) {
    run.workspace = malloc(room);
    if (!run.workspace) return failure(call->api, TREADLE_MEMORY);
  }
  reason = region->run(call->in, call->out, &run);
  free(run.workspace);
  return reason ? failure(call->api, reason) : hand_over(call, region, is_made);
}

static OrtStatus *compute(void *kernel, OrtContext *context) {
  const Kernel *own = (const Kernel *)kernel;
  const Region *region = own->operator_->region;
  Call call;
  OrtStatus *status;
  void *answer;
  call.api = own->api;
  call.context = context;
  status = read_inputs(&call, region);
  if (status || !own->operator_->asks) return status ? status : run_region(&call, own);
  {
    const int fits = !region->shapes(call.in, call.out);
    call.out[0].rank = 0;
    status = make_output(&call, 0, &answer);
    if (!status) *(unsigned char *)answer = (unsigned char)fits;
  }
  return status;
}

static OrtStatus *create(const Operator *operator_, Api api, const void *info, void **made) {
  Kernel *kernel = (Kernel *)malloc(sizeof *kernel);
  (void)info;
  if (!kernel) return failure(api, TREADLE_MEMORY);
  kernel->api = api;
  kernel->operator_ = operator_;
  kernel->has_threads = base->get(WITH_THREADS) != NULL;
  *made = kernel;
  return NULL;
}

static const char *name_of(const Operator *own) {
  return own->asks ? own->region->fits_name : own->region->name;
}
static const char *provider_of(const Operator *own) {
  (void)own;
  return NULL;
}
static int input_type_of(const Operator *own, size_t k) { return own->region->input_types[k]; }
static size_t input_count_of(const Operator *own) { return own->region->inputs; }
static int output_type_of(const Operator *own, size_t k) {
  return own->asks ? 9 : own->region->output_types[k];
}
static size_t output_count_of(const Operator *own) { return own->asks ? 1 : own->region->outputs; }
static int required(const Operator *own, size_t k) {
  (void)own;
  (void)k;
  return 0;
}
static int one(const Operator *own) {
  (void)own;
  return 1;
}

#define OPERATOR(region, asks)                                                                  \
  {16, NULL, name_of, provider_of, input_type_of, input_count_of, output_type_of,                \
   output_count_of, NULL, free, required, required, required, one, one, one, one, create,        \
   compute, region, asks}
static const Operator operators[] = {/*OPERATORS*/};

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

EXPORT OrtStatus *RegisterCustomOps(OrtOptions *options, const ApiBase *given);

EXPORT OrtStatus *RegisterCustomOps(OrtOptions *options, const ApiBase *given) {
  static OrtDomain *shared;
  OrtDomain *domain = __atomic_load_n(&shared, __ATOMIC_ACQUIRE), *none = NULL;
  Api api = given->get(OLDEST);
  OrtStatus *status;
  size_t k;
  if (!api) {
    api = given->get(1);
    return CALL(api, CreateStatus, CREATE_STATUS)(FAILED, "onnxruntime 1.16 or later is wanted");
  }
  __atomic_store_n(&base, given, __ATOMIC_RELEASE);
  if (domain) return CALL(api, AddDomain, ADD_DOMAIN)(options, domain);
  status = CALL(api, CreateDomain, CREATE_DOMAIN)(DOMAIN_NAME, &domain);
  for (k = 0; !status && k < sizeof operators / sizeof *operators; k++)
    status = CALL(api, AddOperator, ADD_OPERATOR)(domain, &operators[k]);
  if (status) return status;
  if (!__atomic_compare_exchange_n(&shared, &none, domain, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    CALL(api, ReleaseDomain, RELEASE_DOMAIN)(domain);
    domain = none;
  }
  return CALL(api, AddDomain, ADD_DOMAIN)(options, domain);
}
