/* completion FILE: nonblocking writes fail, and every call of MPI that completes requests must report it,
 * under both of its names. The call must return the class of the error (MPI 3.1, section 13.7) through the
 * handler of the file, because MPI_COMM_WORLD keeps the handler that ends the program. Small transfers
 * fail before the call begins, large ones in a thread if MPI supports threads. The requests are mixed with
 * messages, one of which fails as well. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { limit = 1 << 20, large = 3 << 20, count = 3, message = 0, broken = 1, sound = 2 };

static int wrong;
static const char* call;
static void expect(int holds, const char* what, int got) {
  if (holds) return;
  ++wrong;
  printf("%s: %s, got %d\n", call, what, got);
}
static int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

static int handled, handled_class, told_twice;
static MPI_File handled_file;
static void handle(MPI_File* file, int* code, ...) {
  ++handled;
  handled_class = class_of(*code);
  handled_file = *file;
}

/* The functions of MPI under one of their two names. */
struct calls {
  const char* prefix;
  int (*wait)(MPI_Request*, MPI_Status*);
  int (*test)(MPI_Request*, int*, MPI_Status*);
  int (*get_status)(MPI_Request, int*, MPI_Status*);
  int (*waitany)(int, MPI_Request*, int*, MPI_Status*);
  int (*testany)(int, MPI_Request*, int*, int*, MPI_Status*);
  int (*waitall)(int, MPI_Request*, MPI_Status*);
  int (*testall)(int, MPI_Request*, int*, MPI_Status*);
  int (*waitsome)(int, MPI_Request*, int*, int*, MPI_Status*);
  int (*testsome)(int, MPI_Request*, int*, int*, MPI_Status*);
};
static const struct calls both[] = {{"MPI_", MPI_Wait, MPI_Test, MPI_Request_get_status, MPI_Waitany,
                                     MPI_Testany, MPI_Waitall, MPI_Testall, MPI_Waitsome, MPI_Testsome},
                                    {"PMPI_", PMPI_Wait, PMPI_Test, PMPI_Request_get_status, PMPI_Waitany,
                                     PMPI_Testany, PMPI_Waitall, PMPI_Testall, PMPI_Waitsome, PMPI_Testsome}};

/* Codes of the requests as returned; -1: not yet. */
static int codes[count];

static void one_by_one(const struct calls* mpi, MPI_Request* q) {
  for (int i = 0; i < count; ++i) codes[i] = mpi->wait(&q[i], MPI_STATUS_IGNORE);
}
static void by_test(const struct calls* mpi, MPI_Request* q) {
  for (int i = 0; i < count; ++i)
    for (int done = 0; !done;) codes[i] = mpi->test(&q[i], &done, MPI_STATUS_IGNORE);
}
static void by_get_status(const struct calls* mpi, MPI_Request* q) {
  told_twice = 1;
  for (int i = 0; i < count; ++i) {
    MPI_Status status;
    for (int done = 0; !done;) codes[i] = mpi->get_status(q[i], &done, &status);
    const int again = mpi->wait(&q[i], &status);
    expect(class_of(again) == class_of(codes[i]), "MPI_Wait afterwards differs", again);
  }
}
static void by_waitany(const struct calls* mpi, MPI_Request* q) {
  for (int n = 0; n < count; ++n) {
    int i = -1;
    const int code = mpi->waitany(count, q, &i, MPI_STATUS_IGNORE);
    if (i >= 0 && i < count) codes[i] = code;
  }
}
static void by_testany(const struct calls* mpi, MPI_Request* q) {
  for (int n = 0; n < count;) {
    int i = -1, done = 0;
    const int code = mpi->testany(count, q, &i, &done, MPI_STATUS_IGNORE);
    n += done;
    if (done && i >= 0 && i < count) codes[i] = code;
  }
}
static void take_statuses(int code, int n, const int* indices, const MPI_Status* statuses) {
  int failed = 0;
  for (int k = 0; k < n; ++k) {
    const int i = indices ? indices[k] : k;
    codes[i] = code ? statuses[k].MPI_ERROR : MPI_SUCCESS;
    failed |= codes[i] != MPI_SUCCESS;
  }
  expect((class_of(code) == MPI_ERR_IN_STATUS) == failed, "MPI_ERR_IN_STATUS and statuses differ", code);
}
static void fill(MPI_Status* statuses) { memset(statuses, 0x5a, count * sizeof *statuses); }
static void by_waitall(const struct calls* mpi, MPI_Request* q) {
  MPI_Status statuses[count];
  fill(statuses);
  take_statuses(mpi->waitall(count, q, statuses), count, NULL, statuses);
}
static void by_waitall_without_statuses(const struct calls* mpi, MPI_Request* q) {
  const int code = mpi->waitall(count, q, MPI_STATUSES_IGNORE);
  expect(class_of(code) == MPI_ERR_IN_STATUS, "expected MPI_ERR_IN_STATUS", code);
  codes[message] = codes[sound] = MPI_SUCCESS, codes[broken] = MPI_ERR_IO;
}
static void by_testall(const struct calls* mpi, MPI_Request* q) {
  MPI_Status statuses[count];
  int done = 0, code = MPI_SUCCESS;
  fill(statuses);
  while (!done && code == MPI_SUCCESS) code = mpi->testall(count, q, &done, statuses);
  take_statuses(code, count, NULL, statuses);
}
static void by_some(int some(int, MPI_Request*, int*, int*, MPI_Status*), MPI_Request* q) {
  for (int n = 0; n < count;) {
    MPI_Status statuses[count];
    int completed = 0, indices[count];
    fill(statuses);
    const int code = some(count, q, &completed, indices, statuses);
    if (completed == MPI_UNDEFINED) break;
    take_statuses(code, completed, indices, statuses);
    n += completed;
  }
}
static void by_waitsome(const struct calls* mpi, MPI_Request* q) { by_some(mpi->waitsome, q); }
static void by_testsome(const struct calls* mpi, MPI_Request* q) { by_some(mpi->testsome, q); }

static const struct way {
  const char* name;
  void (*complete)(const struct calls*, MPI_Request*);
} ways[] = {{"Wait", one_by_one},
            {"Test", by_test},
            {"Request_get_status", by_get_status},
            {"Waitany", by_waitany},
            {"Testany", by_testany},
            {"Waitall", by_waitall},
            {"Waitall without statuses", by_waitall_without_statuses},
            {"Testall", by_testall},
            {"Waitsome", by_waitsome},
            {"Testsome", by_testsome}};

static char data[large];

/* Starts a message to itself, a write beyond the limit, and a valid write. */
static void begin(MPI_File file, int bytes, MPI_Comm self, MPI_Request* q) {
  static int sent[2], got[2];
  MPI_Irecv(got, 2, MPI_INT, 0, 0, self, &q[message]);
  MPI_Send(sent, 2, MPI_INT, 0, 0, self);
  expect(!MPI_File_iwrite_at(file, limit, data, bytes, MPI_BYTE, &q[broken]), "MPI_File_iwrite_at failed", 1);
  expect(!MPI_File_iwrite_at(file, 0, data, 16, MPI_BYTE, &q[sound]), "MPI_File_iwrite_at failed", 1);
  for (int i = 0; i < count; ++i) codes[i] = -1;
  handled = told_twice = 0;
}

static void run(MPI_File file, MPI_Comm self, int with_handler) {
  MPI_Request q[count];
  for (int name = 0; name < 2; ++name)
    for (int bytes = 8; bytes <= large; bytes += large - 8)
      for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) {
        static char text[99];
        snprintf(text, sizeof text, "%s%s of %d bytes", both[name].prefix, ways[w].name, bytes);
        call = text;
        begin(file, bytes, self, q);
        ways[w].complete(&both[name], q);
        expect(codes[message] == MPI_SUCCESS, "the message fails", codes[message]);
        expect(codes[sound] == MPI_SUCCESS, "the sound write fails", codes[sound]);
        expect(codes[broken] > 0 && class_of(codes[broken]) == MPI_ERR_IO,
               "the broken write gives no MPI_ERR_IO", codes[broken]);
        expect(handled == with_handler * (1 + told_twice), "calls of the file's handler", handled);
        if (with_handler)
          expect(handled_file == file && handled_class == MPI_ERR_IO, "the handler got something else",
                 handled_class);
        for (int i = 0; i < count; ++i) expect(q[i] == MPI_REQUEST_NULL, "a request is left", i);
      }
}

static int fail(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_ERR_BUFFER;
}
static int release(void* state) { return state != NULL; }
static int cancel(void* state, int complete) { return state != NULL && complete; }

/* A message of the program fails next to the write, through the handler of MPI_COMM_WORLD. */
static void run_with_foreign_failure(MPI_File file, MPI_Comm self) {
  MPI_Request q[count];
  MPI_Status statuses[count];
  call = "Waitall with another request that fails";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  begin(file, 8, self, q);
  MPI_Wait(&q[message], MPI_STATUS_IGNORE);
  MPI_Grequest_start(fail, release, cancel, NULL, &q[message]);
  MPI_Grequest_complete(q[message]);
  const int code = MPI_Waitall(count, q, statuses);
  expect(class_of(code) == MPI_ERR_IN_STATUS, "expected MPI_ERR_IN_STATUS", code);
  for (int i = 0; code && i < count; ++i) /* requests after a failure may need another call */
    if (class_of(statuses[i].MPI_ERROR) == MPI_ERR_PENDING)
      statuses[i].MPI_ERROR = MPI_Wait(&q[i], MPI_STATUS_IGNORE);
  /* Some MPIs do not keep the class of the message's error. */
  expect(statuses[message].MPI_ERROR != MPI_SUCCESS, "the other request does not fail", 0);
  expect(class_of(statuses[broken].MPI_ERROR) == MPI_ERR_IO, "the broken write gives no MPI_ERR_IO",
         statuses[broken].MPI_ERROR);
  expect(statuses[sound].MPI_ERROR == MPI_SUCCESS, "the sound write fails", statuses[sound].MPI_ERROR);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, getenv("COMPLETION_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  signal(SIGXFSZ, SIG_IGN);
  const struct rlimit most = {limit, limit};
  setrlimit(RLIMIT_FSIZE, &most);
  MPI_Comm self;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
  MPI_File file;
  call = "open";
  expect(!MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &file),
         "failed", 1);
  run(file, self, 0);
  MPI_Errhandler handler;
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_set_errhandler(file, handler);
  run(file, self, 1);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
  run_with_foreign_failure(file, self);

  call = "error text";
  MPI_Request q;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_File_iwrite_at(file, limit, data, large, MPI_BYTE, &q);
  MPI_Error_string(MPI_Wait(&q, MPI_STATUS_IGNORE), text, &length);
  expect(strstr(text, argv[1]) && strstr(text, "File too large"), text, 0);

  MPI_Errhandler_free(&handler);
  if (argc > 2) { /* the failing call must end the program */
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    MPI_File_iwrite_at(file, limit, data, 8, MPI_BYTE, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    printf("went on\n");
  }
  MPI_File_close(&file);
  MPI_Comm_free(&self);
  puts(wrong ? "wrong" : "all right");
  MPI_Finalize();
  return wrong != 0;
}
