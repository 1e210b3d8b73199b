/* handlers DIRECTORY [fatal | open | abort]: error handlers of files (MPI 3.1, sections 8.3 and 13.7).
 * Tests which handler is called, with which handle and code, and in which order. Also tests what a failing
 * call returns, and how handlers are set, queried, inherited and freed. Each row of `cases` is a
 * guarantee, each row of handlers_classes.c a failing call. With an argument after DIRECTORY, the program
 * makes an error under a handler that must end it. The checks are those of views.h. */
#include "handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct called calls[max_calls];
int called;

void note(char who, MPI_File file, int code) {
  if (called < max_calls) calls[called].who = who, calls[called].file = file, calls[called].code = code;
  ++called;
}

void called_once(char who, MPI_File file, int class, const char* call) {
  check(called == 1, "%s: expected one call of a handler, found %d", call, called);
  check(called < 1 || calls[0].who == who, "%s: expected handler %c, found %c", call, who, calls[0].who);
  check(called < 1 || calls[0].file == file, "%s: the handler got another file's handle", call);
  if (called > 0) gives(calls[0].code, class, call);
  called = 0;
}

void nobody_called(const char* call) {
  is(called, 0, call);
  called = 0;
}

static void handler_a(MPI_File* file, int* code, ...) { note('a', *file, *code); }
static void handler_b(MPI_File* file, int* code, ...) { note('b', *file, *code); }

MPI_Errhandler made(char which) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  gives(MPI_File_create_errhandler(which == 'a' ? handler_a : handler_b, &handler), MPI_SUCCESS,
        "MPI_File_create_errhandler");
  return handler;
}

/* Makes an error under a handler that ends the program. Must not return. */
static void end(const char* path, const char* how) {
  MPI_Errhandler last = MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT
  if (strcmp(how, "abort") == 0) last = MPI_ERRORS_ABORT;
#else
  if (strcmp(how, "abort") == 0) printf("MPI_ERRORS_ABORT is not there\n");
#endif
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(strcmp(how, "open") == 0 ? MPI_FILE_NULL : file, last);
  fflush(stdout);
  if (strcmp(how, "open") == 0)
    MPI_File_open(MPI_COMM_WORLD, "/nonexistent/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  else
    MPI_File_seek(file, -5, MPI_SEEK_SET);
  printf("went on\n");
}

int main(int argc, char** argv) {
  char path[600];
  int level;
  MPI_Init_thread(&argc, &argv, getenv("HANDLERS_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                          MPI_ERRORS_RETURN); /* MPI_Wait calls its handler, since MPI 4 that of SELF */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  snprintf(path, sizeof path, "%s/handlers", argc > 1 ? argv[1] : ".");
  if (argc > 2) end(path, argv[2]);
  run_cases(path);
  run_classes(path);
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  const int right = summary();
  MPI_Finalize();
  return !right;
}
