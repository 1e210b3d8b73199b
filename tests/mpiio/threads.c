/* threads FILE: nonblocking calls that threads of the library carry out while the program does other work.
 * This program interposes pthread_create, which may fail. It is linked with the MPI alone, and runs on one
 * host of several tasks or on several hosts (SHEAF_TOPOLOGY). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, tasks, wrong;
static volatile int no_threads;
static const char* path;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      if (!wrong) printf("task %d, line %d: %s\n", rank, __LINE__, #condition); \
      wrong = 1;                                                                \
    }                                                                           \
  } while (0)

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  typedef int make(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (no_threads) return EAGAIN;
  return ((make*)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, body, argument);
}

static MPI_File opened(void) {
  MPI_File file = MPI_FILE_NULL;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file) == MPI_SUCCESS);
  return file;
}

/* While calls are in flight, task 0 changes hints. The calls must keep the hints of their beginning, on
 * all tasks. */
static void hints_change_while_calls_are_under_way(void) {
  enum { calls = 4, ints = 200000, rounds = 4 }; /* several windows per call */
  static const char* const blocks[] = {"65536", "1048576", "4096"};
  static int mine[calls][ints], back[ints];
  MPI_File file = opened();
  MPI_Datatype strided;
  MPI_Request requests[calls];
  MPI_Type_create_resized(MPI_INT, 0, tasks * (MPI_Aint)sizeof(int), &strided);
  MPI_Type_commit(&strided);
  MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, strided, "native", MPI_INFO_NULL);
  for (int round = 0; round < rounds; ++round) {
    MPI_Info info;
    for (int c = 0; c < calls; ++c) {
      for (int i = 0; i < ints; ++i) mine[c][i] = ((round * calls + c) * tasks + rank) * ints + i;
      CHECK(MPI_File_iwrite_at_all(file, (MPI_Offset)c * ints, mine[c], ints, MPI_INT, &requests[c]) ==
            MPI_SUCCESS);
    }
    if (rank > 0)
      MPI_Wait(&requests[calls / 2], MPI_STATUS_IGNORE); /* task 0 changes the hints before its wait */
    MPI_Info_create(&info);
    MPI_Info_set(info, "sheaf_block_size", blocks[round % 3]);
    MPI_Info_set(info, "romio_cb_write", "enable");
    CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS);
    MPI_Info_free(&info);
    if (round % 2) CHECK(MPI_File_set_atomicity(file, round < 2) == MPI_SUCCESS);
    MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int c = 0; c < calls; ++c) {
      CHECK(MPI_File_read_at(file, (MPI_Offset)c * ints, back, ints, MPI_INT, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS);
      CHECK(memcmp(back, mine[c], sizeof back) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&strided);
  MPI_File_close(&file);
}

/* One task cannot create a thread for the calls of a file. The call must fail on all tasks, and the next
 * one must work. */
static void a_task_without_a_thread(void) {
  MPI_File file = opened();
  MPI_Request request = MPI_REQUEST_NULL;
  int value = rank, code;
  const int bad = rank == tasks - 1;
  no_threads = bad;
  code = MPI_File_iwrite_at_all(file, 4 * rank, &value, 1, MPI_INT, &request);
  no_threads = 0;
  CHECK((code != MPI_SUCCESS) == bad);
  if (!bad) CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  CHECK(MPI_File_iwrite_at_all(file, 4 * rank, &value, 1, MPI_INT, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_File_close(&file);
}

static volatile int copies;
static int copied(MPI_Datatype type, int key, void* extra, void* value, void* new_value, int* flag) {
  (void)type, (void)key, (void)extra;
  *(void**)new_value = value;
  *flag = 1;
  __atomic_add_fetch(&copies, 1, __ATOMIC_SEQ_CST);
  return MPI_SUCCESS;
}
static int freed(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  __atomic_sub_fetch(&copies, 1, __ATOMIC_SEQ_CST);
  return MPI_SUCCESS;
}

/* A completed call must keep no objects of the program, because the program may end MPI next. */
static void types_are_free_after_the_wait(void) {
  MPI_File file = opened();
  MPI_Datatype type;
  int key, values[40];
  for (int i = 0; i < 40; ++i) values[i] = rank;
  MPI_File_set_view(file, 1000 * rank, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
  MPI_Type_create_keyval(copied, freed, &key, NULL);
  MPI_Type_contiguous(40, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_set_attr(type, key, &key);
  for (int i = 0; i < 100; ++i) {
    MPI_Request request;
    CHECK(MPI_File_iwrite_at_all(file, 0, values, 1, type, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(__atomic_load_n(&copies, __ATOMIC_SEQ_CST) == 0);
  }
  MPI_Type_free(&type);
  MPI_Type_free_keyval(&key);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPI_Wait calls it for failing requests */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  path = argv[1];
  hints_change_while_calls_are_under_way();
  if (level == MPI_THREAD_MULTIPLE) a_task_without_a_thread();
  types_are_free_after_the_wait();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && !wrong) printf("all right\n");
  MPI_Finalize();
  return wrong;
}
